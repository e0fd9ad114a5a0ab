"""Attention (section 3.2): the equation as written, the same by faster ways, and restricted to neighbours.

Shapes: B sentences, H heads, T queries, S keys, D = d_model, K = d_k, V = d_v; N blocks of W positions.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import short_attention
from regard.model.cache import KeyValue
from regard.model.dropout import Dropout
from regard.model.linear import Linear, linear
from regard.model.masks import distances, visible
from regard.model.positions import RelativePositions, Sinusoids, rotate

Scores = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries (…, T, K), keys (…, S, K), distances (T, S) -> (…, T, S)


def attend(scores: Tensor, value: Tensor, mask: Tensor, dropout: Dropout | None = None) -> tuple[Tensor, Tensor]:
    """Equation 1, softmax(Q K^T / sqrt(d_k)) V, from the scores on; also returns the weights before any dropout.

    The paper gives forbidden places −inf. The lowest finite number gives the same weights, exactly 0, and does not make
    NaN of a query that may see nothing (a padded one).
    """
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(-1)
    used: Tensor = weights if dropout is None else dropout(weights)
    return used @ value, weights


def restricted_attention(
    query_BHTK: Tensor,
    memory: KeyValue,
    padding_BS: Tensor | None,
    scores: Scores,
    *,
    causal: bool,
    neighbours: int,
    everywhere: int = 0,
    dropout: Dropout | None = None,
) -> Tensor:
    """Self-attention over a neighbourhood of size r (section 4) in O(r·n·d) time and memory.

    Positions are cut into blocks of half a neighbourhood; a query's neighbours then lie in its own block and the two
    beside it, so scores are n × 3r/2 rather than n × n. The first `everywhere` keys are seen by all queries besides.
    """
    key_BHSK, value_BHSV = memory
    B, H, T, K = query_BHTK.shape
    W = max(1, neighbours // 2)
    N = -(-T // W)
    surplus = N * W - T

    query_BHNWK = F.pad(query_BHTK, (0, 0, 0, surplus)).view(B, H, N, W, K)
    key_BHNSK = _three_blocks(F.pad(key_BHSK, (0, 0, W, surplus + W)), W)
    value_BHNSV = _three_blocks(F.pad(value_BHSV, (0, 0, W, surplus + W)), W)

    there_BS = query_BHTK.new_ones(1, T, dtype=torch.bool) if padding_BS is None else padding_BS
    near_BS = there_BS & (torch.arange(T, device=there_BS.device) >= everywhere)  # the others are not seen twice
    near_B1NS = F.pad(near_BS, (W, surplus + W)).unfold(1, 3 * W, W)[:, None]
    distance_WS = distances(W, 2 * W, query_BHTK.device)  # a block's queries against the block before and itself …
    distance_WS = torch.cat((distance_WS, distance_WS[:, W:] + W), dim=1)  # … and the block after
    mask = visible(distance_WS, causal=causal, neighbours=neighbours) & near_B1NS[..., None, :]

    score_BHNWS = scores(query_BHNWK, key_BHNSK, distance_WS)
    if everywhere:
        first_BHNWG = scores(query_BHNWK, key_BHSK[:, :, None, :everywhere], distance_WS)
        seen_B11WG = there_BS[:, None, None, None, :everywhere]
        score_BHNWS = torch.cat((first_BHNWG, score_BHNWS), dim=-1)
        mask = torch.cat((seen_B11WG.expand(*mask.shape[:-1], -1), mask), dim=-1)
        first_BHNGV = value_BHSV[:, :, None, :everywhere].expand(-1, -1, N, -1, -1)
        value_BHNSV = torch.cat((first_BHNGV, value_BHNSV), dim=-2)
    output_BHNWV, _ = attend(score_BHNWS, value_BHNSV, mask, dropout)
    return output_BHNWV.reshape(B, H, N * W, -1)[:, :, :T]


def _three_blocks(x_BHSK: Tensor, W: int) -> Tensor:
    """Every run of three blocks, as overlapping views: B, H, N, 3W, K."""
    return x_BHSK.unfold(2, 3 * W, W).transpose(-1, -2)


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: Concat(head_1 … head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V). d_k and d_v are free.

    Rotary and relative positions belong to self-attention: they compare places in one sequence.
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
        everywhere: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.score, self.neighbours, self.everywhere = heads, score, neighbours, everywhere
        self.query = Linear(d_model, heads * d_k)  # W^Q of all heads side by side
        self.key = Linear(d_model, heads * d_k)
        self.value = Linear(d_model, heads * d_v)
        self.output = Linear(heads * d_v, d_model)
        self.dropout = Dropout(dropout)  # on the weights
        self.scale = 1.0 / math.sqrt(d_k) if score == "scaled" else 1.0
        self.rotary = Sinusoids(d_k) if rotary else None
        self.relative = RelativePositions(relative_distance, d_k) if relative_distance else None
        self.additive = nn.Parameter(torch.empty(heads, 1, 1, d_k)) if score == "additive" else None
        if self.additive is not None:
            nn.init.normal_(self.additive, std=d_k**-0.5)
        self.side_by_side: tuple[Tensor, Tensor] | None = None
        """W^Q, W^K and W^V as one matrix, and their biases; see lay_side_by_side."""
        self.places: list[int] = []
        """Where in memory the parameters were then."""

    def lay_side_by_side(self) -> None:
        """Move W^Q, W^K and W^V together in memory, so that self-attention without gradients takes one product.

        They stay parameters of their own. What later moves one elsewhere undoes it.
        """
        layers = self.query, self.key, self.value
        sizes = [layer.out_features for layer in layers]
        weight, bias = (torch.cat([getattr(layer, part).detach() for layer in layers]) for part in ("weight", "bias"))
        for layer, weight_ED, bias_E in zip(layers, torch.split(weight, sizes), torch.split(bias, sizes), strict=True):
            layer.weight.data, layer.bias.data = weight_ED, bias_E
        self.side_by_side, self.places = (weight, bias), self._places()

    def _places(self) -> list[int]:
        layers = self.query, self.key, self.value
        return [tensor.data_ptr() for layer in layers for tensor in (layer.weight, layer.bias)]

    def _one_matrix(self) -> tuple[Tensor, Tensor] | None:
        """W^Q, W^K and W^V side by side, where they are so and nothing is differentiated."""
        if self.side_by_side is None or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        return self.side_by_side if self._places() == self.places else None

    def queries_keys_values(self, x_BTD: Tensor, start: int = 0) -> tuple[Tensor, KeyValue]:
        """The queries, keys and values of the same positions: self-attention."""
        whole = self._one_matrix()
        if whole is None:
            return self.queries(x_BTD, start), self.keys_values(x_BTD, start)
        sizes = [layer.out_features for layer in (self.query, self.key, self.value)]
        query, key, value = (self._split(part) for part in torch.split(linear(x_BTD, *whole), sizes, dim=2))
        return self._turned(query, start), KeyValue(self._turned(key, start), value)

    def queries(self, x_BTD: Tensor, start: int = 0) -> Tensor:
        """Q W^Q as B, H, T, K; `start` is the position of the first."""
        return self._turned(self._split(self.query(x_BTD)), start)

    def keys_values(self, x_BSD: Tensor, start: int = 0) -> KeyValue:
        """K W^K and V W^V of some positions, which is all that attention will ever need of them."""
        return KeyValue(self._turned(self._split(self.key(x_BSD)), start), self._split(self.value(x_BSD)))

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

        Returns B, T, D and, when asked, the weights of each head: B, H, T, S.
        """
        head_BHTV, weights_BHTS = self.attended(query_BHTK, memory, padding_BS, causal=causal, weights=weights)
        return self.joined(head_BHTV), weights_BHTS

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Self-attention among all positions of a source: B, S, D, and B, H, S, S when asked."""
        output: tuple[Tensor, Tensor | None] = self(*self.queries_keys_values(x_BSD), mask_BS, weights=weights)
        return output

    def attended(
        self,
        query_BHTK: Tensor,
        memory: KeyValue,
        padding_BS: Tensor | None = None,
        *,
        causal: bool = False,
        weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The heads before they are joined, by the fastest way that serves."""
        if weights or not self._fused(query_BHTK.shape[2], memory.key_BHSK.shape[2]):
            head_BHTV, weights_BHTS = self._as_written(query_BHTK, memory, padding_BS, causal=causal)
            return head_BHTV, weights_BHTS if weights else None
        way = self._restricted if self.neighbours else self._kernel
        return way(query_BHTK, memory, padding_BS, causal=causal), None

    def joined(self, head_BHTV: Tensor) -> Tensor:
        """Concat(head_1 … head_h) W^O."""
        output: Tensor = self.output(head_BHTV.transpose(1, 2).flatten(2))
        return output

    def scores(self, query: Tensor, key: Tensor, distance_TS: Tensor) -> Tensor:
        """How much each query asks for each key: (…, T, K) and (…, S, K) to (…, T, S)."""
        if self.additive is not None:  # v · tanh(q + k): Bahdanau et al., 2015, with q and k projected already
            v = self.additive if query.dim() == 4 else self.additive[:, None]
            scores = (torch.tanh(query[..., :, None, :] + key[..., None, :, :]) * v).sum(-1)
        else:
            scores = query @ key.transpose(-2, -1)
        if self.relative is not None:
            scores = scores + self.relative(query, distance_TS)
        return scores * self.scale

    def _fused(self, T: int, S: int) -> bool:
        """Whether a path other than the equation as written serves: the two rest on scores being Q K^T, or on T = S."""
        if self.neighbours:
            return T == S and 3 * (self.neighbours // 2) + self.everywhere < T
        return self.relative is None and self.additive is None

    def _as_written(
        self, query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None, *, causal: bool
    ) -> tuple[Tensor, Tensor]:
        key_BHSK, value_BHSV = memory
        distance_TS = distances(query_BHTK.shape[2], key_BHSK.shape[2], query_BHTK.device)
        mask = visible(distance_TS, causal=causal, neighbours=self.neighbours)
        if self.everywhere:
            mask[:, : self.everywhere] = True
        if padding_BS is not None:
            mask = mask & padding_BS[:, None, None, :]
        scores_BHTS = self.scores(query_BHTK, key_BHSK, distance_TS)
        return attend(scores_BHTS, value_BHSV, mask, self.dropout)

    def _kernel(self, query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None, *, causal: bool) -> Tensor:
        if query_BHTK.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):  # torch's goes backward through 16 bits many times slower
                memory = KeyValue(*(tensor.float() for tensor in memory))
                return self._kernel(query_BHTK.float(), memory, padding_BS, causal=causal)
        key_BHSK, value_BHSV = memory
        T, S = query_BHTK.shape[2], key_BHSK.shape[2]
        short = short_attention.serves(query_BHTK, key_BHSK, value_BHSV)
        mask = None if padding_BS is None else padding_BS[:, None, None, :]
        whole = causal and T == S and mask is None and not short  # torch's kernel then needs no mask
        if causal and not whole and T > 1:
            seen_TS = visible(distances(T, S, query_BHTK.device), causal=True, neighbours=0)
            mask = seen_TS if mask is None else mask & seen_TS
        chance = self.dropout.chance if self.training else 0.0
        if short:
            return short_attention.attention(query_BHTK, key_BHSK, value_BHSV, mask, self.scale, chance)
        if chance and query_BHTK.device.type == "cpu":  # torch's would drop by the generator that all threads share
            return self._as_written(query_BHTK, memory, padding_BS, causal=causal)[0]
        return F.scaled_dot_product_attention(
            query_BHTK, key_BHSK, value_BHSV, attn_mask=mask, dropout_p=chance, is_causal=whole, scale=self.scale
        )

    def _restricted(self, query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None, *, causal: bool) -> Tensor:
        return restricted_attention(
            query_BHTK,
            memory,
            padding_BS,
            self.scores,
            causal=causal,
            neighbours=self.neighbours,
            everywhere=self.everywhere,
            dropout=self.dropout,
        )

    def _split(self, x_BTE: Tensor) -> Tensor:
        B, T, E = x_BTE.shape
        return x_BTE.view(B, T, self.heads, E // self.heads).transpose(1, 2)

    def _turned(self, x_BHTK: Tensor, start: int) -> Tensor:
        if self.rotary is None:
            return x_BHTK
        return rotate(x_BHTK, self.rotary(start, start + x_BHTK.shape[2]))
