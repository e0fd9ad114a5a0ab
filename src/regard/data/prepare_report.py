"""Statistics of a run of `regard prepare`."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.config.checked import Frozen
from regard.config.special_tokens import UNK
from regard.text.filters import SPLIT_OFF

# The bins of a histogram: lengths up to 4, from 5 to 8, and so on; the last has no upper bound.
LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)


class SideReport(Frozen):
    """One language of a split."""

    tokens: int
    words: int
    """Words separated by spaces."""
    tokens_per_word: float
    unknown: int
    """UNK tokens; none in a vocabulary with byte fallback."""
    longest: int
    """Tokens of the longest text."""
    lengths: tuple[int, ...]
    """The number of texts with a length in each bin of the report's `length_bins`."""


class SplitReport(Frozen):
    """One training corpus, or the whole validation set. `read` is the sum of `kept` and `dropped`."""

    name: str
    files: tuple[tuple[str, ...], ...]
    read: int
    kept: int
    dropped: dict[str, int]
    """The number of dropped pairs by reason."""
    warnings: tuple[str, ...]
    source: SideReport
    target: SideReport


class Timings(Frozen):
    """Durations. Not written to the folder, whose bytes depend on nothing but the input."""

    reading: float
    """Seconds to read, normalise and filter."""
    learning: float
    """Seconds to learn the subwords."""
    encoding: float
    writing: float
    """Seconds to write everything to disk and compute checksums."""
    pairs_per_second: float
    """Pairs read, divided by the sum of these."""


class PrepareReport(Frozen):
    """The numbers of pairs read, kept, dropped and written."""

    source_vocabulary: int
    target_vocabulary: int
    length_bins: tuple[int, ...] = LENGTHS
    """The greatest length in each bin; one more bin has the longer ones."""
    train: tuple[SplitReport, ...]
    valid: SplitReport | None
    valid_in_train: int
    """Validation pairs that are also in the training data, which inflates scores."""
    timings: Timings | None = None


class SideCount:
    """Accumulator of a SideReport, chunk by chunk."""

    def __init__(self) -> None:
        self._words = self._unknown = self._tokens = self._longest = 0
        self._lengths = np.zeros(len(LENGTHS) + 1, dtype=np.int64)

    def add(self, words: int, ids: NDArray[np.unsignedinteger], lengths: NDArray[np.int64]) -> None:
        self._words += words
        self._unknown += int(np.count_nonzero(ids == UNK))
        self._tokens += len(ids)
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._lengths += np.bincount(np.searchsorted(LENGTHS, lengths), minlength=len(LENGTHS) + 1)

    def total(self) -> SideReport:
        return SideReport(
            tokens=self._tokens,
            words=self._words,
            tokens_per_word=round(self._tokens / max(self._words, 1), 4),
            unknown=self._unknown,
            longest=self._longest,
            lengths=tuple(self._lengths.tolist()),
        )


def in_words(dropped: Counter[str] | dict[str, int]) -> str:
    """Format counts by reason: {"empty": 2, "too long": 1} -> `2 empty, 1 too long`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items()) if count) or "none"


def total_read(splits: Sequence[SplitReport | None]) -> int:
    return sum(split.read for split in splits if split is not None)


def as_text(report: PrepareReport, *, bar: str, chosen: bool) -> str:
    """Format the report as text; `bar` draws the histogram, `chosen`: the vocabulary's size was not given."""
    how = "; chosen by the amount of text, --vocabulary sets another" if chosen else ""
    splits = [*report.train, *([report.valid] if report.valid else [])]
    lines = [line for split in splits for line in _split_text(split)]
    lines += ["", "tokens of a training text, and how many have them", *_histogram(report, bar), ""]
    lines.append(f"vocabulary  {report.source_vocabulary:,} source, {report.target_vocabulary:,} target{how}")
    if report.valid_in_train:
        lines.append(f"warning     {report.valid_in_train:,} validation pairs are also in the training data")
    if report.timings:
        times = report.timings
        lines.append(
            f"time        {times.reading:.1f} s reading, {times.learning:.1f} s learning subwords, "
            f"{times.encoding:.1f} s encoding, {times.writing:.1f} s writing; {times.pairs_per_second:,.0f} pairs/s"
        )
    return "\n".join(lines)


def _split_text(split: SplitReport) -> list[str]:
    names = "; ".join(" ".join(files) for files in split.files)
    lines = [f"{split.name:<12}{names}", f"  pairs     {split.read:,} read, {split.kept:,} kept"]
    dropped = {reason: count for reason, count in split.dropped.items() if reason != SPLIT_OFF}
    if dropped:
        lines.append(f"  dropped   {in_words(dropped)}")
    if off := split.dropped.get(SPLIT_OFF):
        lines.append(f"  split off {off:,} for validation, with all pairs of their source sentences; see --valid-pairs")
    lines += [f"  warning   {warning}" for warning in split.warnings]
    for name, side in (("source", split.source), ("target", split.target)):
        lines.append(
            f"  {name:<10}{side.tokens:,} tokens, {side.tokens_per_word:.2f} a word, "
            f"longest {side.longest:,}, {side.unknown:,} unknown"
        )
    return lines


def _histogram(report: PrepareReport, bar: str) -> list[str]:
    """Return a row with a proportional bar for each nonempty bin."""
    sides = [[split.source.lengths for split in report.train], [split.target.lengths for split in report.train]]
    source, target = ([sum(counts) for counts in zip(*side, strict=True)] for side in sides)
    largest = max(*source, *target)
    edges = [0, *report.length_bins]
    names = [f"{low + 1}-{high}" for low, high in pairwise(edges)] + [f"over {edges[-1]}"]
    head = f"  {'':>9}{'source':>12} {'':<20}{'target':>12}"
    return [head] + [
        f"  {name:>9}" + "".join(f"{count:>12,} {bar * round(20 * count / largest):<20}" for count in counts).rstrip()
        for name, *counts in zip(names, source, target, strict=True)
        if any(counts)
    ]
