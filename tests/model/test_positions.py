"""The sinusoids as the formula says, and what the paper says of them."""

import math

import pytest
import torch

from regard.errors import UserError
from regard.model.positions import LearnedPositions, Sinusoids, rotate, sinusoids
from regard.model.sinusoids import TABLE


@pytest.mark.parametrize("size", [512, 6, 7, 1])
def test_sinusoids_equal_the_formula(size: int) -> None:
    table = sinusoids(0, 600, size)
    for position in (0, 1, 3, 4, 500, 599):
        for dimension in range(size):
            angle = position / 10_000 ** ((dimension - dimension % 2) / size)
            expected = math.cos(angle) if dimension % 2 else math.sin(angle)
            assert table[position, dimension].item() == pytest.approx(expected, abs=1e-6)


def test_a_later_position_is_a_linear_map_of_an_earlier_one() -> None:
    """PE(pos + k) = M_k PE(pos) with M_k a rotation of each pair, the same for every pos (section 3.5)."""
    size, k = 64, 17
    table = sinusoids(0, 400, size).double()
    matrix = torch.zeros(size, size, dtype=torch.float64)
    for i in range(0, size, 2):
        angle = k / 10_000 ** (i / size)
        matrix[i : i + 2, i : i + 2] = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        )
    torch.testing.assert_close(table[k:], table[:-k] @ matrix.T, atol=1e-5, rtol=0)


def test_beyond_the_table_nothing_changes() -> None:
    module = Sinusoids(8)
    torch.testing.assert_close(module(TABLE - 2, TABLE + 3), sinusoids(TABLE - 2, TABLE + 3, 8))
    assert not module.state_dict(), "what a formula gives need not be saved"


def test_near_positions_are_more_alike_than_far_ones() -> None:
    table = sinusoids(0, 512, 512)
    assert table[3] @ table[4] > table[3] @ table[500]


def test_learned_positions_end() -> None:
    positions = LearnedPositions(4, 2)
    assert positions(1, 4).shape == (3, 2)
    with pytest.raises(UserError, match="5 tokens is longer than the 4 positions.*max_length"):
        positions(0, 5)


def test_rotation_keeps_lengths() -> None:
    x = torch.randn(2, 3, 5, 8)
    turned = rotate(x, sinusoids(10, 15, 8))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    for position in range(5):
        for i in range(0, 8, 2):
            angle = (10 + position) / 10_000 ** (i / 8)
            first = x[..., position, i] * math.cos(angle) - x[..., position, i + 1] * math.sin(angle)
            torch.testing.assert_close(turned[..., position, i], first)
