"""The chunked loss against torch's own cross-entropy over whole logits, gradients too."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config.special_tokens import PAD
from regard.train.objective.loss import smoothed_cross_entropy


def plain(features: Tensor, projection: Tensor, expected: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Project everything, then torch's formula. The expected value."""
    logits = F.linear(features, projection).flatten(0, -2)
    options: dict[str, Any] = {"ignore_index": PAD, "reduction": "sum"}
    smoothed = F.cross_entropy(logits, expected.flatten(), label_smoothing=smoothing, **options)
    return smoothed, F.cross_entropy(logits, expected.flatten(), **options)


def example(*shape: int, D: int = 12, V: int = 37, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    features = torch.randn(*shape, D, dtype=dtype, requires_grad=True)
    projection = torch.randn(V, D, dtype=dtype, requires_grad=True)
    expected = torch.randint(1, V, shape)
    expected[..., -1] = PAD
    return features, projection, expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rows", [None, 1, 3, 7, 1000])
def test_equals_the_plain_formula(rows: int | None, smoothing: float, dtype: torch.dtype) -> None:
    features, projection, expected = example(5, 9, dtype=dtype)
    loss = smoothed_cross_entropy(features, projection, expected, smoothing, rows=rows)
    smoothed, nll = plain(features, projection, expected, smoothing)
    torch.testing.assert_close(loss.smoothed, smoothed, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss.nll, nll, rtol=1e-5, atol=1e-5)
    assert loss.tokens == 5 * 8
    assert not loss.nll.requires_grad
    scale = 1.7 / loss.tokens  # what follows the loss may scale it
    gradients = torch.autograd.grad(loss.smoothed * scale, [features, projection])
    for ours, theirs in zip(gradients, torch.autograd.grad(smoothed * scale, [features, projection]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert not gradients[0][:, -1].any(), "padding asks for nothing"


@pytest.mark.parametrize(("shape", "V"), [((1,), 5), ((2,), 4), ((3, 1), 10), ((1, 300), 1001)])
def test_odd_sizes(shape: tuple[int, ...], V: int) -> None:
    features, projection, expected = example(*shape, D=3, V=V)
    loss = smoothed_cross_entropy(features, projection, expected, 0.1)
    smoothed, nll = plain(features, projection, expected, 0.1)
    torch.testing.assert_close(loss.smoothed, smoothed, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss.nll, nll, rtol=1e-5, atol=1e-5)


def test_one_row_that_is_not_padding() -> None:
    features, projection, _ = example(1)
    loss = smoothed_cross_entropy(features, projection, torch.tensor([6]), 0.1)
    scores = projection @ features[0]
    wanted = scores.logsumexp(0) - 0.9 * scores[6] - 0.1 * scores.mean()
    torch.testing.assert_close(loss.smoothed, wanted)
    assert loss.tokens == 1


def test_all_padding() -> None:
    features, projection, expected = example(4, 6)
    loss = smoothed_cross_entropy(features, projection, torch.full_like(expected, PAD), 0.1)
    loss.smoothed.backward()
    assert loss.tokens == loss.smoothed.item() == loss.nll.item() == 0
    assert features.grad is not None and not features.grad.any()
    assert projection.grad is not None and not projection.grad.any()


@pytest.mark.parametrize("rows", [2, 50])
def test_gradcheck(rows: int) -> None:
    features, projection, expected = example(3, 2, D=3, V=6, dtype=torch.float64)

    def loss(features: Tensor, projection: Tensor) -> Tensor:
        return smoothed_cross_entropy(features, projection, expected, 0.1, rows=rows).smoothed

    assert torch.autograd.gradcheck(loss, (features, projection))


def test_gradients_only_where_they_are_wanted() -> None:
    features, projection, expected = example(4, 6)
    frozen = smoothed_cross_entropy(features, projection.detach(), expected, 0.1).smoothed
    node = frozen.grad_fn
    assert node is not None and [saved is None for saved in node.saved_tensors] == [False, True]  # type: ignore[attr-defined]
    wanted = torch.autograd.grad(plain(features, projection, expected, 0.1)[0], [features, projection])
    torch.testing.assert_close(torch.autograd.grad(frozen, features)[0], wanted[0], rtol=1e-5, atol=1e-5)
    only = smoothed_cross_entropy(features.detach(), projection, expected, 0.1).smoothed
    torch.testing.assert_close(torch.autograd.grad(only, projection)[0], wanted[1], rtol=1e-5, atol=1e-5)


def test_validation_does_no_gradient_work() -> None:
    features, projection, expected = example(4, 6)
    with torch.no_grad(), torch.profiler.profile() as profile:
        loss = smoothed_cross_entropy(features, projection, expected, 0.1)
    products = [event for event in profile.events() if event.name in ("aten::mm", "aten::addmm_")]
    assert len(products) == 1
    assert not loss.smoothed.requires_grad
    torch.testing.assert_close(loss.smoothed, plain(features, projection, expected, 0.1)[0].detach())


def test_autocast_computes_products_in_bfloat16_and_sums_in_float32() -> None:
    features, projection, expected = example(40, 9, V=300)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = smoothed_cross_entropy(features, projection, expected, 0.1)
        half = smoothed_cross_entropy(features.bfloat16(), projection, expected, 0.1)  # as a model under autocast gives
    smoothed, nll = plain(features, projection, expected, 0.1)
    assert loss.smoothed.dtype == loss.nll.dtype == half.smoothed.dtype == torch.float32
    torch.testing.assert_close(loss.smoothed, smoothed, rtol=1e-2, atol=0)
    torch.testing.assert_close(half.nll, nll, rtol=1e-2, atol=0)
    gradients = torch.autograd.grad(loss.smoothed, [features, projection])
    for ours, theirs in zip(gradients, torch.autograd.grad(smoothed, [features, projection]), strict=True):
        assert ours.dtype == torch.float32
        assert (ours - theirs).norm() < 0.02 * theirs.norm()
    assert torch.autograd.grad(half.smoothed, projection)[0].dtype == torch.float32


def test_large_scores_neither_overflow_nor_vanish() -> None:
    features, projection, expected = example(4, 6)
    loss = smoothed_cross_entropy(features * 300, projection, expected, 0.1)
    wanted = plain(features * 300, projection, expected, 0.1)
    torch.testing.assert_close(loss.smoothed, wanted[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss.nll, wanted[1], rtol=1e-5, atol=1e-5)


def test_what_is_not_a_number_is_seen() -> None:
    features, projection, expected = example(4, 6)
    features = features.detach().clone()
    features[2, 1, 0] = torch.nan
    loss = smoothed_cross_entropy(features.requires_grad_(), projection, expected, 0.1)
    assert loss.smoothed.isnan() and loss.nll.isnan()
    assert torch.autograd.grad(loss.smoothed, projection)[0].isnan().any()


def test_never_holds_all_scores(peak_bytes: Callable[[Callable[[], object]], int]) -> None:
    features, projection, expected = example(64, 64, D=8, V=4000)
    whole = 64 * 64 * 4000 * 4

    def in_chunks(rows: int | None) -> None:
        smoothed_cross_entropy(features, projection, expected, 0.1, rows=rows).smoothed.backward()

    def at_once() -> None:
        plain(features, projection, expected, 0.1)[0].backward()

    assert peak_bytes(at_once) > whole
    assert peak_bytes(lambda: in_chunks(64)) < whole / 20
    assert peak_bytes(lambda: in_chunks(None)) < whole / 2
