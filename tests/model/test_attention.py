"""Attention against a plain loop written from the equations, and its faster forms against the equation."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention, attention
from regard.model.kernels import short_attention
from regard.model.kernels.short_attention import NARROW, SHORT
from regard.model.masks import distances, visible

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
                    (torch.tanh(q + key) * layer.additive[head, 0, 0]).sum() if layer.additive is not None else q @ key
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


KINDS: dict[str, dict[str, Any]] = {
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


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_at_the_end_of_the_memory(kind: str, differentiated: bool) -> None:
    """As in decoding with a cache: the last 3 of 9 positions ask."""
    layer = MultiHeadAttention(8, 2, 4, 4, **KINDS[kind])
    x = torch.randn(1, 9, 8)
    with torch.set_grad_enabled(differentiated):
        whole, _ = layer(layer.queries(x), layer.keys_values(x), causal=True)
        last, _ = layer(layer.queries(x[:, 6:], 6), layer.keys_values(x), causal=True)
    torch.testing.assert_close(last, whole[:, 6:], atol=1e-5, rtol=1e-5)


def test_rotary_scores_depend_on_distance_only() -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, rotary=True)
    x = torch.randn(1, 6, 8)
    here, _ = layer(layer.queries(x, 0), layer.keys_values(x, 0), causal=True)
    there, _ = layer(layer.queries(x, 700), layer.keys_values(x, 700), causal=True)
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [9, SHORT + 1])
@pytest.mark.parametrize("kind", ["scaled", "neighbours"])
def test_fast_gradients_equal_the_equations(kind: str, length: int, causal: bool) -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, **KINDS[kind]).double()
    x = torch.randn(2, length, 8, dtype=torch.float64, requires_grad=True)
    there = torch.ones(2, length, dtype=torch.bool)
    there[0, 6:] = False
    gradients = []
    for weights in (False, True):
        output, _ = layer(layer.queries(x), layer.keys_values(x), there, causal=causal, weights=weights)
        gradients.append(torch.autograd.grad(output[there].square().sum(), [x, *layer.parameters()], allow_unused=True))
    for fast, slow in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, slow)


def heads(queries: int, keys: int) -> tuple[Tensor, Tensor, Tensor]:
    shapes = (3, 2, queries, 4), (3, 2, keys, 4), (3, 2, keys, 3)
    query, key, value = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    return query, key, value


@pytest.mark.parametrize("mask", ["none", "causal", "padding", "both"])
@pytest.mark.parametrize("queries", [1, 5, SHORT])
@pytest.mark.parametrize("keys", [1, NARROW - 1, NARROW, NARROW + 1, SHORT])
def test_attention_within_few_positions_equals_the_equation(queries: int, keys: int, mask: str) -> None:
    if mask in ("causal", "both"):
        queries = min(queries, keys)  # which are the last of the keys
    query, key, value = heads(queries, keys)
    seen = visible(distances(queries, keys), causal=True, neighbours=0)
    there = (torch.arange(keys) < torch.tensor([keys, max(1, keys // 2), 1])[:, None])[:, None, None]
    given = {"none": None, "causal": seen, "padding": there, "both": there & seen}[mask]

    attended = short_attention.short_attention(query, key, value, given, 0.7)
    expected, _ = attention(query, key, value, torch.tensor(True) if given is None else given, 0.7)
    torch.testing.assert_close(attended, expected)

    inward = torch.randn_like(expected).transpose(1, 2).contiguous().transpose(1, 2)
    gradients = [torch.autograd.grad(output, (query, key, value), inward) for output in (attended, expected)]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("wanted", range(3), ids=["query", "key", "value"])
def test_only_what_is_wanted_has_a_gradient(wanted: int) -> None:
    inputs = heads(5, 7)
    whole = torch.autograd.grad(short_attention.short_attention(*inputs, None, 1.0).square().sum(), inputs)
    alone = [x.detach().requires_grad_(i == wanted) for i, x in enumerate(inputs)]
    short_attention.short_attention(alone[0], alone[1], alone[2], None, 1.0).square().sum().backward()
    for i, x in enumerate(alone):
        assert (x.grad is not None) == (i == wanted)
    torch.testing.assert_close(alone[wanted].grad, whole[wanted])


@pytest.mark.parametrize("shape", [(0, 2, 5, 4), (3, 2, 0, 4)], ids=["no-sentence", "no-query"])
def test_nobody_asks(shape: tuple[int, ...]) -> None:
    query = torch.randn(shape, requires_grad=True)
    key = torch.randn(shape[0], 2, 7, 4, requires_grad=True)
    output = short_attention.short_attention(query, key, key, None, 1.0)
    assert output.shape == shape
    output.sum().backward()
    assert key.grad is not None and not key.grad.any()


def test_a_sentence_without_tokens_is_finite() -> None:
    query, key, value = heads(5, 7)
    output = short_attention.short_attention(query, key, value, torch.zeros(3, 1, 1, 7, dtype=torch.bool), 1.0)
    gradients = torch.autograd.grad(output.square().sum(), (query, key, value))
    assert all(tensor.isfinite().all() for tensor in (output, *gradients))


def test_who_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few queries and keys, and a gradient; else torch's kernel, which does not hold the weights."""
    layer = MultiHeadAttention(8, 2, 4, 4)

    def short(keys: int) -> bool:
        x = torch.randn(1, keys, 8)
        attended, _ = layer.attend(layer.queries(x), layer.keys_values(x), causal=True)
        return attended.grad_fn is not None and "ShortAttention" in attended.grad_fn.name()

    assert short(SHORT)
    assert not short(SHORT + 1)
    with torch.no_grad():
        assert not short(SHORT)
    few = torch.randn(1, 1, 3, 4, requires_grad=True)
    assert short_attention.is_faster(few, few, few)
    assert not short_attention.is_faster(torch.randn(1, 1, SHORT + 1, 4), few, few)
    assert not short_attention.is_faster(*[few.bfloat16()] * 3)
    assert not short_attention.is_faster(*[few.to("meta")] * 3)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not short_attention.is_faster(few, few, few)


@pytest.mark.parametrize("length", [9, SHORT + 1])
def test_under_autocast_a_cpu_attends_in_32_bits(length: int) -> None:
    layer = MultiHeadAttention(8, 2, 4, 4)
    x = torch.randn(2, length, 8)
    exact, _ = layer.attend(layer.queries(x), layer.keys_values(x), None)
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with (
        torch.autocast("cpu", torch.bfloat16),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        query, memory = layer.queries(x), layer.keys_values(x)
        kept.clear()
        output, _ = layer.attend(query, memory, None)
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
    layer.side_by_side.move_together()
    assert all(torch.equal(weight, before[name]) for name, weight in layer.state_dict().items())
    assert layer.side_by_side(x) is None, "where there are gradients, each has its own"
    with torch.no_grad():
        assert layer.side_by_side(x) is not None
    torch.testing.assert_close(output(), wanted)
    torch.testing.assert_close(layer.mix(x, mask)[0], wanted)

    with torch.no_grad():
        layer.value.weight.mul_(2.0)  # as an optimizer does
    torch.testing.assert_close(output(), layer.mix(x, mask)[0].detach())
    assert not torch.allclose(output(), wanted)
    layer.value.weight = torch.nn.Parameter(before["value.weight"])  # no longer beside the others
    torch.testing.assert_close(output(), wanted)
    with torch.no_grad():
        assert layer.side_by_side(x) is None
