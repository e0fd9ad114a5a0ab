"""S4D against its recurrence, in plain loops and complex numbers of double precision."""

import cmath
import math

import pytest
import torch
from torch import Tensor

from regard.model.later.state_space import StateSpace


def recurrence(layer: StateSpace, u_SD: Tensor) -> Tensor:
    """h_t = Ā h_{t-1} + B̄ u_t, y_t = 2 Re(C h_t), there, and back over what comes after; then D, GELU and the gate."""
    S, D = u_SD.shape
    M = layer.frequency_DM.shape[1]
    y_SD = [[float(layer.skip_D[d] * u_SD[t, d]) for d in range(D)] for t in range(S)]
    for d in range(D):
        step = math.exp(float(layer.log_step_D[d]))
        for m in range(M):
            A = complex(-math.exp(float(layer.log_decay_DM[d, m])), float(layer.frequency_DM[d, m]))
            A_bar = cmath.exp(step * A)
            B_bar = (A_bar - 1) / A
            there, back = (complex(*layer.read_2DMC[way, d, m].tolist()) for way in (0, 1))
            h = 0j
            for t in range(S):
                h = A_bar * h + B_bar * float(u_SD[t, d])
                y_SD[t][d] += 2 * (there * h).real
            h = 0j
            for t in reversed(range(S)):
                y_SD[t][d] += 2 * (back * h).real
                h = A_bar * h + B_bar * float(u_SD[t, d])
    inner = torch.nn.functional.gelu(torch.tensor(y_SD)) @ layer.output.weight.T + layer.output.bias
    return inner[:, :D] * torch.sigmoid(inner[:, D:])


@pytest.mark.parametrize("lengths", [(11, 7), (1, 1), (2, 1), (16, 9), (17, 16)])
@torch.no_grad()
def test_the_convolution_equals_the_recurrence(lengths: tuple[int, int]) -> None:
    torch.manual_seed(0)
    layer = StateSpace(6, 8)
    x = torch.randn(2, lengths[0], 6)
    output, weights = layer.mix(x, torch.arange(lengths[0]) < torch.tensor(lengths)[:, None], weights=True)
    assert weights is None
    for b, length in enumerate(lengths):
        torch.testing.assert_close(output[b, :length], recurrence(layer, x[b, :length]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 300])
@torch.no_grad()
def test_kernels_are_powers(length: int) -> None:
    """K_l = 2 Re(C Ā^l B̄), straight from the definition, in double precision."""
    layer = StateSpace(3, 4)
    A_DM = torch.complex(-layer.log_decay_DM.double().exp(), layer.frequency_DM.double())
    step_D1 = layer.log_step_D.double().exp()[:, None]
    B_DM = ((step_D1 * A_DM).exp() - 1) / A_DM
    read_2DM = torch.view_as_complex(layer.read_2DMC.double())
    expected = [2 * (read_2DM * (step_D1 * A_DM * lag).exp() * B_DM).sum(-1).real for lag in range(length)]
    actual = layer.kernels(length)
    torch.testing.assert_close(actual.double(), torch.stack(expected, dim=-1), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_what_stands_in_the_padding_does_not_leak() -> None:
    """Not even backwards, where it comes first."""
    layer = StateSpace(8, 4)
    x = torch.randn(1, 9, 8)
    there = torch.arange(9)[None] < 5
    other = torch.where(there[..., None], x, torch.tensor(1e6))
    assert torch.equal(layer.mix(x, there)[0][there], layer.mix(other, there)[0][there])
    torch.testing.assert_close(layer.mix(x[:, :5], there[:, :5])[0], layer.mix(x, there)[0][:, :5])


@torch.no_grad()
def test_it_begins_as_s4d_lin() -> None:
    layer = StateSpace(64, 10)
    assert torch.equal(layer.log_decay_DM.exp(), torch.full((64, 5), 0.5))
    torch.testing.assert_close(layer.frequency_DM[7], torch.pi * torch.arange(5))
    steps = layer.log_step_D.exp()
    assert 0.001 <= steps.min() < 0.003 and 0.03 < steps.max() <= 0.1


def test_in_half_precision_only_the_linear_map_is() -> None:
    layer = StateSpace(8, 4)
    x, there = torch.randn(1, 9, 8), torch.ones(1, 9, dtype=torch.bool)
    expected, convolved = layer.mix(x, there)[0], layer.convolved(x.transpose(1, 2))
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = layer.mix(x, there)
        assert torch.equal(layer.convolved(x.transpose(1, 2)), convolved)
    torch.testing.assert_close(actual.float(), expected, atol=0.05, rtol=0.05)
