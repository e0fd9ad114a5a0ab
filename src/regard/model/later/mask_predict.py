"""A model that writes all tokens at once: mask-predict (Ghazvininejad et al., 2019).

The decoder is not causal: it fills in masked tokens of the target, given the source and the tokens that are not masked.
A search (search/mask_predict.py) begins with all masked and repeats a few times, each time masking the least probable.

BOS, which is in no text, is the mask. The last token of a target is EOS; the number of tokens is predicted from the
mean of the encoder's output. Its paper adds a token to the source for that.

As a Seq2Seq, `features` are those of the first pass, with all tokens masked: they depend on the number of target tokens
and not on which they are, so the perplexity is that of tokens which are independent of each other. There is no
`advance`.

Shapes: B sentences, S source positions, T target positions, L lengths, D = d_model, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config.later import MaskPredictConfig
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.model.kernels.dropout import uniform
from regard.model.kernels.linear import Linear
from regard.model.layers import DecoderLayer
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, LossInput, Memory, total
from regard.model.transformer import Transformer, TransformerState

MASK = BOS
LENGTH_WEIGHT = 0.1  # of the loss of the length, beside that of the tokens


class MaskPredict(Transformer):
    """A Transformer whose decoder fills in masked tokens."""

    def __init__(self, config: MaskPredictConfig) -> None:
        super().__init__(config)
        self.most = config.max_length
        self.length = Linear(config.d_model, config.max_length)

    def features_and_penalty(self, source_BS: Tensor, target_BT: Tensor) -> tuple[Tensor, Tensor | None]:
        memory = self.encode(source_BS)
        masked_BT = torch.where(not_padding(target_BT), MASK, PAD)
        features_BTD, penalty, _ = self._filled(masked_BT, memory)
        return features_BTD, total(memory.penalty, penalty)

    def loss_input(self, source_BS: Tensor, target_BT: Tensor) -> LossInput:
        """Mask a random number of the tokens, which are expected; the penalty is the loss of the length."""
        memory = self.encode(source_BS)
        tokens_BT = target_BT[:, 1:]
        mask_BT = self._random_mask(tokens_BT)
        features_BTD, penalty, _ = self._filled(tokens_BT.masked_fill(mask_BT, MASK), memory)
        expected_BT = tokens_BT.masked_fill(~mask_BT, PAD)
        length_B = not_padding(tokens_BT).sum(1) - 1
        of_length = F.cross_entropy(self.length_logits(memory), length_B.clamp(max=self.most - 1), reduction="sum")
        own = LENGTH_WEIGHT * of_length / mask_BT.sum().clamp(min=1)
        return LossInput(features_BTD, expected_BT, total(memory.penalty, penalty, own))

    def length_logits(self, memory: Memory) -> Tensor:
        """Return the logits of each number of target tokens from 1, EOS included: B, L."""
        there_BS1 = memory.mask_BS[:, :, None].to(memory.encoded_BSD.dtype)
        mean_BD = (memory.encoded_BSD * there_BS1).sum(1) / there_BS1.sum(1).clamp(min=1)
        logits_BL: Tensor = self.length(mean_BD)
        return logits_BL

    def fill(self, tokens_BT: Tensor, memory: Memory) -> Tensor:
        """Return the logits of every target position, given the tokens that are not masked: B, T, V."""
        return self.logits(self._filled(tokens_BT, memory)[0])

    def start(self, memory: Memory, max_length: int) -> TransformerState:
        raise UserError(
            "a mask-predict model writes all tokens at once, and not one by one; use --decoding mask-predict"
        )

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        raise UserError(
            "a mask-predict model writes all tokens at once, and not one by one; use --decoding mask-predict"
        )

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        """Return the weights of a pass over the tokens that the targets, which begin with BOS, contain, and EOS.

        So row i is that of the token which row i of another model predicts.
        """
        memory, encoder = self._encode(source_BS, weights=True)
        tokens_BT = F.pad(target_BT[:, 1:], (0, 1), value=PAD)
        last_B1 = not_padding(tokens_BT).sum(1, keepdim=True)
        tokens_BT = tokens_BT.scatter(1, last_B1, EOS)
        pairs = self._filled(tokens_BT, memory, weights=True)[2]
        return Attentions(tuple(encoder), tuple(own for own, _ in pairs), tuple(cross for _, cross in pairs))

    def _filled(
        self, tokens_BT: Tensor, memory: Memory, *, weights: bool = False
    ) -> tuple[Tensor, Tensor | None, list[tuple[Tensor, Tensor]]]:
        """Return the features of all target positions, the penalty, and if `weights` each layer's weights."""
        mask_BT = not_padding(tokens_BT)
        x_BTD, penalty, recorded = self.embedded_target(tokens_BT), None, []
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            keys_values = layer.memory(memory.encoded_BSD)
            (x_BTD, of_layer), pair = layer.refine(x_BTD, mask_BT, keys_values, memory.mask_BS, weights=weights)
            penalty = total(penalty, of_layer)
            recorded.append(pair)
        return self.decoder_norm(x_BTD), penalty, recorded  # type: ignore[return-value]  # None without `weights`

    def _random_mask(self, tokens_BT: Tensor) -> Tensor:
        """Return True at n of a row's N tokens, chosen at random, with n uniform from 1 to N; fixed for validation."""
        there_BT = not_padding(tokens_BT)
        if self.training:
            random_BT, share_B1 = (
                uniform(tokens_BT.shape, tokens_BT.device),
                uniform((len(tokens_BT), 1), tokens_BT.device),
            )
        else:
            fixed = torch.Generator().manual_seed(0)
            random_BT = torch.rand(tokens_BT.shape, generator=fixed).to(tokens_BT.device)
            share_B1 = torch.rand(len(tokens_BT), 1, generator=fixed).to(tokens_BT.device)
        count_B1 = (share_B1 * there_BT.sum(1, keepdim=True)).floor() + 1
        rank_BT = random_BT.masked_fill(~there_BT, 2.0).argsort(1).argsort(1)
        return (rank_BT < count_B1) & there_BT
