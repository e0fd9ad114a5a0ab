"""Attention against a plain loop written from the equations, and its faster forms against the equation."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.model import short_attention
from regard.model.attention import MultiHeadAttention, attend
from regard.model.masks import distances, visible
from regard.model.short_attention import NARROW, SHORT

PeakBytes = Callable[[Callable[[], object]], int]
torch.manual_seed(0)


def loop(layer: MultiHeadAttention, x_TD: Tensor, memory_SD: Tensor, seen_TS: Tensor) -> tuple[Tensor, Tensor]:
    """Section 3.2.2, one head, one query, one key at a time. The expected value."""
    heads, d_k = layer.heads, layer.query.out_features // layer.heads
    d_v = layer.value.out_features // layer.heads
    outputs, all_weights = [], []
    for t, x in enumerate(x_TD):
        parts, rows = [], []
        for head in range(heads):
            k, v = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            q = layer.query.weight[k] @ x + layer.query.bias[k]
            scores = []
            for s, m in enumerate(memory_SD):
                key = layer.key.weight[k] @ m + layer.key.bias[k]
                score = (
                    (torch.tanh(q + key) * layer.additive[head, 0, 0]).sum() if layer.score == "additive" else q @ key
                )
                if layer.relative is not None:
                    most, distance = layer.relative.distance, s - (t + len(memory_SD) - len(x_TD))
                    score = score + q @ layer.relative.key_RK[max(-most, min(most, distance)) + most]
                score = score / (math.sqrt(d_k) if layer.score == "scaled" else 1.0)
                scores.append(score if seen_TS[t, s] else torch.tensor(-math.inf))
            weights = torch.stack(scores).softmax(0)
            values = torch.stack([layer.value.weight[v] @ m + layer.value.bias[v] for m in memory_SD])
            parts.append(weights @ values)
            rows.append(weights)
        outputs.append(layer.output.weight @ torch.cat(parts) + layer.output.bias)
        all_weights.append(torch.stack(rows))
    return torch.stack(outputs), torch.stack(all_weights, dim=1)


KINDS = {
    "scaled": {},
    "unscaled": {"score": "unscaled"},
    "additive": {"score": "additive"},
    "relative": {"relative_distance": 2},
    "neighbours": {"neighbours": 4},
    "neighbours-additive": {"neighbours": 4, "score": "additive"},
    "additive-relative": {"score": "additive", "relative_distance": 2},
    "neighbours-relative": {"neighbours": 3, "relative_distance": 1},
    "only itself": {"neighbours": 1},
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_loop(kind: str, causal: bool) -> None:
    layer = MultiHeadAttention(12, 3, 5, 2, **KINDS[kind])
    x = torch.randn(2, 11, 12)
    there = torch.ones(2, 11, dtype=torch.bool)
    there[1, 8:] = False
    for weights, differentiated in ((False, False), (False, True), (True, True)):
        with torch.set_grad_enabled(differentiated):
            output, recorded = layer(layer.queries(x), layer.keys_values(x), there, causal=causal, weights=weights)
        assert (recorded is not None) == weights
        for b, length in enumerate((11, 8)):
            seen = visible(distances(11, 11), causal=causal, neighbours=layer.neighbours)
            expected, expected_weights = loop(layer, x[b, :length], x[b, :length], seen[:length, :length])
            torch.testing.assert_close(output[b, :length], expected, atol=1e-5, rtol=1e-5)
            if recorded is not None:
                torch.testing.assert_close(recorded[b, :, :length, :length], expected_weights, atol=1e-6, rtol=1e-5)
                assert not recorded[b, :, :length, length:].any(), "padding gets no weight"


@pytest.mark.parametrize("kind", KINDS)
def test_queries_at_the_end_of_the_memory(kind: str) -> None:
    """As in decoding with a cache: the last 3 of 9 positions ask."""
    layer = MultiHeadAttention(8, 2, 4, 4, **KINDS[kind])
    x = torch.randn(1, 9, 8)
    whole, _ = layer(layer.queries(x), layer.keys_values(x), causal=True)
    last, _ = layer(layer.queries(x[:, 6:], 6), layer.keys_values(x), causal=True)
    torch.testing.assert_close(last, whole[:, 6:], atol=1e-5, rtol=1e-5)


def test_rotary_scores_depend_on_distance_only() -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, rotary=True)
    x = torch.randn(1, 6, 8)
    here, _ = layer(layer.queries(x, 0), layer.keys_values(x, 0), causal=True)
    there, _ = layer(layer.queries(x, 700), layer.keys_values(x, 700), causal=True)
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("length", [9, SHORT + 1])
@pytest.mark.parametrize("kind", ["scaled", "neighbours", "additive"])
def test_fused_gradients_equal_the_equations(kind: str, length: int) -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, **KINDS[kind]).double()
    x = torch.randn(2, length, 8, dtype=torch.float64, requires_grad=True)
    there = torch.ones(2, length, dtype=torch.bool)
    there[0, 6:] = False
    gradients = []
    for weights in (False, True):
        output, _ = layer(layer.queries(x), layer.keys_values(x), there, weights=weights)
        gradients.append(torch.autograd.grad(output[there].square().sum(), [x, *layer.parameters()], allow_unused=True))
    for fast, slow in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, slow)


@pytest.mark.parametrize("keys", [1, NARROW - 1, NARROW, NARROW + 1, SHORT])
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "both"])
def test_attention_among_few_keys_equals_the_equation(keys: int, mask: str) -> None:
    queries = min(keys, 5)
    shapes = (3, 2, queries, 4), (3, 2, keys, 4), (3, 2, keys, 3)
    query, key, value = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    seen = visible(distances(queries, keys), causal=mask in ("causal", "both"), neighbours=0)
    if mask in ("padding", "both"):
        seen = seen & (torch.arange(keys) < torch.tensor([keys, max(1, keys // 2), 1])[:, None, None, None])
    expected, _ = attend(query @ key.mT * 0.7, value, seen)
    attended = short_attention.attention(query, key, value, None if mask == "none" else seen, 0.7)
    torch.testing.assert_close(attended, expected)
    inward = torch.randn_like(expected).transpose(1, 2).contiguous().transpose(1, 2)
    for ours, theirs in zip(
        *(torch.autograd.grad(output, (query, key, value), inward) for output in (attended, expected)), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_a_training_takes_the_short_way() -> None:
    """Few keys and a gradient; else torch's kernel, which does not hold the weights."""
    few, many = torch.randn(1, 1, SHORT, 4, requires_grad=True), torch.randn(1, 1, SHORT + 1, 4, requires_grad=True)
    assert short_attention.serves(many, few, few)
    assert not short_attention.serves(many, many, many)
    assert not short_attention.serves(few.detach(), few.detach(), few.detach())
    with torch.no_grad():
        assert not short_attention.serves(few, few, few)


@pytest.mark.parametrize("length", [9, SHORT + 1])
def test_under_autocast_a_cpu_attends_in_32_bits(length: int) -> None:
    layer = MultiHeadAttention(8, 2, 4, 4)
    x = torch.randn(2, length, 8)
    exact, _ = layer.attended(layer.queries(x), layer.keys_values(x), None)
    kept: list[Tensor] = []
    with (
        torch.autocast("cpu", torch.bfloat16),
        torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor),
    ):
        query, memory = layer.queries(x), layer.keys_values(x)
        kept.clear()
        output, _ = layer.attended(query, memory, None)
    assert query.dtype == torch.bfloat16
    assert kept and all(tensor.dtype == torch.float32 for tensor in kept if tensor.is_floating_point())
    torch.testing.assert_close(output.float(), exact, rtol=0.05, atol=0.02)


def test_a_query_that_sees_nothing_is_finite() -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, neighbours=2)
    x = torch.randn(1, 40, 8, requires_grad=True)
    there = torch.ones(1, 40, dtype=torch.bool)
    there[0, 5:] = False
    for weights in (False, True):
        output, _ = layer(layer.queries(x), layer.keys_values(x), there, weights=weights)
        output[there].sum().backward()
        assert output.isfinite().all()
        assert x.grad is not None and x.grad.isfinite().all()


def pass_through(neighbours: int, n: int) -> Callable[[], None]:
    """One forward and backward pass. Full attention is the equation as written, which holds n × n weights."""
    layer = MultiHeadAttention(16, 1, 16, 16, neighbours=neighbours)
    x = torch.randn(1, n, 16, requires_grad=True)

    def work() -> None:
        output, _ = layer(layer.queries(x), layer.keys_values(x), weights=not neighbours)
        output.sum().backward()

    return work


def test_restricted_attention_uses_at_most_a_tenth_of_the_memory(peak_bytes: PeakBytes) -> None:
    full, restricted = peak_bytes(pass_through(0, 8192)), peak_bytes(pass_through(64, 8192))
    assert full > 8192 * 8192 * 4
    assert restricted <= full / 10


def test_restricted_attention_grows_linearly(peak_bytes: PeakBytes) -> None:
    assert peak_bytes(pass_through(64, 8192)) < 2.2 * peak_bytes(pass_through(64, 4096))


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("rotary", [False, True])
def test_one_product_for_queries_keys_and_values(rows: int, rotary: bool) -> None:
    torch.manual_seed(3)
    layer = MultiHeadAttention(32, 4, 8, 6, rotary=rotary)
    for linear in (layer.query, layer.key, layer.value):
        torch.nn.init.normal_(linear.bias)
    x, mask = torch.randn(rows, 5, 32), torch.ones(rows, 5, dtype=torch.bool)

    def output() -> Tensor:
        with torch.no_grad():
            return layer.mix(x, mask)[0]

    wanted, before = output(), {name: weight.clone() for name, weight in layer.state_dict().items()}
    layer.lay_side_by_side()
    assert all(torch.equal(weight, before[name]) for name, weight in layer.state_dict().items())
    assert layer._one_matrix() is None, "where there are gradients, each has its own"
    with torch.no_grad():
        assert layer._one_matrix() is not None
    torch.testing.assert_close(output(), wanted)
    torch.testing.assert_close(layer.mix(x, mask)[0], wanted)

    with torch.no_grad():
        layer.value.weight.mul_(2.0)  # as an optimizer does
    torch.testing.assert_close(output(), layer.mix(x, mask)[0].detach())
    assert not torch.allclose(output(), wanted)
    layer.value.weight = torch.nn.Parameter(before["value.weight"])  # no longer beside the others
    torch.testing.assert_close(output(), wanted)
    with torch.no_grad():
        assert layer._one_matrix() is None
