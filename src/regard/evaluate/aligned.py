"""Reading of text files that are aligned line by line."""

from collections.abc import Sequence
from itertools import islice

from regard.data.lines import shown, text_lines
from regard.errors import UserError

MOST_LINES = 10_000_000  # all are in memory; the largest test sets have some thousands


def read_aligned(names: Sequence[str]) -> list[list[str]]:
    """Return the lines of files that must have equally many."""
    texts = [_lines(name) for name in names]
    for name, lines in zip(names[1:], texts[1:], strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{shown(names[0])} has {len(texts[0])} lines and {shown(name)} has {len(lines)}, but each line must "
                "belong to the same line of the other; mend them"
            )
    return texts


def _lines(name: str) -> list[str]:
    lines = list(islice(text_lines(name), MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        raise UserError(f"{shown(name)}: more than {MOST_LINES:,} lines; measure a part of them")
    return lines
