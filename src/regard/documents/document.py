"""A file split into fixed parts and texts to translate, from which it can be rebuilt."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from regard.documents.segment import Piece, Segment, Translated, rebuild, segments

NEST = re.compile("\0(\\d+)\0")  # placeholder for the nested pieces of that number, inside another text

Translate = Callable[[Sequence[Segment]], Sequence[Translated]]
"""A function that returns a translation for each segment, in order."""


@dataclass(frozen=True)
class Languages:
    """The source and target languages of a document, as files name them; None if unknown."""

    source: str | None = None
    target: str | None = None


@dataclass
class Part:
    """A text of a document, such as a member of a package: its pieces, and the pieces nested inside segments' marks."""

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
    """Return a text with its placeholders filled. Only XML nests, which cannot contain \\0."""
    return NEST.sub(lambda found: _filled(inner[int(found[1])], inner), text) if inner else text


@dataclass
class Document:
    """A document of any format, split into parts."""

    parts: Sequence[Part]
    whole: Callable[[Sequence[str]], bytes]
    """A function that rebuilds the file from its parts' texts."""
    kept: Counter[str] = field(default_factory=Counter)
    """The amount of text left untranslated, by kind."""

    @property
    def segments(self) -> list[Segment]:
        return [segment for part in self.parts for segment in part.segments]

    def rebuilt(self, translations: Sequence[Translated]) -> bytes:
        """Return the file with a translation for every segment."""
        following = iter(translations)
        texts = [part.rebuilt(following) for part in self.parts]
        assert next(following, None) is None, "every translation has its place"
        return self.whole(texts)
