"""Longformer against a plain loop, and against full attention where its window is wide enough."""

import math

import pytest
import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention
from regard.model.kernels.linear import Linear
from regard.model.later.longformer import Longformer

THERE = torch.arange(30) < torch.tensor([[30], [22]])


def loop(layer: Longformer, x_SD: Tensor, window: int, global_tokens: int) -> tuple[Tensor, Tensor]:
    """One head, one position, one seen position at a time. The expected value."""
    d_k, d_v = layer.query.out_features // layer.heads, layer.value.out_features // layer.heads
    outputs, weights = [], torch.zeros(layer.heads, len(x_SD), len(x_SD))
    for i, x in enumerate(x_SD):
        parts = []
        everywhere = i < global_tokens
        maps = (layer.query, layer.key, layer.value)
        if everywhere:
            maps = (layer.global_query, layer.global_key, layer.global_value)
        seen = [j for j in range(len(x_SD)) if everywhere or j < global_tokens or abs(i - j) <= window // 2]
        for head in range(layer.heads):
            k, v = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            query = maps[0](x)[k]
            powers = [math.exp(float(query @ maps[1](x_SD[j])[k]) / math.sqrt(d_k)) for j in seen]
            shares = [power / sum(powers) for power in powers]
            parts.append(sum(share * maps[2](x_SD[j])[v] for share, j in zip(shares, seen, strict=True)))
            weights[head, i, seen] = torch.tensor(shares)
        outputs.append(layer.output(torch.cat(parts)))
    return torch.stack(outputs), weights


@pytest.mark.parametrize(("window", "global_tokens"), [(4, 2), (1, 1), (7, 0), (2, 25), (40, 1), (3, 40)])
@torch.no_grad()
def test_equals_the_loop(window: int, global_tokens: int) -> None:
    torch.manual_seed(0)
    layer = Longformer(12, 3, 5, 2, window=window, global_tokens=global_tokens)
    x = torch.randn(2, 30, 12)
    for weights in (False, True):
        output, recorded = layer.mix(x, THERE, weights=weights)
        for b, length in enumerate((30, 22)):
            expected, expected_weights = loop(layer, x[b, :length], window, global_tokens)
            torch.testing.assert_close(output[b, :length], expected, atol=1e-5, rtol=1e-5)
            if recorded is not None:
                torch.testing.assert_close(recorded[b, :, :length, :length], expected_weights, atol=1e-5, rtol=1e-5)
                assert not recorded[b, :, :length, length:].any(), "padding gets no weight"


@pytest.mark.parametrize("rotary", [False, True])
@torch.no_grad()
def test_a_wide_window_is_full_attention(rotary: bool) -> None:
    """Where no position is global, and where the global ones have the same projections as the others."""
    full = MultiHeadAttention(12, 3, 4, 2, rotary=rotary)
    x = torch.randn(2, 30, 12)
    for window, global_tokens in ((60, 0), (60, 3), (2, 30)):
        layer = Longformer(12, 3, 4, 2, window=window, global_tokens=global_tokens, rotary=rotary)
        layer.load_state_dict(full.state_dict(), strict=False)
        for kind in ("query", "key", "value") if global_tokens else ():
            own = layer.get_submodule(f"global_{kind}")
            assert isinstance(own, Linear)
            own.load_state_dict(full.get_submodule(kind).state_dict())
        expected = full.mix(x, THERE, weights=True)
        for actual, wanted in zip(layer.mix(x, THERE, weights=True), expected, strict=True):
            torch.testing.assert_close(actual, wanted, atol=1e-6, rtol=1e-5)


def test_blocks_and_the_equation_have_the_same_gradients() -> None:
    layer = Longformer(8, 2, 4, 4, window=4, global_tokens=2).double()
    x = torch.randn(2, 30, 8, dtype=torch.float64, requires_grad=True)
    gradients = []
    for weights in (False, True):
        output, _ = layer.mix(x, THERE, weights=weights)
        gradients.append(torch.autograd.grad(output[THERE].square().sum(), [x, *layer.parameters()]))
    for fast, slow in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, slow)


@torch.no_grad()
def test_who_learns_of_a_change() -> None:
    """A word reaches its window and, by the global position, in two layers everybody."""
    torch.manual_seed(1)
    layers = [Longformer(8, 1, 8, 8, window=2, global_tokens=1) for _ in range(2)]
    there = torch.ones(1, 30, dtype=torch.bool)
    x = torch.randn(1, 30, 8)
    changed = x.clone()
    changed[0, 20] += 1.0
    reached = []
    for layer in layers:
        x, changed = layer.mix(x, there)[0], layer.mix(changed, there)[0]
        reached.append((x != changed).any(-1)[0].nonzero().flatten().tolist())
    assert reached == [[0, 19, 20, 21], list(range(30))]
