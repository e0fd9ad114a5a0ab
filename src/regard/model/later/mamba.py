"""A selective state-space layer instead of attention: Mamba (Gu and Dao, 2023).

Each channel is a linear system of N states whose step Δ, input B and output C depend on the token:

    h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t,    y_t = C_t h_t + D x_t

    Δ_t = softplus(W_Δ x_t + b),    B_t = W_B x_t,    C_t = W_C x_t

around which stand a linear map to x and a gate z, a short causal convolution, and a linear map back: (y · SiLU(z)) W.
As in its paper A starts as -1 … -N and the steps between 0.001 and 0.1. Its linear maps have no bias; these have one.

A decoder reads forward only and keeps h and the last inputs of the convolution, whatever the length of the text. An
encoder has a second system that reads backward, and adds the two before the gate (Vim: Zhu et al., 2024).

Shapes: B sentences, S positions, C chunks of L positions, M numbers of a state, D = d_model, E = inner channels,
N states, R = rank of Δ, K = kernel.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.model.kernels.linear import Linear, linear

STEPS = 0.001, 0.1  # the initial range of Δ


def recurrence(decay_BSM: Tensor, input_BSM: Tensor) -> Tensor:
    """Return all h_t = a_t h_{t-1} + u_t, from h_{-1} = 0, in work linear in S and about 2·sqrt(S) sequential steps.

    The positions are divided into chunks of sqrt(S). First all chunks run in parallel, each from 0; then the last state
    of each chunk is passed on to the next, times the product of the decays since.
    """
    B, S, M = input_BSM.shape
    L = math.isqrt(max(S - 1, 0)) + 1
    C = -(-S // L)
    beyond = (0, 0, 0, C * L - S)
    decay_BCLM = F.pad(decay_BSM, beyond).view(B, C, L, M).clone()
    state_BCLM = F.pad(input_BSM, beyond).view(B, C, L, M).clone()
    for t in range(1, L):
        state_BCLM[:, :, t].addcmul_(decay_BCLM[:, :, t], state_BCLM[:, :, t - 1])
        decay_BCLM[:, :, t].mul_(decay_BCLM[:, :, t - 1])
    for c in range(1, C):
        state_BCLM[:, c].addcmul_(decay_BCLM[:, c], state_BCLM[:, c - 1, -1:])
    return state_BCLM.view(B, C * L, M)[:, :S]


class _Scan(torch.autograd.Function):
    """The recurrence with its gradient, which is the same recurrence from the last position to the first.

    g_t = ∂/∂h_t + a_{t+1} g_{t+1},    ∂/∂u_t = g_t,    ∂/∂a_t = g_t h_{t-1}
    """

    @staticmethod
    def forward(ctx: Any, decay_BSM: Tensor, input_BSM: Tensor) -> Tensor:
        state_BSM = recurrence(decay_BSM, input_BSM)
        ctx.save_for_backward(decay_BSM, state_BSM)
        return state_BSM

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BSM: Tensor) -> tuple[Tensor, Tensor]:
        decay_BSM, state_BSM = ctx.saved_tensors
        after_BSM = F.pad(decay_BSM[:, 1:], (0, 0, 0, 1))
        total_BSM = recurrence(after_BSM.flip(1), gradient_BSM.flip(1)).flip(1)
        before_BSM = F.pad(state_BSM[:, :-1], (0, 0, 1, 0))
        return total_BSM * before_BSM, total_BSM


def scan(decay_BSM: Tensor, input_BSM: Tensor) -> Tensor:
    """Return the states of the recurrence, differentiable."""
    states_BSM: Tensor = _Scan.apply(decay_BSM, input_BSM)  # type: ignore[no-untyped-call]
    return states_BSM


@dataclass(frozen=True)
class MambaState:
    """The state of a decoder's layer after the positions so far: as much for a long text as for a short one."""

    length: int = 0
    recent_BKE: Tensor | None = None
    """The last K - 1 inputs of the convolution."""
    hidden_BEN: Tensor | None = None
    """h of the last position."""

    def select(self, rows: Tensor) -> Self:
        if self.recent_BKE is None or self.hidden_BEN is None:
            return self
        parts = (part.index_select(0, rows) for part in (self.recent_BKE, self.hidden_BEN))
        return type(self)(self.length, *parts)


class SelectiveScan(nn.Module):
    """The convolution and the selective system, in one direction."""

    def __init__(self, channels: int, state_size: int, rank: int, kernel: int) -> None:
        super().__init__()
        E, N, R = channels, state_size, rank
        self.sizes = [R, N, N]
        self.kernel_E1K = nn.Parameter(torch.empty(E, 1, kernel).uniform_(-(kernel**-0.5), kernel**-0.5))
        self.kernel_bias_E = nn.Parameter(torch.zeros(E))
        self.select_XE = nn.Parameter(torch.empty(R + 2 * N, E))  # W_B, W_C and the first factor of W_Δ
        self.step_ER = nn.Parameter(torch.empty(E, R).uniform_(-(R**-0.5), R**-0.5))
        nn.init.xavier_uniform_(self.select_XE)
        shortest, longest = map(math.log, STEPS)
        step_E = torch.empty(E).uniform_(shortest, longest).exp()
        self.step_bias_E = nn.Parameter(step_E + torch.log(-torch.expm1(-step_E)))  # softplus of it is the step
        self.log_decay_EN = nn.Parameter(torch.arange(1, N + 1).float().log().repeat(E, 1))  # of -A
        self.skip_E = nn.Parameter(torch.ones(E))

    def forward(self, x_BSE: Tensor, mask_BS: Tensor | None, state: MambaState) -> tuple[Tensor, MambaState]:
        """Return y and the state after it. Where the mask is False, x must be 0; the state passes such positions by."""
        B, S, E = x_BSE.shape
        reach = self.kernel_E1K.shape[2] - 1
        recent_BKE = x_BSE.new_zeros(B, reach, E) if state.recent_BKE is None else state.recent_BKE
        read_BXE = torch.cat((recent_BKE, x_BSE), dim=1)
        x_BSE = F.silu(
            F.conv1d(read_BXE.transpose(1, 2), self.kernel_E1K, self.kernel_bias_E, groups=E).transpose(1, 2)
        )
        step_BSR, into_BSN, out_BSN = torch.split(linear(x_BSE, self.select_XE), self.sizes, dim=2)
        step_BSE = F.softplus(linear(step_BSR, self.step_ER, self.step_bias_E))
        if mask_BS is not None:
            step_BSE = step_BSE.masked_fill(~mask_BS[:, :, None], 0.0)
        decay_BSEN = (step_BSE[..., None] * -self.log_decay_EN.exp()).exp()
        input_BSEN = (step_BSE * x_BSE)[..., None] * into_BSN[:, :, None]
        if state.hidden_BEN is not None:
            first_B1EN = input_BSEN[:, :1] + decay_BSEN[:, :1] * state.hidden_BEN[:, None]
            input_BSEN = torch.cat((first_B1EN, input_BSEN[:, 1:]), dim=1)
        hidden_BSEN = scan(decay_BSEN.flatten(2), input_BSEN.flatten(2)).view_as(input_BSEN)
        y_BSE = (hidden_BSEN @ out_BSN[..., None])[..., 0] + self.skip_E * x_BSE
        return y_BSE, MambaState(state.length + S, read_BXE[:, S:], hidden_BSEN[:, -1])


class Mamba(nn.Module):
    """A Mamba layer: forward alone for a decoder, in both directions for an encoder."""

    def __init__(self, d_model: int, state_size: int, expand: int, kernel: int, *, causal: bool) -> None:
        super().__init__()
        E, rank = expand * d_model, -(-d_model // 16)
        self.input = Linear(d_model, 2 * E)
        self.forwards = SelectiveScan(E, state_size, rank, kernel)
        self.backwards = None if causal else SelectiveScan(E, state_size, rank, kernel)
        self.output = Linear(E, d_model)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return B, S, D for all positions of a source; there are no attention weights."""
        assert self.backwards is not None, "an encoder's layer reads in both directions"
        x_BSE, gate_BSE = self.input(x_BSD).chunk(2, dim=2)
        with torch.autocast(x_BSD.device.type, enabled=False):
            x_BSE = x_BSE.float().masked_fill(~mask_BS[:, :, None], 0.0)
            there_BSE, _ = self.forwards(x_BSE, mask_BS, MambaState())
            back_BSE, _ = self.backwards(x_BSE.flip(1), mask_BS.flip(1), MambaState())
        output: Tensor = self.output((there_BSE + back_BSE.flip(1)) * F.silu(gate_BSE))
        return output, None

    def advance(self, x_BTD: Tensor, state: MambaState) -> tuple[Tensor, MambaState]:
        """Return B, T, D at T further positions, each from those up to it, and the new state."""
        x_BTE, gate_BTE = self.input(x_BTD).chunk(2, dim=2)
        with torch.autocast(x_BTD.device.type, enabled=False):
            y_BTE, state = self.forwards(x_BTE.float(), None, state)
        output: Tensor = self.output(y_BTE * F.silu(gate_BTE))
        return output, state
