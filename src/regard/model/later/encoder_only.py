"""An encoder alone (BERT: Devlin et al., 2019): it learns to fill in masked tokens of a text, or a label of each text.

Masked tokens: of 15 % of the tokens, chosen at random, 80 % are replaced by the mask, 10 % by a random token, and 10 %
stay; the model predicts all of these. BOS, which is in no text, is the mask. Where it is trained on pairs, the text is
their source; BERT's second objective, whether two sentences follow each other, is left out.

Labels: tanh of a linear map of the mean of the encoder's output, then a softmax over the labels. BERT takes the output
of a token that it puts before the text. As a Seq2Seq the label is the first token of the target.

Shapes: B texts, S positions, T target positions, D = d_model, V vocabulary.
"""

import torch
from torch import Tensor, nn

from regard.config.later import EncoderOnlyConfig
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.model.embedding import Embedded, initialise
from regard.model.kernels.dropout import uniform
from regard.model.kernels.linear import Linear
from regard.model.layers import EncoderLayer
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, LossInput, Memory

CHOSEN, MASKED, RANDOM = 0.15, 0.8, 0.1
MASK = BOS
RESERVED = EOS + 1  # first id of a token of text


class EncoderOnly(Embedded):
    """The Transformer's encoder, with a head for labels or the embedding as the head for tokens."""

    def __init__(self, config: EncoderOnlyConfig) -> None:
        super().__init__(config, positions=config.positions)
        self.embed_target = nn.Identity()  # type: ignore[assignment]  # nothing is written
        self.labelled = config.learns == "labels"
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.pool = Linear(config.d_model, config.d_model) if self.labelled else None
        self.apply(initialise)

    @property
    def projection_VD(self) -> Tensor:
        if not self.labelled and self.source_VD is not None:
            return self.source_VD
        return super().projection_VD

    def encode(self, source_BS: Tensor) -> Memory:
        return self._encode(source_BS, weights=False)[0]

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the features of the label at each target position; without labels, those of the source's tokens."""
        memory = self.encode(source_BS)
        if self.pool is None:
            return memory.encoded_BSD
        return self._pooled(memory)[:, None].expand(-1, target_BT.shape[1], -1)

    def loss_input(self, source_BS: Tensor, target_BT: Tensor) -> LossInput:
        if self.pool is not None:
            return LossInput(self._pooled(self.encode(source_BS)), target_BT[:, 1])
        chosen_BS, given_BS = self._corrupted(source_BS)
        return LossInput(self.encode(given_BS).encoded_BSD, source_BS.masked_fill(~chosen_BS, PAD))

    def start(self, memory: Memory, max_length: int) -> DecoderState:
        raise UserError(
            "an encoder alone writes no text; use it with `regard classify`, or start another model --from it"
        )

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        raise UserError(
            "an encoder alone writes no text; use it with `regard classify`, or start another model --from it"
        )

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        return Attentions(self._encode(source_BS, weights=True)[1], (), ())

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[Memory, tuple[Tensor, ...]]:
        mask_BS, x_BSD = not_padding(source_BS), self.embedded_source(source_BS)
        recorded = []
        for layer in self.encoder:
            (x_BSD, _), weights_BHSS = layer(x_BSD, mask_BS, weights=weights)
            if weights_BHSS is not None:
                recorded.append(weights_BHSS)
        return Memory(self.encoder_norm(x_BSD), mask_BS), tuple(recorded)

    def _pooled(self, memory: Memory) -> Tensor:
        assert self.pool is not None
        there_BS1 = memory.mask_BS[:, :, None].to(memory.encoded_BSD.dtype)
        mean_BD = (memory.encoded_BSD * there_BS1).sum(1) / there_BS1.sum(1).clamp(min=1)
        pooled_BD: Tensor = torch.tanh(self.pool(mean_BD))
        return pooled_BD

    def _corrupted(self, source_BS: Tensor) -> tuple[Tensor, Tensor]:
        """Return which tokens are to be predicted, and the source to predict them from; the same for validation."""
        if self.training:
            choice_BS, kind_BS, other_BS = (uniform(source_BS.shape, source_BS.device) for _ in range(3))
        else:
            fixed = torch.Generator().manual_seed(0)
            choice_BS, kind_BS, other_BS = (
                torch.rand(3, *source_BS.shape, generator=fixed).to(source_BS.device).unbind()
            )
        chosen_BS = (choice_BS < CHOSEN) & (source_BS >= RESERVED)
        random_BS = (RESERVED + other_BS * (len(self.projection_VD) - RESERVED)).long()
        given_BS = source_BS.masked_fill(chosen_BS & (kind_BS < MASKED), MASK)
        return chosen_BS, torch.where(chosen_BS & (kind_BS >= 1 - RANDOM), random_BS, given_BS)
