"""The number of subwords that suits an amount of text."""

import math
from collections import Counter

RESERVED = 260  # the reserved tokens and the bytes
LARGEST = 37_000  # the paper's, for 4.5 million pairs (section 5.1)
PIECES = 1.5  # subwords beyond single letters, per square root of the number of characters
COVERED = 0.9995  # of the characters; the others are spelled in bytes, as sentencepiece has it


def vocabulary_size(characters: Counter[str], scale: float = 1.0, tags: int = 0) -> int:
    """Return a size for a text with these characters: room for its letters, and for as many subwords as it can fill.

    A subword that occurs only a few times is never learned well, so a small text gets a small vocabulary. Subwords
    grow with the square root of the text: about 1,200 for 5,000 short pairs of English and French, 37,000 for the
    paper's English-German. `scale` is how many times larger the whole text is than what was counted.
    """
    total = sum(characters.values())
    return min(RESERVED + tags + _letters(characters) + round(PIECES * math.sqrt(scale * total)), LARGEST)


def _letters(characters: Counter[str]) -> int:
    """Return how many different characters make up all but the rare ones."""
    wanted, seen = COVERED * sum(characters.values()), 0
    for number, (_, count) in enumerate(characters.most_common(), start=1):
        seen += count
        if seen >= wanted:
            return number
    return len(characters)
