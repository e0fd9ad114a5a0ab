"""What `regard prepare` did, in numbers."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.config.checked import Frozen
from regard.config.special_tokens import UNK

# A histogram's bins: lengths up to 4, from 5 to 8, and so on; the last has no end.
LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)


class Side(Frozen):
    """One language of a split."""

    tokens: int
    words: int
    """What stands between spaces."""
    tokens_per_word: float
    unknown: int
    """Tokens for what the vocabulary can't spell; with bytes in it, none."""
    longest: int
    """Tokens of the longest text."""
    lengths: tuple[int, ...]
    """How many texts have a number of tokens in each bin of the report's `length_bins`."""


class SplitReport(Frozen):
    """One training corpus, or the whole validation set. `read` is `kept` and all that was dropped."""

    name: str
    files: tuple[tuple[str, ...], ...]
    read: int
    kept: int
    dropped: dict[str, int]
    """How many pairs were left out, by reason."""
    warnings: tuple[str, ...]
    source: Side
    target: Side


class Timings(Frozen):
    """How long it took. Not written to the folder, whose bytes depend on nothing but the input."""

    reading: float
    """Seconds to read, normalise and filter."""
    learning: float
    """Seconds to learn the subwords."""
    encoding: float
    writing: float
    """Seconds to bring all to disk and to checksum it."""
    pairs_per_second: float
    """Pairs read, over all of these."""


class Report(Frozen):
    """What was read, kept, dropped and written."""

    source_vocabulary: int
    target_vocabulary: int
    length_bins: tuple[int, ...] = LENGTHS
    """The greatest length in each bin; one more bin has the rest."""
    train: tuple[SplitReport, ...]
    valid: SplitReport | None
    valid_in_train: int
    """Validation pairs that are also in the training data, which flatters a model."""
    timings: Timings | None = None


class SideCount:
    """Adds up a Side, chunk by chunk."""

    def __init__(self) -> None:
        self._words = self._unknown = self._tokens = self._longest = 0
        self._lengths = np.zeros(len(LENGTHS) + 1, dtype=np.int64)

    def add(self, words: int, ids: NDArray[np.unsignedinteger], lengths: NDArray[np.int64]) -> None:
        self._words += words
        self._unknown += int(np.count_nonzero(ids == UNK))
        self._tokens += len(ids)
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._lengths += np.bincount(np.searchsorted(LENGTHS, lengths), minlength=len(LENGTHS) + 1)

    def total(self) -> Side:
        return Side(
            tokens=self._tokens,
            words=self._words,
            tokens_per_word=round(self._tokens / max(self._words, 1), 4),
            unknown=self._unknown,
            longest=self._longest,
            lengths=tuple(self._lengths.tolist()),
        )


def in_words(dropped: Counter[str] | dict[str, int]) -> str:
    """{"empty": 2, "too long": 1} -> `2 empty, 1 too long`"""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items()) if count) or "none"


def total_read(splits: Sequence[SplitReport | None]) -> int:
    return sum(split.read for split in splits if split is not None)
