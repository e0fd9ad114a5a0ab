"""Compute equation 1 by the fastest kernel for the device, the sizes and the need of a gradient; results are the same.

Shapes: B sentences, H heads, T queries, S keys, K = d_k, V = d_v.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.kernels import short_attention
from regard.model.masks import distances, visible


def fast_attention(
    query_BHTK: Tensor,
    key_BHSK: Tensor,
    value_BHSV: Tensor,
    padding_BS: Tensor | None,
    scale: float,
    dropout: float = 0.0,
    *,
    causal: bool,
) -> Tensor | None:
    """Return softmax(Q K^T · scale) V without its weights; if `causal`, the queries are the last of the keys.

    `dropout` is the probability that a weight is dropped. Return None if no kernel applies and the caller must compute
    the equation as written.
    """
    if query_BHTK.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        with torch.autocast("cpu", enabled=False):  # torch's kernel is many times slower backward in 16 bits
            query_BHTK, key_BHSK, value_BHSV = query_BHTK.float(), key_BHSK.float(), value_BHSV.float()
            return fast_attention(query_BHTK, key_BHSK, value_BHSV, padding_BS, scale, dropout, causal=causal)
    T, S = query_BHTK.shape[2], key_BHSK.shape[2]
    short = short_attention.is_faster(query_BHTK, key_BHSK, value_BHSV)
    mask = None if padding_BS is None else padding_BS[:, None, None, :]
    triangular = causal and T == S and mask is None and not short  # torch's kernel then needs no mask
    if causal and not triangular and T > 1:
        visible_TS = visible(distances(T, S, query_BHTK.device), causal=True, neighbours=0)
        mask = visible_TS if mask is None else mask & visible_TS
    if short:
        return short_attention.short_attention(query_BHTK, key_BHSK, value_BHSV, mask, scale, dropout)
    if dropout and query_BHTK.device.type == "cpu":  # torch's kernel draws from the generator that threads share
        return None
    return F.scaled_dot_product_attention(
        query_BHTK, key_BHSK, value_BHSV, attn_mask=mask, dropout_p=dropout, is_causal=triangular, scale=scale
    )
