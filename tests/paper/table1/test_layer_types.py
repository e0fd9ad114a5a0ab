import math

import pytest
import torch

from regard.paper.table1.layer_types import D_K, NEIGHBOURS, TABLE, SeparableConvolution, mixing


@pytest.mark.parametrize("as_written", [False, True])
def test_self_attention_mixes_without_projections(as_written: bool) -> None:
    x = torch.randn(1, 12, 2 * D_K)
    expected = torch.cat(
        [(head @ head.mT / math.sqrt(D_K)).softmax(-1) @ head for head in x.split(D_K, dim=-1)], dim=-1
    )
    torch.testing.assert_close(mixing("self-attention", 2 * D_K, as_written=as_written).mix(x), expected)


@pytest.mark.parametrize("kind", TABLE)
def test_every_kind_gives_each_position_a_value(kind: str) -> None:
    for n in (1, 5, 200):
        assert mixing(kind, D_K).mix(torch.randn(2, n, D_K)).shape == (2, n, D_K)


def test_restricted_attention_sees_its_neighbours_only() -> None:
    mix = mixing("restricted", D_K).mix
    x = torch.randn(1, 300, D_K)
    changed = x.clone()
    changed[0, 150] += 1
    differs = (mix(x) != mix(changed)).any(-1)[0].nonzero()
    assert (int(differs.min()), int(differs.max())) == (150 - NEIGHBOURS // 2, 150 + NEIGHBOURS // 2)


@pytest.mark.parametrize("dilation", [None, 2])
def test_separable_convolution_by_plain_loops(dilation: int | None) -> None:
    """Each feature has its own three weights; then one matrix for every position. A dilated one looks back only."""
    n, d = 7, 4
    layer, x = SeparableConvolution(d, 3, dilation), torch.randn(1, n, d)
    shifts = (-1, 0, 1) if dilation is None else (-2 * dilation, -dilation, 0)
    filtered = torch.zeros(n, d)
    for at in range(n):
        for feature in range(d):
            filtered[at, feature] = layer.depthwise.bias[feature]  # type: ignore[index]
            for tap, shift in enumerate(shifts):
                if 0 <= at + shift < n:
                    filtered[at, feature] += layer.depthwise.weight[feature, 0, tap] * x[0, at + shift, feature]
    torch.testing.assert_close(layer(x)[0], filtered @ layer.pointwise.weight.T + layer.pointwise.bias)


def test_table_says_what_the_paper_says() -> None:
    assert {kind: (row.complexity, row.sequential, row.path) for kind, row in TABLE.items()} == {
        "self-attention": ("O(n²·d)", "O(1)", "O(1)"),
        "recurrent": ("O(n·d²)", "O(n)", "O(n)"),
        "convolutional": ("O(k·n·d²)", "O(1)", "O(log_k n)"),
        "separable": ("O(k·n·d + n·d²)", "O(1)", "O(log_k n)"),
        "restricted": ("O(r·n·d)", "O(1)", "O(n/r)"),
    }
    for row in TABLE.values():
        assert (f"n{'²' * (row.exponent_n == 2)}·d{'²' * (row.exponent_d == 2)})") in row.complexity
