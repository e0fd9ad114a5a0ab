"""Performer against a plain loop, and how fast it approaches full attention."""

import math

import pytest
import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention, attention
from regard.model.later.performer import Performer, orthogonal_gaussians, positive_features


def phi(x: Tensor, omega_MK: Tensor) -> Tensor:
    """Equation 5 of its paper, one feature at a time."""
    m = len(omega_MK)
    return torch.tensor([math.exp(float(omega @ x - x @ x / 2)) / math.sqrt(m) for omega in omega_MK])


def loop(layer: Performer, x_SD: Tensor) -> tuple[Tensor, Tensor]:
    """One head, one pair of positions at a time. The expected value."""
    d_k, d_v = layer.query.out_features // layer.heads, layer.value.out_features // layer.heads
    outputs, weights = [], torch.zeros(layer.heads, len(x_SD), len(x_SD))
    for i, x in enumerate(x_SD):
        parts = []
        for head in range(layer.heads):
            k, v = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            query = phi(layer.query(x)[k] / d_k**0.25, layer.omega_MK)
            kernels = [float(query @ phi(layer.key(other)[k] / d_k**0.25, layer.omega_MK)) for other in x_SD]
            weights[head, i] = torch.tensor(kernels) / sum(kernels)
            parts.append(sum(w * layer.value(other)[v] for w, other in zip(weights[head, i], x_SD, strict=True)))
        outputs.append(layer.output(torch.cat(parts)))
    return torch.stack(outputs), weights


@pytest.mark.parametrize("features", [1, 7, 20])
@torch.no_grad()
def test_equals_the_loop(features: int) -> None:
    torch.manual_seed(0)
    layer = Performer(12, 3, 5, 2, features=features)
    x = torch.randn(2, 11, 12)
    there = torch.arange(11) < torch.tensor([[11], [7]])
    output, weights = layer.mix(x, there, weights=True)
    assert weights is not None and torch.equal(layer.mix(x, there)[0], output)
    for b, length in enumerate((11, 7)):
        expected, expected_weights = loop(layer, x[b, :length])
        torch.testing.assert_close(output[b, :length], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(weights[b, :, :length, :length], expected_weights, atol=1e-5, rtol=1e-5)
        assert not weights[b, :, :, length:].any(), "padding gets no weight"


def test_the_error_falls_with_the_square_root_of_the_features() -> None:
    """For queries and keys of moderate length: a kernel's variance grows with exp(|q + k|²)."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 2, 24, 8, generator=generator) for _ in range(3))
    query, key = 0.25 * query, 0.25 * key
    there = torch.ones(1, 24, dtype=torch.bool)
    exact, _ = attention(query, key, value, there, 1.0)
    sizes, errors = [32, 128, 512, 2048], []
    for features in sizes:
        squares = []
        for seed in range(12):
            query_M, key_M = positive_features(query, key, there, orthogonal_gaussians(features, 8, seed))
            kernel = query_M @ key_M.transpose(-1, -2)
            squares.append((kernel @ value / kernel.sum(-1, keepdim=True) - exact).square().mean())
        errors.append(float(torch.stack(squares).mean().sqrt()))
    slope = math.log(errors[-1] / errors[0]) / math.log(sizes[-1] / sizes[0])
    assert -0.6 < slope < -0.4, errors
    assert errors[-1] < 0.01 < errors[0]


@torch.no_grad()
def test_many_features_are_nearly_full_attention() -> None:
    torch.manual_seed(0)
    full, layer = MultiHeadAttention(12, 3, 4, 4, rotary=True), Performer(12, 3, 4, 4, features=20_000, rotary=True)
    layer.load_state_dict(full.state_dict())
    x, there = 0.7 * torch.randn(2, 15, 12), torch.arange(15) < torch.tensor([[15], [9]])
    for actual, expected in zip(layer.mix(x, there, weights=True), full.mix(x, there, weights=True), strict=True):
        torch.testing.assert_close(actual, expected, atol=0.01, rtol=0.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 100.0, 1e4])
def test_no_size_of_queries_and_keys_overflows(scale: float) -> None:
    layer = Performer(8, 2, 4, 4, features=9)
    x = (scale * torch.randn(2, 6, 8)).requires_grad_()
    there = torch.arange(6) < torch.tensor([[6], [0]])
    output, weights = layer.mix(x, there, weights=True)
    output.sum().backward()
    assert weights is not None and output.isfinite().all()
    assert x.grad is not None and x.grad.isfinite().all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 6))


def test_features_stand_at_right_angles_and_are_as_long_as_gaussians() -> None:
    omega = orthogonal_gaussians(4000, 16)
    for group in (omega[:16], omega[32:48], omega[3984:]):
        products = group @ group.T
        torch.testing.assert_close(products, torch.diag(products.diagonal()), atol=1e-4, rtol=0.0)
    torch.testing.assert_close(omega.mean(0), torch.zeros(16), atol=0.06, rtol=0.0)
    torch.testing.assert_close(omega.T @ omega / 4000, torch.eye(16), atol=0.1, rtol=0.0)
    assert all(omega[place::16].mean(0).abs().max() < 0.25 for place in range(16)), "wherever in a group it stands"
    assert abs(float(omega.square().sum(1).mean()) - 16) < 0.5 and abs(float(omega.square().sum(1).var()) - 32) < 3


def test_features_are_always_the_same() -> None:
    """A saved model does not hold them: it means these, whatever the random state and the version of a library."""
    torch.manual_seed(1)
    first = Performer(8, 2, 4, 4, features=6).omega_MK
    with torch.device("meta"):
        second = Performer(8, 2, 4, 4, features=6).omega_MK
    assert torch.equal(first, second) and not torch.equal(first, orthogonal_gaussians(6, 4, seed=1))
    torch.testing.assert_close(first[0], torch.tensor([1.449959, 1.535035, -0.084841, 0.625533]), atol=1e-5, rtol=0.0)
