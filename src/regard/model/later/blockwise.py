"""Heads for blockwise parallel decoding (Stern, Shazeer and Uszkoreit, 2018): they propose the tokens after the next.

The model itself predicts y_{t+1} from its features f_t; head i proposes y_{t+1+i}, for 0 < i < k:

    p_i = softmax(LayerNorm(f_t + W2_i max(0, W1_i [f_t; e(y_{t+1})] + b1_i) + b2_i) E^T)

with the model's own projection E. A step of the search (search/blockwise.py) verifies all proposals in one pass of the
decoder, so its text is that of greedy search.

Departures from its paper: the heads also see e(y_{t+1}), the embedding of the token that the model has just chosen,
which is known when they propose; a norm follows the sum; the model's own prediction has no layer of its own, so that a
trained model stays what it is. The loss is the mean over all heads, where its paper draws one of them for each batch.

Shapes: K = k - 1 heads, B sentences, S source positions, T target positions, N positions, D = d_model, E = 2·D,
F = 2·D inner units, V vocabulary.
"""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import AnyTransformerConfig
from regard.config.special_tokens import PAD
from regard.model.seq2seq import DecoderState, Lesson
from regard.model.transformer import Transformer, TransformerState

HEADS = "proposals"


class Proposals(nn.Module):
    """The heads, as parts of one tensor each, so that all are computed together."""

    def __init__(self, heads: int, d_model: int) -> None:
        super().__init__()
        K, D, inner = heads, d_model, 2 * d_model
        self.inner_KEF = nn.Parameter(torch.empty(K, 2 * D, inner))
        self.inner_bias_K1F = nn.Parameter(torch.zeros(K, 1, inner))
        self.outer_KFD = nn.Parameter(torch.empty(K, inner, D))
        self.outer_bias_K1D = nn.Parameter(torch.zeros(K, 1, D))
        self.norm = nn.LayerNorm(d_model)
        for matrix in (*self.inner_KEF.unbind(), *self.outer_KFD.unbind()):
            nn.init.xavier_uniform_(matrix.detach(), gain=0.5)  # as other residual branches start (embedding.py)

    def forward(self, features_ND: Tensor, next_ND: Tensor) -> Tensor:
        """Return the features of each head's proposal: K, N, D."""
        known_NE = torch.cat((features_ND, next_ND), dim=1)
        K = len(self.inner_KEF)
        inner_KNF = torch.baddbmm(self.inner_bias_K1F, known_NE.expand(K, -1, -1), self.inner_KEF).relu()
        y_KND: Tensor = self.norm(features_ND + torch.baddbmm(self.outer_bias_K1D, inner_KNF, self.outer_KFD))
        return y_KND


class BlockwiseTransformer(Transformer):
    """A Transformer with heads that propose further tokens (`model.blocks`).

    Unless `model.blocks_tuned`, only the heads are trained: the model's own weights have no gradient and no dropout.
    """

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__(config)
        self.tuned = config.blocks_tuned
        if not self.tuned:
            self.requires_grad_(False)
        self.proposals = Proposals(config.blocks - 1, config.d_model)

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if not self.tuned:
            for name, part in self.named_children():
                part.train(mode and name == HEADS)
        return self

    def lesson(self, source_BS: Tensor, target_BT: Tensor) -> Lesson:
        """Return the features of all heads, beside the model's own if they are trained, too."""
        before_BT, next_BT = target_BT[:, :-1], target_BT[:, 1:]
        features_BTD, penalty = self.features_and_penalty(source_BS, before_BT)
        proposed_KBTD = self._proposed(features_BTD, next_BT)
        K = len(proposed_KBTD)
        expected_KBT = torch.stack(
            [F.pad(next_BT[:, i:], (0, min(i, next_BT.shape[1])), value=PAD) for i in range(K + 1)]
        )
        if self.tuned:
            return Lesson(torch.cat((features_BTD[None], proposed_KBTD)), expected_KBT, penalty, 1 / (K + 1))
        return Lesson(proposed_KBTD, expected_KBT[1:], None, 1 / K)

    def decoded(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, TransformerState)
        decoded = self._decode(tokens_BT, state)
        return decoded.features_RTD, decoded.state

    def proposed(self, features_BD: Tensor, next_B: Tensor) -> Tensor:
        proposed_KBTD = self._proposed(features_BD[:, None], next_B[:, None])
        return self.logits(proposed_KBTD[:, :, 0]).argmax(-1).T

    def _proposed(self, features_BTD: Tensor, next_BT: Tensor) -> Tensor:
        next_ND = F.embedding(next_BT.reshape(-1), self.embedding_VD) * self.embed_target.scale
        proposed_KND: Tensor = self.proposals(features_BTD.flatten(0, 1), next_ND)
        return proposed_KND.view(-1, *features_BTD.shape)
