"""Attention over short sequences in training: equation 1 as batched matrix products over all sentences and heads.

torch's fused kernel loops over sentences and heads, and with a dozen words most of its time is overhead. It is made for
long sequences and never stores their weights; this kernel stores them.

Shapes: B sentences, H heads, T queries, S keys, K = d_k, V = d_v; N = B·H; W columns, S or more.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.model.kernels.dropout import keep_scale

SHORT = 64  # most queries and keys for which it is faster, with weights not much larger than the queries
NARROW = 16  # least columns: torch's softmax over fewer takes several times as long


def is_faster(query_BHTK: Tensor, key_BHSK: Tensor, value_BHSV: Tensor) -> bool:
    """Return whether this kernel is faster than torch's: few queries and keys, on a CPU, with a gradient."""
    return (
        not torch.compiler.is_compiling()  # first, so that no compiled graph depends on a size
        and torch.is_grad_enabled()
        and any(tensor.requires_grad for tensor in (query_BHTK, key_BHSK, value_BHSV))
        and query_BHTK.device.type == "cpu"
        and query_BHTK.dtype in (torch.float32, torch.float64)
        and max(query_BHTK.shape[2], key_BHSK.shape[2]) <= SHORT
    )


def short_attention(
    query_BHTK: Tensor,
    key_BHSK: Tensor,
    value_BHSV: Tensor,
    mask: Tensor | None,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Return softmax(scale · Q K^T) V over keys where the mask, which broadcasts to B, H, T, S, is True.

    The output of a query that may attend to nothing is finite. `dropout` is the probability that a weight is dropped.
    """
    seen = query_BHTK.new_ones(key_BHSK.shape[2], dtype=torch.bool) if mask is None else mask
    output: Tensor = _ShortAttention.apply(  # type: ignore[no-untyped-call]
        query_BHTK, key_BHSK, value_BHSV, seen, scale, dropout
    )
    return output


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query_BHTK: Tensor,
        key_BHSK: Tensor,
        value_BHSV: Tensor,
        seen: Tensor,
        scale: float,
        dropout: float,
    ) -> Tensor:
        B, H, T, _ = query_BHTK.shape
        S, V = value_BHSV.shape[2:]
        W = max(NARROW, S)
        query_NTK, key_NWK, value_NWV = _matrices(query_BHTK, T), _matrices(key_BHSK, W), _matrices(value_BHSV, W)

        seen = F.pad(seen, (0, W - S))
        lowest = torch.finfo(query_BHTK.dtype).min  # as in masked_softmax
        unseen_BHTW = query_BHTK.new_zeros(seen.shape).masked_fill_(~seen, lowest).expand(B, H, T, W)
        scores_NTW = unseen_BHTW.contiguous().view(B * H, T, W).baddbmm_(query_NTK, key_NWK.mT, alpha=scale)
        weights_NTW = torch.softmax(scores_NTW, 2, out=scores_NTW)

        kept_NTW = keep_scale(weights_NTW.shape, dropout).to(weights_NTW.dtype) if dropout else None

        ctx.save_for_backward(query_NTK, key_NWK, value_NWV, weights_NTW, kept_NTW)
        ctx.scale, ctx.sizes = scale, (B, H, S)
        used_NTW = weights_NTW if kept_NTW is None else weights_NTW * kept_NTW
        return (used_NTW @ value_NWV).view(B, H, T, V)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        """Return gradients: with P the weights and dP = dO V^T, a score's is P · (dP - Σ P · dP), summed over the keys.

        The factor by which dropout multiplied P multiplies dP as well.
        """
        query_NTK, key_NWK, value_NWV, weights_NTW, kept_NTW = ctx.saved_tensors
        B, H, S = ctx.sizes
        wanted_query, wanted_key, wanted_value = ctx.needs_input_grad[:3]
        gradient_NTV = _matrices(gradient_BHTV, gradient_BHTV.shape[2])

        used_NTW = weights_NTW if kept_NTW is None else weights_NTW * kept_NTW
        weighted_NTW = (gradient_NTV @ value_NWV.mT).mul_(used_NTW)
        total_NT1 = weighted_NTW.sum(2, keepdim=True)
        scores_gradient_NTW = weighted_NTW.addcmul_(weights_NTW, total_NT1, value=-1).mul_(ctx.scale)

        def split(gradient_NLK: Tensor) -> Tensor:
            return gradient_NLK.view(B, H, *gradient_NLK.shape[1:])

        return (
            split(scores_gradient_NTW @ key_NWK) if wanted_query else None,
            split(scores_gradient_NTW.mT @ query_NTK)[:, :, :S] if wanted_key else None,
            split(used_NTW.mT @ gradient_NTV)[:, :, :S] if wanted_value else None,
            None,
            None,
            None,
        )


def _matrices(x_BHTK: Tensor, length: int) -> Tensor:
    """Return the matrices of all sentences and heads, zero-padded to a length: N, T, K."""
    B, H, T, K = x_BHTK.shape
    padded = F.pad(x_BHTK, (0, 0, 0, length - T)) if length > T else x_BHTK
    return padded.reshape(B * H, length, K)
