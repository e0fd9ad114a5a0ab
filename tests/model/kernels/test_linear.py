import copy
import pickle

import pytest
import torch
import torch.nn.functional as F

from regard.model.kernels import linear as kernels
from regard.model.kernels.linear import (
    FEW,
    FEWEST,
    LARGE,
    MANY,
    MIDDLING,
    Linear,
    Packed,
    linear,
    pack,
    training_linear,
)


@pytest.fixture(autouse=True, params=["torch", "onednn"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either library, whichever this processor would be given."""
    onednn = request.param == "onednn"
    if onednn and not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr("regard.model.kernels.linear._available", lambda: onednn)


@pytest.mark.parametrize("shape", [(MANY, 64), (2, MANY, 64), (3, 1, 64), (0, 64), (MANY - 1, 64)], ids=str)
def test_values_and_gradients_are_torchs(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = Linear(64, MIDDLING // 64)
    x = torch.randn(shape, requires_grad=True)
    weigh = torch.randn(*shape[:-1], MIDDLING // 64)
    found = layer(x)
    gradients = torch.autograd.grad((found * weigh).sum(), [x, layer.weight, layer.bias])
    expected = F.linear(x, layer.weight, layer.bias)
    wanted = torch.autograd.grad((expected * weigh).sum(), [x, layer.weight, layer.bias])
    for ours, theirs in zip((found, *gradients), (expected, *wanted), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-3)


def test_only_what_is_wanted_has_a_gradient() -> None:
    x, weight, bias = torch.randn(MANY, 64), torch.randn(1024, 64, requires_grad=True), torch.randn(1024)
    training_linear(x, weight, bias).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(1024, 64), rtol=1e-5, atol=1e-4)
    assert x.grad is None and bias.grad is None


@pytest.mark.parametrize("rows", [FEWEST, FEWEST + 1, FEW, FEW + 1])
def test_without_gradients(rows: int) -> None:
    x, weight = torch.randn(rows, 64), torch.randn(LARGE // 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(linear(x, weight), F.linear(x, weight), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 64), (FEWEST, 1, 64), (2, FEWEST // 2, 64), (0, 64)], ids=str)
@pytest.mark.parametrize("columns", [LARGE // 64, LARGE // 64 + 1], ids=["blocks", "no-blocks"])
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no-bias"])
def test_a_few_rows_times_a_large_matrix(shape: tuple[int, ...], columns: int, biased: bool) -> None:
    x, weight, bias = torch.randn(shape), torch.randn(columns, 64), torch.randn(columns) if biased else None
    with torch.no_grad():
        found = linear(x, weight, bias)
    torch.testing.assert_close(found, F.linear(x, weight, bias), rtol=1e-5, atol=1e-4)
    assert found.is_contiguous()


def copied(packed: Packed) -> bool:
    return packed._copy is not None


@pytest.mark.parametrize("rows", [1, 2, FEWEST, FEW, FEW + 1])
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no-bias"])
def test_a_packed_matrix_gives_the_same(rows: int, biased: bool) -> None:
    x, weight, bias = torch.randn(1, rows, 64), torch.randn(LARGE // 64, 64), torch.randn(LARGE // 64)
    packed = Packed()
    with torch.inference_mode():
        for _ in range(2):
            found = linear(x, weight, bias if biased else None, packed)
            torch.testing.assert_close(found, F.linear(x, weight, bias if biased else None), rtol=1e-5, atol=1e-4)
    assert copied(packed) == (kernels._available() and 1 < rows <= FEW), "where it is faster, and not elsewhere"
    with torch.inference_mode():
        torch.testing.assert_close(
            linear(x[:, :1], weight, None, packed), F.linear(x[:, :1], weight), atol=1e-4, rtol=0
        )


@pytest.mark.parametrize("change", ["in place", "another", "part of another"])
def test_a_changed_matrix_is_packed_again(change: str) -> None:
    layer = Linear(64, LARGE // 64)
    pack(layer)
    x = torch.randn(3, 64)
    with torch.no_grad():
        before = layer(x)
        if change == "in place":
            layer.weight.mul_(2)
        elif change == "another":
            layer.weight = torch.nn.Parameter(torch.randn_like(layer.weight))
        else:
            layer.weight.data = torch.randn(2, *layer.weight.shape)[1]
        found = layer(x)
        torch.testing.assert_close(found, F.linear(x, layer.weight, layer.bias), rtol=1e-5, atol=1e-4)
        assert not torch.allclose(found, before)


def test_a_copy_of_a_packed_layer_packs_its_own() -> None:
    layer = Linear(64, LARGE // 64)
    pack(layer)
    x = torch.randn(3, 64)
    with torch.no_grad():
        layer(x)
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert twin.packed is not None and not copied(twin.packed)
            twin.weight.mul_(2)
            expected = F.linear(x, twin.weight, twin.bias)
            torch.testing.assert_close(twin(x), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 3, FEW + 1])
def test_a_rounded_copy_is_near(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_multiplies_bf16", kernels._available)
    layer = Linear(64, LARGE // 64)
    layer.rounded = True
    pack(layer)
    x = torch.randn(rows, 64)
    with torch.no_grad():
        found, exact = layer(x), F.linear(x, layer.weight, layer.bias)
    assert found.dtype == torch.float32 and layer.packed is not None
    torch.testing.assert_close(found, exact, rtol=0.02, atol=0.02)
    assert copied(layer.packed) == (kernels._available() and rows <= FEW)
    assert torch.allclose(found, exact, rtol=1e-5, atol=1e-5) != copied(layer.packed), "it is rounded"
    assert copy.deepcopy(layer.packed).dtype == layer.packed.dtype


def test_the_error_of_a_rounded_copy_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that are all rounded down as far as can be come close to it; a changed matrix has a bound of its own."""
    monkeypatch.setattr(kernels, "_multiplies_bf16", kernels._available)
    x, weight = torch.full((3, 64), 1 + 0.999 * 2**-8), torch.full((LARGE // 64, 64), 1 + 0.999 * 2**-8)
    x[1] *= 2
    for rounded in (False, True):
        packed = Packed(rounded=rounded)
        for size in (1.0, 4.0):
            weight *= size
            with torch.no_grad():
                off = (linear(x, weight, None, packed) - F.linear(x, weight)).abs().amax(dim=1)
                bound = packed.error(x, weight)
            if rounded and kernels._available():
                assert (off <= bound).all() and (off > 0.6 * bound).all()
            else:
                assert (bound == 0).all() and (off < 1e-3).all()


def test_a_layer_in_training_packs_nothing() -> None:
    layer = Linear(64, LARGE // 64)
    pack(layer)
    layer(torch.randn(3, 64)).sum().backward()
    assert isinstance(layer.packed, Packed) and not copied(layer.packed) and layer.weight.grad is not None


def test_other_kinds_of_numbers() -> None:
    x, weight = torch.randn(MANY, 64, dtype=torch.float64), torch.randn(1024, 64, dtype=torch.float64)
    torch.testing.assert_close(linear(x, weight), x @ weight.T)
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x.float(), weight.float()).dtype == torch.bfloat16
