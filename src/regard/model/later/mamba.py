"""A selective state-space layer instead of attention: Mamba (Gu and Dao, 2023).

Each channel is a linear system of N states whose step Δ, input B and output C depend on the token:

    h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t,    y_t = C_t h_t + D x_t

    Δ_t = softplus(W_Δ x_t + b),    B_t = W_B x_t,    C_t = W_C x_t

around which stand a linear map to x and a gate z, a short causal convolution, and a linear map back: (y · SiLU(z)) W.
As in its paper A starts as -1 … -N and the steps between 0.001 and 0.1. Its linear maps have no bias; these have one.

A decoder reads forward only and keeps h and the last inputs of the convolution, whatever the length of the text. An
encoder has a second system that reads backward, and adds the two before the gate (Vim: Zhu et al., 2024).

Shapes: B sentences, S positions, D = d_model, E = inner channels, N states, R = rank of Δ, K = kernel.
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.kernels.linear import Linear, linear
from regard.model.kernels.selective_scan import selective_scan

STEPS = 0.001, 0.1  # the initial range of Δ


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
        a_EN = -self.log_decay_EN.exp()
        y_BSE, hidden_BEN = selective_scan(step_BSE, x_BSE, a_EN, into_BSN, out_BSN, state.hidden_BEN)
        return y_BSE + self.skip_E * x_BSE, MambaState(state.length + S, read_BXE[:, S:], hidden_BEN)


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
