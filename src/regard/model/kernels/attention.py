"""Choose the fastest kernel for equation 1 by device, sizes and the need of a gradient; results are the same.

Shapes: B sentences, H heads, T queries, S keys, K = d_k, V = d_v.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.cache import KeyValue
from regard.model.kernels import short_attention
from regard.model.kernels.block_attention import Scores, block_attention, saves_work
from regard.model.kernels.dropout import Dropout
from regard.model.masks import up_to


class Rule(NamedTuple):
    """The keys that a query may attend to, and the kind of score."""

    causal: bool
    """The queries are the last of the keys, and see none after them."""
    neighbours: int
    """Size of the neighbourhood that a query sees; 0 is all keys."""
    global_tokens: int
    """The first keys, which all queries see."""
    scale: float | None
    """Factor of Q K^T; None if scores are of another kind."""
    scores: Scores


def fast_attention(
    query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None, rule: Rule, dropout: Dropout, *, weights: bool
) -> Tensor | None:
    """Return the heads, or None if no kernel is faster than the equation as written; none returns `weights`."""
    if weights:
        return None
    T, S = query_BHTK.shape[2], memory.key_BHSK.shape[2]
    if saves_work(T, S, rule.neighbours, rule.global_tokens):
        reach = {"neighbours": rule.neighbours, "global_tokens": rule.global_tokens}
        return block_attention(query_BHTK, memory, padding_BS, rule.scores, dropout, causal=rule.causal, **reach)
    if rule.scale is None or rule.neighbours:
        return None
    chance = dropout.chance if dropout.training else 0.0
    return _in_full_precision(query_BHTK, memory, padding_BS, rule.scale, chance, causal=rule.causal)


def dot_product_attention(query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)) V (equation 1) over all keys that are not padding."""
    scale = query_BHTK.shape[3] ** -0.5
    attended_BHTV = _in_full_precision(query_BHTK, memory, padding_BS, scale, 0.0, causal=False)
    assert attended_BHTV is not None, "only dropout may need the weights"
    return attended_BHTV


def _in_full_precision(
    query_BHTK: Tensor, memory: KeyValue, padding_BS: Tensor | None, scale: float, dropout: float, *, causal: bool
) -> Tensor | None:
    if query_BHTK.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        with torch.autocast("cpu", enabled=False):  # torch's kernel is many times slower backward in 16 bits
            query_BHTK, memory = query_BHTK.float(), KeyValue(memory.key_BHSK.float(), memory.value_BHSV.float())
            return _dot_product_attention(query_BHTK, *memory, padding_BS, scale, dropout, causal=causal)
    return _dot_product_attention(query_BHTK, *memory, padding_BS, scale, dropout, causal=causal)


def _dot_product_attention(
    query_BHTK: Tensor,
    key_BHSK: Tensor,
    value_BHSV: Tensor,
    padding_BS: Tensor | None,
    scale: float,
    dropout: float,
    *,
    causal: bool,
) -> Tensor | None:
    """Return softmax(Q K^T · scale) V by the kernel for short sequences or by torch's, or None."""
    T, S = query_BHTK.shape[2], key_BHSK.shape[2]
    short = short_attention.is_faster(query_BHTK, key_BHSK, value_BHSV)
    mask = None if padding_BS is None else padding_BS[:, None, None, :]
    triangular = causal and T == S and mask is None and not short  # torch's kernel then needs no mask
    if causal and not triangular and T > 1:
        visible_TS = up_to(T, S, query_BHTK.device)
        mask = visible_TS if mask is None else mask & visible_TS
    if short:
        return short_attention.short_attention(query_BHTK, key_BHSK, value_BHSV, mask, scale, dropout)
    if dropout and query_BHTK.device.type == "cpu":  # torch's kernel draws from the generator that threads share
        return None
    return F.scaled_dot_product_attention(
        query_BHTK, key_BHSK, value_BHSV, attn_mask=mask, dropout_p=dropout, is_causal=triangular, scale=scale
    )
