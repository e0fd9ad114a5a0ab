"""A banned word is not in an output, however it might be spelt."""

import re
from itertools import product

import pytest
import torch

from regard.search.banned import Banned

PIECES = [
    "",
    "",
    " ",
    " H",
    " Ha",
    " Haus",
    "H",
    "a",
    "u",
    "s",
    "us",
    "Haus",
    "-Haus",
    " -",
    "„",
    "tür",
    "é",
    "집",
    "e",
]
BYTES = ["é".encode()[:1], "é".encode()[1:], *(bytes([byte]) for byte in "집".encode())]
SPELLING = [piece.encode() for piece in PIECES] + BYTES


def spells(tokens: tuple[int, ...]) -> bytes:
    return b"".join(SPELLING[token] for token in tokens)


def holds(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}", text) is not None


@pytest.mark.parametrize("words", [("Haus",), ("us", "e"), ("aus Ha",), ("é",), ("집",), ("-Haus",), ("u", "Haus")])
def test_exactly_what_would_complete_a_word(words: tuple[str, ...]) -> None:
    """Of all outputs of up to 3 tokens, what may follow and what may not."""
    banned = Banned.of(SPELLING, words)
    refused = 0
    for tokens in product(range(1, len(SPELLING)), repeat=2):
        before = spells(tokens)
        if any(holds(before.decode("utf-8", "replace"), word) for word in words):
            continue
        logits_RV = torch.zeros(1, len(SPELLING))
        banned.forbid(logits_RV, torch.tensor([[1, *tokens]]))
        for token in range(len(SPELLING)):
            text = (before + SPELLING[token]).decode("utf-8", "replace")
            completes = any(holds(text, word) for word in words)
            assert bool(logits_RV[0, token] == -torch.inf) == completes, (before, SPELLING[token])
            refused += completes
    assert refused


def test_each_row_has_its_own() -> None:
    banned = Banned.of(SPELLING, ["Haus"])
    history_RT = torch.tensor([[1, PIECES.index(piece)] for piece in (" Ha", "„", "a")])
    logits_RV = torch.zeros(3, len(SPELLING))
    banned.forbid(logits_RV, history_RT)
    here = [{token for token in range(len(SPELLING)) if row[token] == -torch.inf} for row in logits_RV]
    always = {PIECES.index(" Haus"), PIECES.index("-Haus")}
    assert here == [always | {PIECES.index("us")}, always | {PIECES.index("Haus")}, always]


def test_a_word_does_not_begin_after_a_figure() -> None:
    banned = Banned.of([b"", b"Haus", b"3Haus", b"3-Haus"], ["Haus"])
    assert banned.after(b" 3") == banned.after(b" a") == []
    assert banned.after(b" 3-") == banned.after(b"") == [1]
    assert banned.always == (3,)
