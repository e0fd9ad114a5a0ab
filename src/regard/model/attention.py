"""Scaled dot-product and multi-head attention (section 3.2).

Shapes: B sentences, H heads, T queries, S keys, D = d_model, E = H·K or H·V, K = d_k, V = d_v.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from regard.model.cache import KeyValue
from regard.model.kernels.attention import Rule, fast_attention
from regard.model.kernels.dropout import Dropout
from regard.model.kernels.linear import Linear
from regard.model.kernels.side_by_side import SideBySide
from regard.model.masks import distances, masked_softmax, visible
from regard.model.positions import RelativePositions, Sinusoids, rotate


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    scale: float,
    dropout: nn.Module | None = None,
    score: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return Attention(Q, K, V) = softmax(Q K^T · scale) V (equation 1; scale = 1 / sqrt(d_k)), and the weights.

    Queries are (…, T, K), keys (…, S, K), values (…, S, V); the mask, (…, T, S), is True where a query may attend.
    `dropout` acts on the weights that are used, not on those returned; the paper's translation models have none.
    `score` replaces Q K^T · scale (not the paper: additive scores, relative positions).
    """
    scores = query @ key.transpose(-2, -1) * scale if score is None else score(query, key)
    weights = masked_softmax(scores, mask)
    return (weights if dropout is None else dropout(weights)) @ value, weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention (section 3.2.2): Concat(head_1 … head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    d_k and d_v need not be d_model / h. Rotary and relative positions are for self-attention only: they compare
    positions within one sequence.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int,
        d_v: int,
        *,
        score: str = "scaled",
        rotary: bool = False,
        relative_distance: int = 0,
        neighbours: int = 0,
        global_tokens: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.score, self.neighbours, self.global_tokens = heads, score, neighbours, global_tokens
        self.query = Linear(d_model, heads * d_k)  # W^Q of all heads side by side
        self.key = Linear(d_model, heads * d_k)
        self.value = Linear(d_model, heads * d_v)
        self.output = Linear(heads * d_v, d_model)
        self.scale = 1.0 / math.sqrt(d_k) if score == "scaled" else 1.0
        self.rotary = Sinusoids(d_k) if rotary else None
        self.relative = RelativePositions(relative_distance, d_k) if relative_distance else None
        self.additive = nn.Parameter(torch.empty(heads, 1, 1, d_k)) if score == "additive" else None
        if self.additive is not None:
            nn.init.normal_(self.additive, std=d_k**-0.5)
        self.dropout = Dropout(dropout)  # on the weights
        self.side_by_side = SideBySide(self.query, self.key, self.value)

    def queries(self, x_BTD: Tensor, start: int = 0) -> Tensor:
        """Return Q W^Q as B, H, T, K; `start` is the position of the first query."""
        return self._rotated(self._split(self.query(x_BTD)), start)

    def keys_values(self, x_BSD: Tensor, start: int = 0) -> KeyValue:
        """Return K W^K and V W^V, all that attention needs of a position."""
        return KeyValue(self._rotated(self._split(self.key(x_BSD)), start), self._split(self.value(x_BSD)))

    def queries_keys_values(self, x_BTD: Tensor, start: int = 0) -> tuple[Tensor, KeyValue]:
        """Return the queries, keys and values of the same positions, for self-attention."""
        projections = self.side_by_side(x_BTD)
        if projections is None:
            return self.queries(x_BTD, start), self.keys_values(x_BTD, start)
        query, key, value = map(self._split, projections)
        return self._rotated(query, start), KeyValue(self._rotated(key, start), value)

    def forward(
        self,
        query_BHTK: Tensor,
        memory: KeyValue,
        padding_BS: Tensor | None = None,
        *,
        causal: bool = False,
        weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from the queries to the memory; if `causal`, the queries are the memory's last positions.

        Return B, T, D and, if `weights`, the weights of each head: B, H, T, S.
        """
        head_BHTV, weights_BHTS = self.attend(query_BHTK, memory, padding_BS, causal=causal, weights=weights)
        return self.concat(head_BHTV), weights_BHTS

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Attend among all positions of a source; return B, S, D and, if `weights`, B, H, S, S."""
        output: tuple[Tensor, Tensor | None] = self(*self.queries_keys_values(x_BSD), mask_BS, weights=weights)
        return output

    def attend(
        self,
        query_BHTK: Tensor,
        memory: KeyValue,
        padding_BS: Tensor | None = None,
        *,
        causal: bool = False,
        weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the heads before W^O, by the fastest kernel that applies, else as equation 1 is written."""
        plain = self.relative is None and self.additive is None
        rule = Rule(causal, self.neighbours, self.global_tokens, self.scale if plain else None, self.scores)
        fast_BHTV = fast_attention(query_BHTK, memory, padding_BS, rule, self.dropout, weights=weights)
        if fast_BHTV is not None:
            return fast_BHTV, None
        key_BHSK, value_BHSV = memory
        distance_TS = distances(query_BHTK.shape[2], key_BHSK.shape[2], query_BHTK.device)
        mask = visible(distance_TS, causal=causal, neighbours=self.neighbours)
        mask[:, : self.global_tokens] = True
        if padding_BS is not None:
            mask = mask & padding_BS[:, None, None, :]
        score = None if plain else partial(self.scores, distance_TS=distance_TS)
        head_BHTV, weights_BHTS = attention(query_BHTK, key_BHSK, value_BHSV, mask, self.scale, self.dropout, score)
        return head_BHTV, weights_BHTS if weights else None

    def concat(self, head_BHTV: Tensor) -> Tensor:
        """Return Concat(head_1 … head_h) W^O."""
        output: Tensor = self.output(head_BHTV.transpose(1, 2).flatten(2))
        return output

    def scores(self, query: Tensor, key: Tensor, distance_TS: Tensor) -> Tensor:
        """Return the score of each key for each query, (…, T, S), of the configured kind."""
        if self.additive is not None:  # v · tanh(q + k): Bahdanau et al., 2015; q and k are already projected
            v = self.additive if query.dim() == 4 else self.additive[:, None]
            scores = (torch.tanh(query[..., :, None, :] + key[..., None, :, :]) * v).sum(-1)
        else:
            scores = query @ key.transpose(-2, -1)
        if self.relative is not None:
            scores = scores + self.relative(query, distance_TS)
        return scores * self.scale

    def _split(self, x_BTE: Tensor) -> Tensor:
        B, T, E = x_BTE.shape
        return x_BTE.view(B, T, self.heads, E // self.heads).transpose(1, 2)

    def _rotated(self, x_BHTK: Tensor, start: int) -> Tensor:
        if self.rotary is None:
            return x_BHTK
        return rotate(x_BHTK, self.rotary(start, start + x_BHTK.shape[2]))
