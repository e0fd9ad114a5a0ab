"""Linformer against a plain loop, and against full attention where its rank is full."""

import math

import pytest
import torch
from torch import Tensor

from regard.errors import UserError
from regard.model.attention import MultiHeadAttention
from regard.model.later.linformer import Linformer


def loop(layer: Linformer, x_SD: Tensor) -> Tensor:
    """One head, one mixture, one position at a time. The expected value."""
    d_k, d_v = layer.query.out_features // layer.heads, layer.value.out_features // layer.heads
    rank = len(layer.mix_keys_RL)
    outputs = []
    for x in x_SD:
        parts = []
        for head in range(layer.heads):
            k, v = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            keys, values = [torch.zeros(d_k) for _ in range(rank)], [torch.zeros(d_v) for _ in range(rank)]
            for r in range(rank):
                for s, other in enumerate(x_SD):
                    keys[r] += layer.mix_keys_RL[r, s] * layer.key(other)[k]
                    values[r] += layer.mix_values_RL[r, s] * layer.value(other)[v]
            powers = [math.exp(float(layer.query(x)[k] @ key) / math.sqrt(d_k)) for key in keys]
            parts.append(torch.stack([p / sum(powers) * value for p, value in zip(powers, values, strict=True)]).sum(0))
        outputs.append(layer.output(torch.cat(parts)))
    return torch.stack(outputs)


@torch.no_grad()
def test_equals_the_loop() -> None:
    torch.manual_seed(0)
    layer = Linformer(12, 3, 5, 2, rank=4, max_length=20)
    x = torch.randn(3, 11, 12)
    there = torch.arange(11) < torch.tensor([[11], [7], [1]])
    output, weights = layer.mix(x, there, weights=True)
    assert weights is None
    for b, length in enumerate((11, 7, 1)):
        torch.testing.assert_close(output[b, :length], loop(layer, x[b, :length]), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_full_rank_is_full_attention() -> None:
    full = MultiHeadAttention(12, 3, 5, 2)
    layer = Linformer(12, 3, 5, 2, rank=11, max_length=11)
    layer.load_state_dict(full.state_dict(), strict=False)
    for matrix in (layer.mix_keys_RL, layer.mix_values_RL):
        matrix.copy_(torch.eye(11))
    x, there = torch.randn(2, 11, 12), torch.ones(2, 11, dtype=torch.bool)
    torch.testing.assert_close(layer.mix(x, there)[0], full.mix(x, there)[0], atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_what_stands_in_the_padding_does_not_leak() -> None:
    layer = Linformer(8, 2, 4, 4, rank=3, max_length=9)
    x = torch.randn(1, 9, 8)
    there = torch.arange(9)[None] < 5
    other = torch.where(there[..., None], x, torch.tensor(1e6))
    assert torch.equal(layer.mix(x, there)[0][there], layer.mix(other, there)[0][there])


def test_a_longer_text_than_it_can_mix_is_refused() -> None:
    layer = Linformer(8, 2, 4, 4, rank=3, max_length=9)
    with pytest.raises(UserError, match="a text of 10 tokens is longer than the 9 positions"):
        layer.mix(torch.zeros(1, 10, 8), torch.ones(1, 10, dtype=torch.bool))
