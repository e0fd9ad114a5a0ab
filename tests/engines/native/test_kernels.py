"""Every instruction set multiplies alike: int8 to the last bit of the sum, float32 within rounding."""

import ctypes
from typing import Any

import numpy as np
import pytest
from tests.engines.native.twin import linear

from regard.engines.native.library import ISAS, library

SHAPES = [(1, 16, 16), (2, 7, 5), (5, 33, 17), (6, 64, 256), (13, 100, 48), (29, 130, 31)]
SHAPES += [(2, 40, 64), (16, 33, 128), (37, 100, 192), (64, 48, 64)]  # whole blocks of 64 inputs, as AMX multiplies


def sets() -> list[str]:
    return [isa for isa in ISAS[1:] if library().regard_native_isa(isa.encode())]


FLOAT32, INT8, POSITIVE = range(3)  # the kinds of products; the last for rows without negative numbers


def product(isa: str, left: Any, right: Any, bias: Any, kind: int) -> Any:
    (rows, depth), columns = left.shape, len(right)
    out, seconds = np.empty((rows, columns), np.float32), ctypes.c_double()
    pointers = (array.ctypes.data for array in (right, bias))
    assert library().regard_native_product(
        isa.encode(), left.ctypes.data, rows, *pointers, columns, depth, kind, 1, out.ctypes.data, seconds
    )
    return out


def arrays(rows: int, columns: int, depth: int) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(rows)
    left, right = (generator.standard_normal((height, depth), np.float32) for height in (rows, columns))
    return left, right, generator.standard_normal(columns, np.float32)


@pytest.mark.parametrize("kind", [INT8, POSITIVE])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_int8_sums_are_exact(shape: tuple[int, int, int], kind: int) -> None:
    """Whole numbers up to 127 with one 127 in each row have scales of 1, so the sums come out as they are."""
    rows, columns, depth = shape
    generator = np.random.default_rng(columns)
    left, right = (generator.integers(-127, 128, (size, depth)).astype(np.float32) for size in (rows, columns))
    left[:, 0], right[:, -1] = 127, -127
    if kind == POSITIVE:
        left = np.abs(left)
    expected = left.astype(np.int64) @ right.astype(np.int64).T
    for isa in sets():
        np.testing.assert_array_equal(product(isa, left, right, np.zeros(columns, np.float32), kind), expected)


def test_int8_does_not_saturate() -> None:
    """The largest products there are, all of one sign, and of the other."""
    left, right = np.full((3, 512), 127, np.float32), np.full((20, 512), 127, np.float32)
    zero = np.zeros(20, np.float32)
    for isa in sets():
        for kind in (INT8, POSITIVE):
            assert (product(isa, left, right, zero, kind) == 512 * 127 * 127).all()
            assert (product(isa, left, -right, zero, kind) == -512 * 127 * 127).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_are_numpy_s(shape: tuple[int, int, int]) -> None:
    left, right, bias = arrays(*shape)
    for isa in sets():
        np.testing.assert_allclose(product(isa, left, right, bias, FLOAT32), left @ right.T + bias, atol=2e-4)
        np.testing.assert_allclose(product(isa, left, right, bias, INT8), linear(left, right, bias), atol=2e-4)
        above = np.abs(left)
        np.testing.assert_allclose(product(isa, above, right, bias, POSITIVE), linear(above, right, bias), atol=2e-4)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    left, right, bias = arrays(51, 200, 64)
    left = np.abs(left)
    for isa in sets():
        for kind in (FLOAT32, INT8, POSITIVE):
            whole = product(isa, left, right, bias, kind)
            for row in (0, 5, 31, 47, 50):
                alone = product(isa, left[row : row + 1].copy(), right, bias, kind)
                np.testing.assert_array_equal(alone[0], whole[row])
