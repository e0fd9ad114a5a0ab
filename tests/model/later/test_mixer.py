"""MLP-Mixer against plain loops."""

import pytest
import torch

from regard.errors import UserError
from regard.model.later.mixer import Mixer


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(6, 3), (1, 1), (9, 8)])
def test_each_channel_s_positions_pass_through_one_network(lengths: tuple[int, int]) -> None:
    torch.manual_seed(0)
    layer = Mixer(9, 5)
    layer.inner_bias_M1.normal_()
    layer.outer_bias_P1.normal_()
    x = torch.randn(2, lengths[0], 4)
    there = torch.arange(lengths[0]) < torch.tensor(lengths)[:, None]
    output, weights = layer.mix(x, there, weights=True)
    assert weights is None
    for b, length in enumerate(lengths):
        for d in range(4):
            inner = [
                sum(layer.inner_MP[m, s] * x[b, s, d] for s in range(length)) + layer.inner_bias_M1[m, 0]
                for m in range(5)
            ]
            active = torch.nn.functional.gelu(torch.stack([torch.as_tensor(one) for one in inner]))
            for s in range(length):
                expected = layer.outer_PM[s] @ active + layer.outer_bias_P1[s, 0]
                torch.testing.assert_close(output[b, s, d], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_longer_text_is_rejected_and_longer_padding_is_not() -> None:
    layer = Mixer(4, 3)
    x = torch.randn(1, 6, 2)
    short = torch.arange(6)[None] < 4
    torch.testing.assert_close(layer.mix(x, short)[0][:, :4], layer.mix(x[:, :4], short[:, :4])[0])
    with pytest.raises(UserError, match="longer than the 4 positions"):
        layer.mix(x, torch.ones(1, 6, dtype=torch.bool))
