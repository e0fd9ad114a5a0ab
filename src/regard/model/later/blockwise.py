"""Heads for blockwise parallel decoding (Stern, Shazeer and Uszkoreit, 2018): they propose the tokens after the next.

The model itself predicts y_{t+1} from its features f_t; head i proposes y_{t+1+i}, for 0 < i < k:

    x = f_t + W_i [f_t; e(y_{t+1})] + b_i
    x = x + Attention(LayerNorm(x) W^Q, K, V) W^O          K, V: the last decoder layer's, of the source
    x = x + FFN(LayerNorm(x))
    p_i = softmax(LayerNorm(x) E^T)                        E: the model's own projection

A step of the search (search/blockwise.py) verifies all proposals in one pass of the decoder, so its text is that of
greedy search.

Departures from its paper, whose heads are a feed-forward layer of f_t each: all heads share a layer that attends to the
source, which starts as the last decoder layer does (`starting_heads`); they also see e(y_{t+1}), the embedding of the
token that the model has just chosen, which is known when they propose; the model's own prediction has no layer of its
own, so that a trained model stays what it is. The loss is the mean over all heads, where its paper draws one of them
for each batch.

Shapes: K = k - 1 heads, B sentences, S source positions, T target positions, N = T·K, D = d_model, H attention heads,
V vocabulary.
"""

from collections.abc import Mapping
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import AnyTransformerConfig
from regard.config.special_tokens import PAD
from regard.model.cache import KeyValue
from regard.model.embedding import SMALL, initialise
from regard.model.kernels.attention import dot_product_attention
from regard.model.kernels.linear import Linear, Packed, linear
from regard.model.layers import AddNorm, FeedForward
from regard.model.seq2seq import DecoderState, LossInput, total
from regard.model.transformer import Transformer, TransformerState

HEADS = "proposals"


class Proposals(nn.Module):
    """The heads: a map of its own for each, and a layer of attention and feed-forward that all share.

    What they propose is verified, so their matrices may be rounded.
    """

    packed: Packed | None = None
    """Packed copy of the projection, in a model that is not trained."""
    rounded = True

    def __init__(self, heads: int, config: AnyTransformerConfig) -> None:
        super().__init__()
        D, H = config.d_model, config.heads
        self.heads, self.attention_heads = heads, H
        self.known = Linear(2 * D, heads * D)  # W_i of all heads side by side
        self.query, self.output = Linear(D, H * config.d_k), Linear(H * config.d_v, D)
        self.around_cross = AddNorm(D, config.dropout, "pre")
        self.feed_forward = FeedForward(D, config.d_ff, config.activation)
        self.around_feed_forward = AddNorm(D, config.dropout, "pre")
        self.norm = nn.LayerNorm(D)
        for part in (self.known, self.feed_forward.inner, self.feed_forward.outer):
            part.rounded = True
        self.apply(initialise)
        nn.init.xavier_uniform_(self.known.weight, gain=SMALL)  # as other residual branches start

    def forward(self, features_BTD: Tensor, next_BTD: Tensor, memory: KeyValue, mask_BS: Tensor | None) -> Tensor:
        """Return the features of each head's proposal: K, B, T, D."""
        B, T, D = features_BTD.shape
        own_BTKD = self.known(torch.cat((features_BTD, next_BTD), dim=2)).view(B, T, self.heads, D)
        x_BND = (features_BTD[:, :, None] + own_BTKD).flatten(1, 2)
        query_BNE = self.query(self.around_cross.enter(x_BND))
        query_BHNK = query_BNE.view(B, T * self.heads, self.attention_heads, -1).transpose(1, 2)
        attended_BHNV = dot_product_attention(query_BHNK, memory, mask_BS)
        x_BND = self.around_cross.leave(x_BND, self.output(attended_BHNV.transpose(1, 2).flatten(2)))
        x_BND = self.around_feed_forward.leave(x_BND, self.feed_forward(self.around_feed_forward.enter(x_BND)))
        y_BND: Tensor = self.norm(x_BND)
        return y_BND.view(B, T, self.heads, D).permute(2, 0, 1, 3)


def starting_heads(initial: Mapping[str, Tensor], trained: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Return the initial weights of the heads: those of a trained model's last decoder layer, where they fit.

    The norms are taken over if the model has a norm before each sub-layer, as the heads have.
    """
    last = f"decoder.{layers - 1}."
    places = {f"{HEADS}.{part}.": f"{last}cross.{part}." for part in ("query", "output")}
    places[f"{HEADS}.feed_forward."] = f"{last}feed_forward."
    if "decoder_norm.weight" in trained:
        places |= {f"{HEADS}.{part}.": f"{last}{part}." for part in ("around_cross", "around_feed_forward")}
        places[f"{HEADS}.norm."] = "decoder_norm."
    found = dict(initial)
    for name in initial:
        for mine, theirs in places.items():
            source = theirs + name.removeprefix(mine)
            if name.startswith(mine) and source in trained:
                found[name] = trained[source].clone()
    return found


class BlockwiseTransformer(Transformer):
    """A Transformer with heads that propose further tokens (`model.blocks`).

    Unless `model.blocks_tuned`, only the heads are trained: the model's own weights have no gradient and no dropout.
    """

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__(config)
        self.tuned = config.blocks_tuned
        if not self.tuned:
            self.requires_grad_(False)
        self.proposals = Proposals(config.blocks - 1, config)

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if not self.tuned:
            for name, part in self.named_children():
                part.train(mode and name == HEADS)
        return self

    def loss_input(self, source_BS: Tensor, target_BT: Tensor) -> LossInput:
        """Return the features of all heads, beside the model's own if they are trained, too."""
        before_BT, next_BT = target_BT[:, :-1], target_BT[:, 1:]
        memory = self.encode(source_BS)
        state = self._one_pass(memory)
        decoded = self._decode(before_BT, state)
        features_BTD, penalty = decoded.features_RTD, total(memory.penalty, decoded.penalty)
        proposed_KBTD = self._proposed(features_BTD, next_BT, state)
        K = len(proposed_KBTD)
        expected_KBT = torch.stack(
            [F.pad(next_BT[:, i:], (0, min(i, next_BT.shape[1])), value=PAD) for i in range(K + 1)]
        )
        if self.tuned:
            return LossInput(torch.cat((features_BTD[None], proposed_KBTD)), expected_KBT, penalty, 1 / (K + 1))
        return LossInput(proposed_KBTD, expected_KBT[1:], None, 1 / K)

    def decoded(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, TransformerState)
        decoded = self._decode(tokens_BT, state)
        return decoded.features_RTD, decoded.state

    def proposed(self, features_BD: Tensor, next_B: Tensor, state: DecoderState) -> Tensor:
        assert isinstance(state, TransformerState) and state.beams == 1
        proposed_KBTD = self._proposed(features_BD[:, None], next_B[:, None], state)
        logits_KBV = linear(proposed_KBTD[:, :, 0], self.projection_VD, packed=self.proposals.packed)
        return logits_KBV.argmax(-1).T

    def rounded_logits(self, features_TD: Tensor) -> tuple[Tensor, Tensor]:
        packed = self.proposals.packed
        logits_TV = linear(features_TD, self.projection_VD, packed=packed)
        if packed is None:
            return logits_TV, features_TD.new_zeros(len(features_TD))
        return logits_TV, packed.error(features_TD, self.projection_VD)

    def logits_of(self, features_TD: Tensor, tokens_TC: Tensor) -> Tensor:
        logits_TC: Tensor = (self.projection_VD[tokens_TC] * features_TD[:, None]).sum(dim=2)
        return logits_TC

    def _proposed(self, features_BTD: Tensor, next_BT: Tensor, state: TransformerState) -> Tensor:
        next_BTD = F.embedding(next_BT, self.embedding_VD) * self.embed_target.scale
        proposed_KBTD: Tensor = self.proposals(features_BTD, next_BTD, state.memories[-1], state.mask_BS)
        return proposed_KBTD
