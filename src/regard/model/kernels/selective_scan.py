"""The recurrence of a selective state space, with its gradient, position by position in the processor's cache.

    h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t,    y_t = C_t h_t

There are N states for each of E channels, so decays and inputs of all positions are N times as large as x. They are
never stored: each position computes its own from Δ, A, B and x, and again in the backward pass, for which the states
h_t are stored. If there are few sentences, each is divided into chunks that are computed in parallel: first from 0, to
pass the last states on from chunk to chunk, and then from their true starts. The work stays linear in S.

Shapes: B sentences, S positions, C chunks of a sentence, L positions of a chunk, R = B·C rows, E channels, N states.
"""

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

WIDTH = {"cpu": 1 << 16}  # split sentences into chunks while a position has fewer states than this
WIDEST = 1 << 22  # on other devices


class Selected(NamedTuple):
    """The inputs of a scan, position by position: Δ, Δ·x, B and C of all rows; and A."""

    step_LRE: Tensor
    input_LRE: Tensor
    into_LRN: Tensor
    out_LRN: Tensor
    a_NE: Tensor

    def decay(self, t: int, out_RNE: Tensor) -> Tensor:
        """Write exp(Δ_t A) into a tensor, and return it."""
        return torch.mul(self.step_LRE[t][:, None], self.a_NE, out=out_RNE).exp_()

    def advance(self, t: int, hidden_RNE: Tensor, decay_RNE: Tensor) -> Tensor:
        """Return h_t, after h_{t-1}; the decay is written into the tensor given for it."""
        hidden_RNE = self.decay(t, decay_RNE) * hidden_RNE
        return hidden_RNE.addcmul_(self.into_LRN[t][..., None], self.input_LRE[t][:, None])

    def total(self) -> Tensor:
        """Return the product of the decays of each row's positions."""
        return (self.step_LRE.sum(0)[:, None] * self.a_NE).exp_()


def selective_scan(
    step_BSE: Tensor, x_BSE: Tensor, a_EN: Tensor, into_BSN: Tensor, out_BSN: Tensor, start_BEN: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return y of all positions and h of the last one, differentiable; h starts from 0 if no start is given."""
    B, _, E = x_BSE.shape
    if start_BEN is None:
        start_BEN = x_BSE.new_zeros(B, E, a_EN.shape[1])
    parts = step_BSE, step_BSE * x_BSE, a_EN, into_BSN, out_BSN, start_BEN
    y_BSE, last_BEN = _Scan.apply(*parts, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
    return y_BSE, last_BEN


def chunks_of(B: int, S: int, M: int, device: str) -> int:
    """Return the number of chunks of a sentence with S positions of M states each: at most sqrt(S)."""
    return max(1, min(math.isqrt(S), WIDTH.get(device, WIDEST) // max(1, B * M)))


class _Scan(torch.autograd.Function):
    """The scan and its gradient. With g_t = ∂L/∂h_t, which is a scan from the last position to the first,

        g_t = C_t ∂L/∂y_t + exp(Δ_{t+1} A) g_{t+1}

    the gradient of the exponent Δ_t A is g_t exp(Δ_t A) h_{t-1}, and that of the input is g_t.
    """

    @staticmethod
    def forward(
        ctx: Any,
        step_BSE: Tensor,
        input_BSE: Tensor,
        a_EN: Tensor,
        into_BSN: Tensor,
        out_BSN: Tensor,
        start_BEN: Tensor,
        keep: bool,
    ) -> tuple[Tensor, Tensor]:
        B, S, _ = step_BSE.shape
        C = chunks_of(B, S, a_EN.numel(), step_BSE.device.type)
        step_LRE, input_LRE, into_LRN, out_LRN = (_rows(part, C) for part in (step_BSE, input_BSE, into_BSN, out_BSN))
        selected = Selected(step_LRE, input_LRE, into_LRN, out_LRN, a_EN.t().contiguous())
        L = len(step_LRE)
        hidden_RNE = start_BEN.transpose(1, 2)
        decay_RNE = torch.empty_like(hidden_RNE, memory_format=torch.contiguous_format).repeat_interleave(C, 0)
        if C > 1:
            ends_RNE = torch.zeros_like(decay_RNE)
            for t in range(L):
                ends_RNE = selected.advance(t, ends_RNE, decay_RNE)
            hidden_RNE = _passed_on(ends_RNE, selected.total(), hidden_RNE)
        states = [hidden_RNE]
        y_LRE = torch.empty_like(selected.step_LRE)
        for t in range(L):
            hidden_RNE = selected.advance(t, hidden_RNE, decay_RNE)
            torch.bmm(selected.out_LRN[t][:, None], hidden_RNE, out=y_LRE[t][:, None])
            if keep:
                states.append(hidden_RNE)
        ctx.save_for_backward(*selected, *states)
        ctx.sizes = B, S, C
        return _sentences(y_LRE, B, S), hidden_RNE[C - 1 :: C].transpose(1, 2).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BSE: Tensor, last_BEN: Tensor) -> tuple[Tensor | None, ...]:
        B, S, C = ctx.sizes
        selected, states = Selected(*ctx.saved_tensors[:5]), ctx.saved_tensors[5:]
        gradient_LRE = _rows(gradient_BSE, C)
        L = len(gradient_LRE)
        after_RNE = last_BEN.transpose(1, 2).contiguous()
        decay_RNE = torch.empty_like(states[-1])
        if C > 1:
            starts_RNE = torch.zeros_like(decay_RNE)
            for t in reversed(range(L)):
                starts_RNE.addcmul_(selected.out_LRN[t][..., None], gradient_LRE[t][:, None])
                starts_RNE.mul_(selected.decay(t, decay_RNE))
            after_RNE = _passed_on(starts_RNE.flip(0), selected.total().flip(0), after_RNE.flip(0)).flip(0)
        step_LRE, input_LRE = torch.empty_like(gradient_LRE), torch.empty_like(gradient_LRE)
        into_LRN, out_LRN = torch.empty_like(selected.into_LRN), torch.empty_like(selected.out_LRN)
        total_RNE, exponent_RNE = torch.zeros_like(decay_RNE), torch.empty_like(decay_RNE)
        for t in reversed(range(L)):
            g_RNE = after_RNE.addcmul(selected.out_LRN[t][..., None], gradient_LRE[t][:, None])
            torch.bmm(states[t + 1], gradient_LRE[t][..., None], out=out_LRN[t][..., None])
            torch.bmm(g_RNE, selected.input_LRE[t][..., None], out=into_LRN[t][..., None])
            torch.bmm(selected.into_LRN[t][:, None], g_RNE, out=input_LRE[t][:, None])
            after_RNE = g_RNE.mul_(selected.decay(t, decay_RNE))
            torch.mul(after_RNE, states[t], out=exponent_RNE)
            total_RNE.addcmul_(exponent_RNE, selected.step_LRE[t][:, None])
            torch.sum(exponent_RNE.mul_(selected.a_NE), 1, out=step_LRE[t])
        parts = (_sentences(part, B, S) for part in (step_LRE, input_LRE))
        others = (_sentences(part, B, S) for part in (into_LRN, out_LRN))
        return *parts, total_RNE.sum(0).t(), *others, after_RNE[::C].transpose(1, 2), None


def _rows(part_BSX: Tensor, C: int) -> Tensor:
    """Return L, R, X: each sentence in C chunks, the last of which is filled with zeros, which change no state."""
    B, S, X = part_BSX.shape
    L = -(-S // C)
    return F.pad(part_BSX, (0, 0, 0, C * L - S)).reshape(B * C, L, X).transpose(0, 1).contiguous()


def _sentences(part_LRX: Tensor, B: int, S: int) -> Tensor:
    """Return B, S, X of L, R, X."""
    return part_LRX.transpose(0, 1).reshape(B, -1, part_LRX.shape[2])[:, :S]


def _passed_on(ends_RNE: Tensor, total_RNE: Tensor, start_BNE: Tensor) -> Tensor:
    """Return the state in which each chunk starts, of what each ends in from 0 and its total decay."""
    B = start_BNE.shape[0]
    ends_BCNE, total_BCNE = (part.view(B, -1, *part.shape[1:]) for part in (ends_RNE, total_RNE))
    starts = [start_BNE]
    for c in range(ends_BCNE.shape[1] - 1):
        starts.append(ends_BCNE[:, c].addcmul(total_BCNE[:, c], starts[c]))
    return torch.stack(starts, dim=1).flatten(0, 1)
