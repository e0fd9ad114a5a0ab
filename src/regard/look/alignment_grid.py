"""Draw a word alignment for a terminal: source words across, target words down, a dot for each aligned pair."""

import unicodedata
from collections.abc import Iterable, Sequence

DOT = "●"


def alignment_grid(source: Sequence[str], target: Sequence[str], pairs: Iterable[tuple[int, int]]) -> str:
    """Return the grid as lines of text; `pairs` are numbers of source and target words, from 0."""
    dots = set(pairs)
    margin = max(map(width, target), default=0)
    widths = [max(1, width(word)) for word in source]
    heads = (_filled(word, size) for word, size in zip(source, widths, strict=True))
    lines = [" ".join([" " * margin, *heads]).rstrip()]
    for row, word in enumerate(target):
        cells = (_filled(DOT if (n, row) in dots else "", size) for n, size in enumerate(widths))
        lines.append(" ".join([_filled(word, margin), *cells]).rstrip())
    return "\n".join(lines)


def width(text: str) -> int:
    """Return the terminal columns of a text: two for a wide character, none for a combining mark."""
    marks = ("Mn", "Me", "Cf")
    shown = (character for character in text if unicodedata.category(character) not in marks)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in shown)


def _filled(text: str, size: int) -> str:
    return text + " " * (size - width(text))
