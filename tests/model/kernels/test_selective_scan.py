"""The selective scan against its recurrence in plain loops, and its gradient."""

from typing import cast

import pytest
import torch
from torch import Tensor

from regard.model.kernels import selective_scan as module
from regard.model.kernels.selective_scan import chunks_of, selective_scan

E, N = 3, 2


def plain(
    step_BSE: Tensor, x_BSE: Tensor, decay_EN: Tensor, into_BSN: Tensor, out_BSN: Tensor, start_BEN: Tensor
) -> tuple[Tensor, Tensor]:
    """h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t and y_t = C_t h_t, one position after the other."""
    hidden_BEN, found = start_BEN, []
    for t in range(x_BSE.shape[1]):
        step_BE1 = step_BSE[:, t, :, None]
        hidden_BEN = torch.exp(step_BE1 * decay_EN) * hidden_BEN
        hidden_BEN = hidden_BEN + step_BE1 * into_BSN[:, t, None] * x_BSE[:, t, :, None]
        found.append((hidden_BEN * out_BSN[:, t, None]).sum(2))
    return torch.stack(found, dim=1), hidden_BEN


Parts = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def random_parts(B: int, S: int) -> Parts:
    torch.manual_seed(100 * B + S)
    decay = -torch.rand(E, N) - 0.1
    parts = [torch.rand(B, S, E), torch.randn(B, S, E), decay, *torch.randn(2, B, S, N), torch.randn(B, E, N)]
    return cast(Parts, tuple(part.double().requires_grad_() for part in parts))


@pytest.fixture(params=["whole", "chunks"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compute whole sentences, or as many chunks as are allowed."""
    monkeypatch.setitem(module.WIDTH, "cpu", 1 if request.param == "whole" else 1 << 16)
    return str(request.param)


@pytest.mark.parametrize("B", [1, 2])
@pytest.mark.parametrize("S", [1, 2, 3, 4, 5, 9, 10, 16, 17, 50])
def test_it_equals_the_recurrence_step_by_step(ways: str, B: int, S: int) -> None:
    assert (chunks_of(B, S, E * N, "cpu") == 1) == (ways == "whole" or S < 4)
    parts = random_parts(B, S)
    for found, expected in zip(selective_scan(*parts), plain(*parts), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("S", [1, 2, 7, 16, 18])
def test_its_gradients_are_those_of_the_recurrence(ways: str, S: int) -> None:
    parts = random_parts(2, S)
    weights = [torch.randn_like(part) for part in plain(*parts)]

    def gradients(outputs: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        return torch.autograd.grad(sum((o * w).sum() for o, w in zip(outputs, weights, strict=True)), parts)  # type: ignore[arg-type]

    for found, expected in zip(gradients(selective_scan(*parts)), gradients(plain(*parts)), strict=True):
        torch.testing.assert_close(found, expected)


def test_tensors_need_not_be_contiguous() -> None:
    parts = random_parts(2, 16)
    turned = [part.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_() for part in parts]
    weights = torch.randn(16, 2, E, dtype=torch.float64).transpose(0, 1)
    found, expected = (torch.autograd.grad(selective_scan(*some)[0], some, weights) for some in (turned, parts))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_no_start_is_a_start_from_zero() -> None:
    parts = random_parts(2, 6)
    for found, expected in zip(
        selective_scan(*parts[:5], None), selective_scan(*parts[:5], torch.zeros_like(parts[5])), strict=True
    ):
        assert torch.equal(found, expected)


def test_without_gradients_it_is_the_same() -> None:
    parts = random_parts(2, 9)
    with torch.no_grad():
        free = selective_scan(*parts)
    for found, expected in zip(free, selective_scan(*parts), strict=True):
        assert torch.equal(found, expected) and not found.requires_grad


@pytest.mark.parametrize(
    ("B", "S", "M", "chunks"), [(1, 100, 1, 10), (64, 100, 1024, 1), (8, 2048, 2048, 4), (1, 1, 1, 1)]
)
def test_few_sentences_are_divided(B: int, S: int, M: int, chunks: int) -> None:
    assert chunks_of(B, S, M, "cpu") == chunks
    assert chunks_of(B, S, M, "cuda") >= chunks
