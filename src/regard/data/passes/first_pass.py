"""The first pass: read corpora, normalise, filter, find duplicates, and spool the cleaned pairs."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.config.data import CorpusConfig, FilterConfig, PrepareConfig
from regard.data.corpus import Corpus
from regard.data.lines import shown
from regard.data.passes.spool import Frame, Spool
from regard.data.passes.stages import Clean, Kept
from regard.data.passes.workers import Workers
from regard.data.prepare_report import in_words
from regard.data.raw_pairs import LineSettings, RawChunk, parse_chunk
from regard.data.spans import PlainText
from regard.data.treebank import Treebank
from regard.errors import UserError
from regard.text.filters import DUPLICATE, Duplicates

PrepareProgress = Callable[[str, int, int | None], None]
"""progress(phase, done, total): done and total in bytes or pairs; total is None if unknown."""

# A validation set stays as it is: only lines that are not a pair are left out.
_NO_FILTERS = FilterConfig(max_characters=1 << 30, max_ratio=None, identical=True, duplicates=True)


@dataclass
class SpooledText:
    """A corpus in the spool, with the counts of its pairs."""

    config: CorpusConfig
    frames: list[Frame] = field(default_factory=list)
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    repeated: bytes | bytearray | None = None
    """A bit for each pair of all corpora, the lowest first; set for a repeated pair."""
    first: int = 0
    """The number of its first bit."""

    def count(self) -> int:
        """Return the number of kept pairs."""
        return self.read - self.dropped.total()

    def parts(self) -> Iterator[tuple[Frame, Kept]]:
        """Yield each frame, and which of its pairs are not repeated."""
        start = self.first
        for frame in self.frames:
            end = start + frame.count
            yield frame, None if self.repeated is None else _unset(self.repeated, start, end)
            start = end


def _unset(bits: bytes | bytearray, start: int, end: int) -> Kept:
    """Return which bits of a range are not set; None if all."""
    some = np.frombuffer(bits, dtype=np.uint8, offset=start // 8, count=(end + 7) // 8 - start // 8)
    kept = np.unpackbits(some, bitorder="little")[start % 8 :][: end - start] == 0
    return None if kept.all() else kept


@dataclass(frozen=True)
class SpooledTexts:
    """All corpora that were read."""

    spool: Path
    train: list[SpooledText]
    valid: list[SpooledText]
    valid_in_train: int


def first_pass(
    train: Sequence[CorpusConfig],
    valid: Sequence[CorpusConfig],
    config: PrepareConfig,
    *,
    scratch: Path,
    raw: Path,
    workers: Workers,
    progress: PrepareProgress,
) -> SpooledTexts:
    """Read all corpora. The validation set comes first, so that its pairs are known when they occur in training.

    Its raw texts are also written to `raw`, so that translations of them can be evaluated.
    """
    corpora = [_opened(corpus, config) for corpus in [*valid, *train]]
    spool, duplicates, overlap = Spool(scratch / "pairs"), Duplicates(scratch), _Overlap()
    total = sum(corpus.size for corpus in corpora) if all(corpus.size for corpus in corpora) else None

    def read(
        corpus: Corpus, chunks: Iterator[RawChunk], filters: FilterConfig, see: Callable[[bytes], None]
    ) -> SpooledText:
        text = SpooledText(corpus.config)
        drops = config.protect and filters is not _NO_FILTERS
        clean = Clean(corpus.reading, config.form, filters, corpus.config.tag or "", protect=drops)
        for cleaned in workers.map(clean, chunks):
            if cleaned.pairs:
                text.frames.append(spool.add(cleaned.source, cleaned.target, cleaned.pairs))
            text.read += cleaned.pairs + cleaned.dropped.total()
            text.dropped += cleaned.dropped
            see(cleaned.digests)
            progress("reading", sum(other.position for other in corpora), total)
        text.read += corpus.dropped.total()
        text.dropped += corpus.dropped
        text.warnings += corpus.warnings
        return text

    def see_training(digests: bytes) -> None:
        overlap.add_train(digests)
        if not config.filters.duplicates:
            duplicates.extend(digests)

    with closing(spool):
        valid_texts = [
            read(corpus, _written(corpus, raw), _NO_FILTERS, overlap.add_valid) for corpus in corpora[: len(valid)]
        ]
        filters = config.filters
        if config.task == "labels":  # a label is shorter than its text, and may be the same
            filters = filters.model_copy(update={"max_ratio": None, "identical": True})
        train_texts = [read(corpus, corpus.chunks(), filters, see_training) for corpus in corpora[len(valid) :]]
    if not config.filters.duplicates:
        _drop_repeated(train_texts, duplicates)
    for text in valid_texts + train_texts:
        _check_not_empty(text)
    return SpooledTexts(spool.path, train_texts, valid_texts, overlap.found)


def _written(corpus: Corpus, raw: Path) -> Iterator[RawChunk]:
    """Yield the corpus's chunks, and append their pairs, blank ones too, to `raw`, one JSON object a line."""
    with raw.open("a", encoding="ascii") as file:  # with escapes: JSON may contain what UTF-8 can't
        for chunk in corpus.chunks():
            sources, targets, _ = parse_chunk(chunk, corpus.reading)
            for source, target in zip(sources, targets, strict=True):
                pair = {"source": source, "target": target, "tag": corpus.config.tag}
                file.write(json.dumps(pair) + "\n")
            yield chunk


def _opened(corpus: CorpusConfig, config: PrepareConfig) -> Corpus:
    if config.task == "parsing":
        return Treebank(corpus, config)
    if config.task == "denoise":
        return PlainText(corpus, config)
    reading = LineSettings(corpus.files, config.source_language, config.target_language, config.skip_invalid)
    return Corpus(corpus, reading)


def _drop_repeated(texts: list[SpooledText], duplicates: Duplicates) -> None:
    found = duplicates.repeated()
    start = 0
    for text in texts:
        text.repeated, text.first = found.bits, start
        kept = sum(frame.count if some is None else int(some.sum()) for frame, some in text.parts())
        text.dropped[DUPLICATE] += text.count() - kept
        start += sum(frame.count for frame in text.frames)


def _check_not_empty(text: SpooledText) -> None:
    if not text.count():
        names = " and ".join(map(shown, text.config.files))
        raise UserError(
            f"{names}: no pair is left of {text.read} read; dropped: {in_words(text.dropped)}; "
            "check that these are the files you meant, or filter less"
        )


class _Overlap:
    """Counter of the validation pairs that are also in the training data."""

    def __init__(self) -> None:
        self.found = 0
        self._valid: Counter[bytes] = Counter()

    def add_valid(self, digests: bytes) -> None:
        self._valid.update(digests[start : start + 16] for start in range(0, len(digests), 16))

    @cached_property
    def _halves(self) -> NDArray[np.uint64]:
        """The first halves of all validation digests, known when the first training pairs come."""
        return np.unique(np.frombuffer(b"".join(self._valid), dtype=np.uint64)[::2])

    def add_train(self, digests: bytes) -> None:
        """Compare by half a digest, which is fast, and confirm matches by the whole."""
        halves = np.frombuffer(digests, dtype=np.uint64)[::2]
        for place in np.flatnonzero(np.isin(halves, self._halves)).tolist():
            self.found += self._valid.pop(digests[16 * place : 16 * place + 16], 0)
