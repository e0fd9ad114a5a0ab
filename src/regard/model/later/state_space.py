"""A state-space layer instead of attention: S4D (Gu et al., 2022, "On the Parameterization and Initialization of …").

Shapes: B sentences, S positions, D = d_model, N states, M = N / 2 of which the others are conjugates, W = sqrt(S).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.kernels.linear import Linear

STEPS = 0.001, 0.1  # the initial range of Δ


class StateSpace(nn.Module):
    """A state-space layer: each channel is a linear system of N states, diagonal and complex, discretised with step Δ,

        h' = A h + B u,    y = C h + D u
        h_t = Ā h_{t-1} + B̄ u_t,    y_t = 2 Re(C h_t) + D u_t,    Ā = exp(Δ A),    B̄ = (Ā - 1) A^-1 B

    which is a convolution, computed by Fourier transforms in O(n log n): y = K * u + D u, K_l = 2 Re(C Ā^l B̄).

    The encoder's layer is bidirectional: a second C gives a kernel for the positions after. Then, as in S4, follow
    GELU, a linear map and a gate. B is 1, and A starts as S4D-Lin, -1/2 + π i n. It has no attention weights.
    """

    def __init__(self, d_model: int, state_size: int) -> None:
        super().__init__()
        D, M = d_model, state_size // 2
        shortest, longest = map(math.log, STEPS)
        self.log_step_D = nn.Parameter(torch.empty(D).uniform_(shortest, longest))  # Δ
        self.log_decay_DM = nn.Parameter(torch.full((D, M), math.log(0.5)))  # -Re A
        self.frequency_DM = nn.Parameter(math.pi * torch.arange(M).repeat(D, 1))  # Im A
        self.read_2DMC = nn.Parameter(torch.empty(2, D, M, 2).normal_(std=0.5**0.5))  # C, forward and backward
        self.skip_D = nn.Parameter(torch.empty(D).normal_())  # D
        self.output = Linear(D, 2 * D)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return B, S, D. Padding is set to 0, so that it adds nothing to any sum."""
        u_BSD = x_BSD.masked_fill(~mask_BS[:, :, None], 0.0)
        y_BSD = self.convolved(u_BSD.transpose(1, 2)).transpose(1, 2) + self.skip_D * u_BSD
        return F.glu(self.output(F.gelu(y_BSD)), dim=-1), None

    def convolved(self, u_BDS: Tensor) -> Tensor:
        """Return Σ_{s <= t} K_{t-s} u_s + Σ_{s > t} K'_{s-t-1} u_s, by one circular convolution of length 2 S."""
        S = u_BDS.shape[2]
        with torch.autocast(u_BDS.device.type, enabled=False):
            there_DS, back_DS = self.kernels(S)
            circle_DZ = torch.cat((there_DS, back_DS.flip(-1)), dim=-1)
            spectrum = torch.fft.rfft(u_BDS.float(), 2 * S) * torch.fft.rfft(circle_DZ)
            y_BDZ: Tensor = torch.fft.irfft(spectrum, 2 * S)
        return y_BDZ[..., :S]

    def kernels(self, length: int) -> Tensor:
        """Return K_l for 0 <= l < length, forward and backward: 2, D, length.

        With l = W i + j, Ā^l = Ā^(W i) Ā^j: so sqrt(length) powers of each kind are enough, and the sum over states is
        a matrix product of their real and imaginary parts.
        """
        A_DM = torch.complex(-self.log_decay_DM.exp(), self.frequency_DM)
        step_DM = self.log_step_D.exp()[:, None] * A_DM
        read_2DM = 2 * torch.view_as_complex(self.read_2DMC) * torch.expm1(step_DM) / A_DM
        W = math.isqrt(length - 1) + 1
        place_W = torch.arange(W, device=A_DM.device)
        near_DMW = (step_DM[:, :, None] * place_W).exp()
        far_2DWM = read_2DM[:, :, None] * (step_DM[:, None] * (W * place_W)[:, None]).exp()
        far_2DWN = torch.cat((far_2DWM.real, -far_2DWM.imag), dim=-1)
        near_DNW = torch.cat((near_DMW.real, near_DMW.imag), dim=-2)
        return (far_2DWN @ near_DNW).flatten(-2)[..., :length]
