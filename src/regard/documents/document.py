"""A file taken apart into what stays and the texts to translate, and put together again."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from regard.documents.segment import Piece, Segment, Translated, rebuild, segments

NEST = re.compile("\0(\\d+)\0")  # stands for the pieces of that number, inside of another text

Translate = Callable[[Sequence[Segment]], Sequence[Translated]]
"""What gives a translation for each segment, in order."""


@dataclass(frozen=True)
class Languages:
    """From which language a document is translated into which, as files name them; None if nobody knows."""

    source: str | None = None
    target: str | None = None


@dataclass
class Part:
    """A text of a document, such as a member of a package: pieces, and those that stand inside of a segment's marks."""

    name: str
    pieces: Sequence[Piece]
    nested: Sequence[Sequence[Piece]] = ()

    @property
    def segments(self) -> list[Segment]:
        return [segment for pieces in (self.pieces, *self.nested) for segment in segments(pieces)]

    def rebuilt(self, translations: Iterator[Translated]) -> str:
        outer, *inner = [
            rebuild(pieces, list(islice(translations, len(segments(pieces))))) for pieces in (self.pieces, *self.nested)
        ]
        return _filled(outer, inner)


def _filled(text: str, inner: Sequence[str]) -> str:
    """A text with what is nested in it. Only XML nests, which has no \\0 of its own."""
    return NEST.sub(lambda found: _filled(inner[int(found[1])], inner), text) if inner else text


@dataclass
class Document:
    """A document of any format, taken apart."""

    parts: Sequence[Part]
    whole: Callable[[Sequence[str]], bytes]
    """The file again, given its parts' texts."""
    kept: Counter[str] = field(default_factory=Counter)
    """How much was left untranslated, by kind."""

    @property
    def segments(self) -> list[Segment]:
        return [segment for part in self.parts for segment in part.segments]

    def rebuilt(self, translations: Sequence[Translated]) -> bytes:
        """The file with a translation for every segment."""
        following = iter(translations)
        texts = [part.rebuilt(following) for part in self.parts]
        assert next(following, None) is None, "every translation has its place"
        return self.whole(texts)
