"""The decoder is shown the word whose turn it is."""

from typing import Any

import pytest
import torch

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.later.next_word import NextWord, NextWordTransformer, Turn

SMALL: dict[str, Any] = {
    "vocabulary": 12,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
}
SOURCE = torch.tensor([[4, 5, 6, 7, 8, EOS], [5, 6, 9, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 4, 5, 6, 8, 10], [BOS, 5, 7, 4, 9, 6]])


@pytest.fixture
def marked() -> NextWord:
    """Even tokens are words, in the source and in the target."""
    marked = NextWord(12, 12)
    for side in (marked.source_V, marked.target_V):
        side[4::2] = 1.0
    return marked


def test_the_first_token_of_each_word_and_then_eos(marked: NextWord) -> None:
    encoded_BSD = torch.arange(12.0).view(2, 6, 1)
    found = marked.memory(encoded_BSD, SOURCE, SOURCE != PAD).word_BND[:, :, 0].tolist()
    assert found == [[0, 2, 4, 5, 5, 5, 5], [7, 9, 9, 9, 9, 9, 9]]


def test_the_word_whose_turn_it_is_in_every_row(marked: NextWord) -> None:
    word_BND = torch.tensor([[[10.0], [11.0], [12.0]], [[20.0], [21.0], [22.0]]])
    target_RT = torch.tensor([[BOS, 4, 5], [BOS, 5, 5], [BOS, 4, 6], [6, 6, 8]])  # two rows for each source
    shown, turn = marked(Turn(word_BND, torch.tensor([0, 1, 0, 1])), target_RT)
    assert shown[:, :, 0].tolist() == [[10, 11, 11], [11, 11, 11], [20, 21, 22], [22, 22, 22]], "and the last stays"
    assert turn.written_R.tolist() == [1, 1, 2, 4]


def test_step_by_step_as_at_once_whatever_is_selected() -> None:
    torch.manual_seed(1)
    model = NextWordTransformer(model_config(**SMALL, next_word=True)).eval()
    plain = model.logits(model.features(SOURCE, TARGET))
    for side in (model.next_word.source_V, model.next_word.target_V):
        side[4::2] = 1.0
    at_once = model.logits(model.features(SOURCE, TARGET))
    assert not torch.allclose(at_once, plain, atol=1e-2)
    state = model.start(model.encode(SOURCE), 6)
    first, state = model.advance(TARGET[:, :3], state)
    assert torch.allclose(first, at_once[:, :3], atol=1e-5)
    for rows in ([0, 0, 1, 1], [1, 0, 3, 2], [2, 3]):  # beams, then others of each, then one source less
        state = state.select(torch.tensor(rows))
    for place in range(3, 6):
        step, state = model.advance(TARGET[[1, 1], place : place + 1], state)
        assert torch.allclose(step[:, 0], at_once[[1, 1], place], atol=1e-5)
