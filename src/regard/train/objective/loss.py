"""The loss: projection, label smoothing (section 5.4) and cross-entropy fused, a few rows at a time.

Shapes: B sentences, S source positions, T target positions, N positions of all sentences, R of them at a time,
D = d_model, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.config.special_tokens import PAD
from regard.model.kernels.linear import training_linear
from regard.model.seq2seq import Seq2Seq

# Scores held at once. On a CPU they should stay in cache between the matrix products; a GPU needs large ones.
CPU_SCORES, GPU_SCORES = 1 << 22, 1 << 26


@dataclass(frozen=True)
class Loss:
    """Sums over the tokens that are not padding, so that batches of any sizes can be added and divided once."""

    smoothed: Tensor
    """Cross-entropy against the smoothed labels, which training minimises. Differentiable."""
    nll: Tensor
    """Negative log-likelihood of the tokens themselves: perplexity is exp(nll / tokens). Not differentiable."""
    tokens: int


class Objective(nn.Module):
    """The training objective: smoothed cross-entropy of the targets, summed over tokens (section 5.4).

    For expected reward (reward.py) the targets are samples, and the loss of each sentence is weighted.
    """

    def __init__(self, model: Seq2Seq, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, source_BS: Tensor, target_BT: Tensor, weight_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the smoothed loss with the model's penalty, and the negative log-likelihood without either.

        With a weight for each sentence the first is the weighted negative log-likelihood.
        """
        if weight_B is not None:
            features_BTD, _ = self.model.features_and_penalty(source_BS, target_BT[:, :-1])
            expected_BT = target_BT[:, 1:]
            weight_BT = weight_B[:, None].expand_as(expected_BT)
            loss = smoothed_cross_entropy(features_BTD, self.model.projection_VD, expected_BT, 0.0, weight=weight_BT)
            return loss.smoothed, loss.nll
        given = self.model.loss_input(source_BS, target_BT)
        loss = smoothed_cross_entropy(given.features, self.model.projection_VD, given.expected, self.smoothing)
        smoothed = loss.smoothed if given.penalty is None else loss.smoothed + given.penalty * loss.tokens
        return (smoothed, loss.nll) if given.share == 1.0 else (smoothed * given.share, loss.nll * given.share)


@dataclass(frozen=True)
class _Sums:
    smoothed: Tensor
    nll: Tensor
    features_gradient_ND: Tensor | None
    projection_gradient_VD: Tensor | None


def smoothed_cross_entropy(
    features: Tensor,
    projection_VD: Tensor,
    expected: Tensor,
    smoothing: float,
    *,
    weight: Tensor | None = None,
    rows: int | None = None,
) -> Loss:
    """Return the cross-entropy of softmax(features · projection^T) against (1 - ε) onehot(expected) + ε / V.

    features: (…, D); expected: (…), where PAD is ignored. The result equals projecting and torch's cross_entropy with
    label_smoothing, but no tensor of N·V is ever held: the gradients are computed with the loss, while the scores of a
    few rows are in memory. `rows` is their number; the default suits the device. `weight`, of the shape of `expected`,
    multiplies the loss of each token, without smoothing; `nll` stays without it.
    """
    assert weight is None or smoothing == 0.0
    features_ND, expected_N = features.reshape(-1, features.shape[-1]), expected.reshape(-1)
    weight_N = None if weight is None else weight.reshape(-1)
    kept_N = (expected_N != PAD).nonzero().squeeze(1)
    scores = CPU_SCORES if features.device.type == "cpu" else GPU_SCORES
    rows = rows or max(256, scores // len(projection_VD))
    if torch.is_grad_enabled() and (features.requires_grad or projection_VD.requires_grad):
        smoothed, nll = _Step.apply(  # type: ignore[no-untyped-call]
            features_ND, projection_VD, expected_N, kept_N, smoothing, rows, weight_N
        )
    else:
        sums = _sums(features_ND, projection_VD, expected_N, kept_N, smoothing, rows, weight_N, wanted=(False, False))
        smoothed, nll = sums.smoothed, sums.nll
    return Loss(smoothed, nll, len(kept_N))


class _Step(torch.autograd.Function):
    """Compute the gradients in the forward pass; the backward pass only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        features_ND: Tensor,
        projection_VD: Tensor,
        expected_N: Tensor,
        kept_N: Tensor,
        smoothing: float,
        rows: int,
        weight_N: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        wanted = ctx.needs_input_grad[:2]
        sums = _sums(features_ND, projection_VD, expected_N, kept_N, smoothing, rows, weight_N, wanted=wanted)
        ctx.save_for_backward(sums.features_gradient_ND, sums.projection_gradient_VD)
        ctx.mark_non_differentiable(sums.nll)
        return sums.smoothed, sums.nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        features, projection = (None if saved is None else saved * grad for saved in ctx.saved_tensors)
        return features, projection, None, None, None, None, None


def _sums(
    features_ND: Tensor,
    projection_VD: Tensor,
    expected_N: Tensor,
    kept_N: Tensor,
    smoothing: float,
    rows: int,
    weight_N: Tensor | None,
    *,
    wanted: tuple[bool, bool],
) -> _Sums:
    """Return the losses and the wanted gradients: with p = softmax(scores), a score's is p - (1 - ε)·onehot - ε/V.

    The contribution of ε/V is the same for every score, so it is computed from sums over V and over rows instead.
    """
    matmul_dtype = features_ND.dtype  # of the matrix products: 16 bits under autocast; softmax and sums use 32
    if torch.is_autocast_enabled(features_ND.device.type):
        matmul_dtype = torch.get_autocast_dtype(features_ND.device.type)
    exact = torch.promote_types(matmul_dtype, torch.float32)
    weight_VD = projection_VD.detach().to(matmul_dtype)
    total_D = weight_VD.sum(0, dtype=exact)
    linear = training_linear if any(wanted) else F.linear
    uniform = smoothing / len(weight_VD)
    gradient_ND = torch.zeros_like(features_ND) if wanted[0] else None
    gradient_VD = torch.zeros_like(projection_VD, dtype=exact) if wanted[1] else None
    smoothed, nll = total_D.new_zeros(()), total_D.new_zeros(())

    with torch.autocast(features_ND.device.type, enabled=False):
        for kept_R in torch.split(kept_N, rows):
            x_RD = features_ND.index_select(0, kept_R).to(matmul_dtype)
            expected_R1 = expected_N.index_select(0, kept_R)[:, None]
            scores_RV = linear(x_RD, weight_VD).to(exact)
            chosen_R1 = scores_RV.gather(1, expected_R1)
            most_R = scores_RV.amax(1)
            p_RV = torch.softmax(scores_RV, 1, out=scores_RV)
            # log Σ e^score is score - log p of any score; the largest is the one whose p can't underflow.
            normaliser_R = most_R - p_RV.amax(1).log()
            nll += (normaliser_R - chosen_R1[:, 0]).sum()
            mean_R = uniform * (x_RD.to(exact) @ total_D)
            loss_R = normaliser_R - (1 - smoothing) * chosen_R1[:, 0] - mean_R
            g_RV = p_RV.scatter_add_(1, expected_R1, torch.full_like(chosen_R1, smoothing - 1))
            if weight_N is not None:
                weight_R = weight_N.index_select(0, kept_R).to(exact)
                loss_R, g_RV = loss_R * weight_R, g_RV.mul_(weight_R[:, None])
            smoothed += loss_R.sum()
            g_RV = g_RV.to(matmul_dtype)
            if gradient_ND is not None:
                gradient_RD = linear(g_RV, weight_VD.T).sub_(uniform * total_D)
                gradient_ND.index_copy_(0, kept_R, gradient_RD.to(features_ND.dtype))
            if gradient_VD is not None:
                _add_product(gradient_VD, g_RV, x_RD)
            del scores_RV, p_RV, g_RV  # free memory for the next rows
        if gradient_VD is not None:
            gradient_VD.sub_(uniform * features_ND.index_select(0, kept_N).sum(0, dtype=exact))
    return _Sums(smoothed, nll, gradient_ND, None if gradient_VD is None else gradient_VD.to(projection_VD.dtype))


def _add_product(gradient_VD: Tensor, g_RV: Tensor, x_RD: Tensor) -> None:
    if g_RV.dtype == gradient_VD.dtype:
        gradient_VD.addmm_(g_RV.T, x_RD)
    else:
        gradient_VD.add_(g_RV.T @ x_RD)
