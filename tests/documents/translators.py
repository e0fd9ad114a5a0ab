"""Stand-ins for a model: what a translator may do to a text, from nothing at all to anything."""

from collections.abc import Callable, Sequence

import pytest

from regard.documents.segment import Piece, Translated, rebuild, segments

Translate = Callable[[str], Translated]


def same(text: str) -> Translated:
    return Translated(text)


def nothing(text: str) -> Translated:
    return Translated("")


def backwards(text: str) -> Translated:
    words = text.split()
    return Translated(" ".join(reversed(words)), tuple((len(words) - 1 - at, at) for at in range(len(words))))


def longer(text: str) -> Translated:
    return Translated(f'“안녕 {text}” שלום <b> & *_`[x]` \n\n 1. --> e\u0301 👩\u200d👧 \\ " %s | end')


def one_word(text: str) -> Translated:
    return Translated("예", ((0, 0),))


def upper(text: str) -> Translated:
    return Translated(text.upper(), tuple((at, at) for at in range(len(text.split()))))


def wild(text: str) -> Translated:
    """An alignment that means nothing."""
    return Translated("x y z", ((7, 0), (0, 2), (3, 9)))


ALL = [same, nothing, backwards, longer, one_word, upper, wild]
every = pytest.mark.parametrize("translate", ALL, ids=lambda translate: translate.__name__)


def rebuilt(pieces: Sequence[Piece], translate: Translate) -> str:
    return rebuild(pieces, [translate(segment.text) for segment in segments(pieces)])


def texts(pieces: Sequence[Piece]) -> list[str]:
    return [segment.text for segment in segments(pieces)]
