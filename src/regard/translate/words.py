"""Which tokens make a word."""

from collections.abc import Sequence

Pairs = tuple[tuple[int, int], ...]
"""Numbers of words that belong together, in the source and in the target."""
MARK = "▁"  # what a piece begins with when a word does


def words(pieces: Sequence[str]) -> list[int]:
    """The number of the word that each piece belongs to."""
    numbers: list[int] = []
    for piece in pieces:
        begins = piece.startswith(MARK) or not numbers
        numbers.append((numbers[-1] if numbers else -1) + begins)
    return numbers
