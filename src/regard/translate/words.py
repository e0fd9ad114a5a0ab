"""Grouping of tokens into words."""

from collections.abc import Sequence

Pairs = tuple[tuple[int, int], ...]
"""Numbers of aligned words, in the source and in the target."""
MARK = "▁"  # begins the first piece of a word


def words(pieces: Sequence[str]) -> list[int]:
    """Return the number of the word that each piece belongs to."""
    numbers: list[int] = []
    for piece in pieces:
        begins = piece.startswith(MARK) or not numbers
        numbers.append((numbers[-1] if numbers else -1) + begins)
    return numbers
