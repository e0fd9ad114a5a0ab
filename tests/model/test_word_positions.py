"""Positions that count words."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.config import BOS, EOS, PAD, ModelConfig
from regard.model.positions import WordPositions, sinusoids
from regard.model.transformer import Transformer

SMALL: dict[str, Any] = {
    "vocabulary": 12,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
}


@pytest.fixture
def counting() -> Transformer:
    """Even tokens begin words, in the source and in the target."""
    torch.manual_seed(1)
    model = Transformer(ModelConfig(**SMALL, positions="words")).eval()
    for embed in (model.embed_source, model.embed_target):
        assert isinstance(embed.positions, WordPositions)
        embed.positions.word_V.copy_(torch.arange(12) % 2 == 0)
        embed.positions.word_V[: EOS + 1] = 0.0
    return model


def test_half_of_a_vector_is_for_the_token_and_half_for_the_word() -> None:
    positions = WordPositions(12, 16, source=True)
    positions.word_V[[4, 6]] = 1.0
    table = sinusoids(0, 5, 8)
    found = positions(0, torch.tensor([[4, 5, 5, 6, EOS], [5, 4, 4, 4, EOS]]), None)
    assert torch.equal(found[..., :8], table.expand(2, 5, 8))
    assert torch.equal(found[..., 8:], table[torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 2, 2]])])


def test_a_token_of_the_target_has_the_number_of_the_next_word() -> None:
    positions = WordPositions(12, 16, source=False)
    positions.word_V[4] = 1.0
    table = sinusoids(0, 9, 8)
    found = positions(5, torch.tensor([[BOS, 4, 5, 4]]), torch.tensor([3]))
    assert torch.equal(found[0, :, :8], table[5:9])
    assert torch.equal(found[0, :, 8:], table[[3, 4, 4, 5]])


def test_step_by_step_as_at_once_whatever_is_selected(counting: Transformer) -> None:
    source_BS = torch.tensor([[4, 5, 6, 7, 8, EOS], [6, 7, 9, EOS, PAD, PAD]])
    target_BT = torch.tensor([[BOS, 4, 5, 6, 8, 10], [BOS, 5, 7, 4, 9, 11]])
    at_once: Tensor = counting.logits(counting.features(source_BS, target_BT))
    state = counting.start(counting.encode(source_BS), 6)
    first, state = counting.advance(target_BT[:, :3], state)
    assert torch.allclose(first, at_once[:, :3], atol=1e-5)
    rows = torch.tensor([1, 0])
    state = state.select(rows)
    for place in range(3, 6):
        step, state = counting.advance(target_BT[rows, place : place + 1], state)
        assert torch.allclose(step[:, 0], at_once[rows, place], atol=1e-5)


def test_words_make_a_difference_and_are_not_learned(counting: Transformer) -> None:
    source_BS, target_BT = torch.tensor([[4, 5, 6, EOS]]), torch.tensor([[BOS, 4, 5]])
    before = counting.features(source_BS, target_BT)
    counting.features(source_BS, target_BT).sum().backward()
    assert isinstance(counting.embed_source.positions, WordPositions)
    assert counting.embed_source.positions.word_V.grad is None
    counting.embed_source.positions.word_V[5] = 1.0
    assert not torch.allclose(before, counting.features(source_BS, target_BT), atol=1e-4)
