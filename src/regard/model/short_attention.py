"""Attention among few keys, differentiated: equation 1 as a few products for all sentences and heads at once.

torch's fused kernel takes one sentence and head after the other, and for a dozen words each of them costs it more than
its products do. It is for long sequences, of which it never holds the weights; this holds them.

Shapes: B sentences, H heads, T queries, S keys, K = d_k, V = d_v; N = B·H; W columns, S or more.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

SHORT = 64  # keys up to which it is the faster, and its weights no larger than what else training keeps
NARROW = 16  # softmax over fewer columns takes torch several times as long as over these


def serves(query_BHTK: Tensor, key_BHSK: Tensor, value_BHSV: Tensor) -> bool:
    """Whether this is the way to go: on a CPU, in training."""
    return (
        query_BHTK.device.type == "cpu"
        and key_BHSK.shape[2] <= SHORT
        and torch.is_grad_enabled()
        and any(tensor.requires_grad for tensor in (query_BHTK, key_BHSK, value_BHSV))
        and not torch.compiler.is_compiling()
    )


def attention(query_BHTK: Tensor, key_BHSK: Tensor, value_BHSV: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """softmax(scale · Q K^T) V, where the mask, of any sizes that broadcast to B, H, T, S, is True."""
    seen = query_BHTK.new_ones(1, 1, 1, key_BHSK.shape[2], dtype=torch.bool) if mask is None else mask
    seen = seen.view(*(1,) * (4 - seen.dim()), *seen.shape)
    output: Tensor = _ShortAttention.apply(  # type: ignore[no-untyped-call]
        query_BHTK, key_BHSK, value_BHSV, seen, scale
    )
    return output


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query_BHTK: Tensor, key_BHSK: Tensor, value_BHSV: Tensor, seen: Tensor, scale: float
    ) -> Tensor:
        B, H, T, _ = query_BHTK.shape
        W = max(NARROW, key_BHSK.shape[2])
        query_NTK = _side_by_side(query_BHTK, T)
        key_NWK, value_NWV = _side_by_side(key_BHSK, W), _side_by_side(value_BHSV, W)

        seen = F.pad(seen, (0, W - seen.shape[3]))
        lowest = torch.finfo(query_BHTK.dtype).min  # as in `attend`
        scores_BHTW = torch.zeros_like(seen, dtype=query_BHTK.dtype).masked_fill_(~seen, lowest).expand(B, H, T, W)
        scores_NTW = scores_BHTW.contiguous().view(-1, T, W).baddbmm_(query_NTK, key_NWK.mT, alpha=scale)
        weights_NTW = torch.softmax(scores_NTW, -1, out=scores_NTW)

        ctx.save_for_backward(query_NTK, key_NWK, value_NWV, weights_NTW)
        ctx.scale, ctx.sizes = scale, (B, H, key_BHSK.shape[2])
        return (weights_NTW @ value_NWV).view(B, H, T, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        """With P the weights and dP = dO V^T, that of a score is P · (dP - Σ P · dP), the sum over a query's keys."""
        query_NTK, key_NWK, value_NWV, weights_NTW = ctx.saved_tensors
        B, H, S = ctx.sizes
        gradient_NTV = _side_by_side(gradient_BHTV, gradient_BHTV.shape[2])

        weighted_NTW = (gradient_NTV @ value_NWV.mT).mul_(weights_NTW)
        total_NT1 = weighted_NTW.sum(2, keepdim=True)
        scores_NTW = weighted_NTW.addcmul_(weights_NTW, total_NT1, value=-1).mul_(ctx.scale)

        query, key = scores_NTW @ key_NWK, scores_NTW.mT @ query_NTK
        value = weights_NTW.mT @ gradient_NTV
        query, key, value = (x.view(B, H, *x.shape[1:]) for x in (query, key, value))
        return query, key[:, :, :S], value[:, :, :S], None, None


def _side_by_side(x_BHTK: Tensor, length: int) -> Tensor:
    """All sentences and heads as one list of matrices, each of its own in memory, with zeros up to a length."""
    more = length - x_BHTK.shape[2]
    return (F.pad(x_BHTK, (0, 0, 0, more)) if more else x_BHTK).reshape(-1, length, x_BHTK.shape[3])
