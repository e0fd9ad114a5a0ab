"""Reader and writer of text files by paragraph. Lines wrapped at a width are joined, and wrapped there again."""

import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise

from regard.documents.segment import Item, Piece, divided

_PARAGRAPH = re.compile(r"^(?:[^\S\n]*+\S[^\n]*+\n?)+", re.MULTILINE)  # linear in time, whatever the text
_ITEM = re.compile(r"(?:[-*+•·>]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")  # of a list, or of a quotation
ENDS = (".", "!", "?", "…", "。", "！", "？", "؟", "।", ":")
NARROWEST = 40  # characters; shorter lines were broken by their author


def pieces(text: str) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for paragraph in _PARAGRAPH.finditer(text):
        found.append(text[at : paragraph.start()])
        found += _paragraph(paragraph[0])
        at = paragraph.end()
    return [*found, text[at:]]


def _paragraph(text: str) -> Iterator[Piece]:
    lines = text.splitlines(keepends=True) if "\r" in text else re.findall(r"[^\n]*\n|[^\n]+", text)
    width = _width([line.rstrip() for line in lines])
    if width is None:
        for line in lines:
            yield from divided([Item(line, "text", line)], str)
    else:
        yield from divided([Item(text, "text", text)], _wrapped(width, "\r\n" if "\r\n" in text else "\n"))


def _width(lines: list[str]) -> int | None:
    """Return the width at which lines were wrapped: no line had room for the next word. None if they were not."""
    width = max(map(len, lines))
    if (
        len(lines) < 2
        or width < NARROWEST
        or any(not line or line[0].isspace() or _ITEM.match(line) for line in lines[1:])
    ):
        return None
    full = (len(line) + 1 + len(after.split()[0]) > width for line, after in pairwise(lines))
    sentences = all(line.endswith(ENDS) for line in lines[:-1])  # each on a line of its own
    return width if all(full) and not sentences else None


def _wrapped(width: int, end: str) -> Callable[[str], str]:
    def wrapped(text: str) -> str:
        return end.join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))

    return wrapped
