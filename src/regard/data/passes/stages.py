"""The tasks of the worker processes of `regard prepare`: clean raw lines, learn subwords, encode clean lines.

Each is a callable value, so that it can be sent to another process, and depends on nothing but its fields.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.config.data import FilterConfig
from regard.data.passes.spool import Frame, read_frame
from regard.data.prepared import Ids, Integers
from regard.data.raw_pairs import LineSettings, RawChunk, parse_chunk
from regard.text.filters import EMPTY, PROTECTED, digest, reason_after, reason_before
from regard.text.formality import INTO_KOREAN, level_tag
from regard.text.normalise import Form, normalise
from regard.text.protected.reserved import agree, with_reserved
from regard.text.subwords import Subwords, WrongSize
from regard.text.symbols import Symbols
from regard.text.vocabularies import source_and_target
from regard.text.vocabulary_size import vocabulary_size
from regard.text.word_vocabulary import Words

Kept = NDArray[np.bool_] | None  # None: all
MOST_WORDS = 37_000  # default size of a vocabulary of words


class Cleaned(NamedTuple):
    """The kept pairs of a chunk, as they are spooled; the digests of all of them; the counts of dropped ones."""

    pairs: int
    source: bytes
    target: bytes
    digests: bytes
    dropped: Counter[str]


@dataclass(frozen=True)
class Clean:
    """Raw lines -> normalised, filtered pairs."""

    reading: LineSettings
    form: Form
    filters: FilterConfig
    tag: str
    """Pairs are equal only if their tags are."""
    protect: bool = False
    """Drop pairs whose addresses or placeholders differ."""

    def __call__(self, chunk: RawChunk) -> Cleaned:
        if not any(block.strip(b"\n") for block in chunk.blocks):  # blank lines, of which a file may have millions
            return Cleaned(0, b"", b"", b"", Counter({EMPTY: chunk.count}))
        sources, targets, dropped = parse_chunk(chunk, self.reading)
        form, filters = self.form, self.filters
        mark = f"{self.tag}\n" if self.tag else ""  # no text can begin with it
        good_sources, good_targets, digests = [], [], []
        for raw_source, raw_target in zip(sources, targets, strict=True):
            if why := reason_before(raw_source, raw_target, filters):
                dropped[why] += 1
                continue
            source, target = normalise(raw_source, form), normalise(raw_target, form)
            if why := reason_after(source, target, filters):
                dropped[why] += 1
                continue
            if self.protect and not agree(source, target):
                dropped[PROTECTED] += 1
                continue
            good_sources.append(source)
            good_targets.append(target)
            digests.append(digest(mark + source, target))
        source_block, target_block = "\n".join(good_sources).encode(), "\n".join(good_targets).encode()
        return Cleaned(len(digests), source_block, target_block, b"".join(digests), dropped)


class EncodeJob(NamedTuple):
    """Pairs to encode."""

    frame: Frame
    kept: Kept
    tag: str | None


class Encoded(NamedTuple):
    source: Ids
    target: Ids
    lengths_N2: Integers
    words: tuple[int, int]


@dataclass(frozen=True)
class Encode:
    """Clean pairs -> ids."""

    spool: Path
    vocabularies: Mapping[str, bytes]
    """By file name."""
    ids: Literal["uint16", "uint32"]
    speech_levels: bool = False
    """Add the speech level of the target to the tags of pairs into Korean."""
    protect: bool = False
    """Let reserved tokens stand for protected spans."""

    @cached_property
    def _subwords(self) -> tuple[Subwords, Subwords | Symbols]:
        """Load the vocabularies once, in the process that uses them."""
        return source_and_target(self.vocabularies)

    def __call__(self, job: EncodeJob) -> Encoded:
        texts = read_frame(self.spool, job.frame)
        source, target = texts if job.kept is None else (list(compress(side, job.kept)) for side in texts)
        if self.protect and source:
            source, target = (list(side) for side in zip(*map(with_reserved, source, target), strict=True))
        source_ids, source_lengths = self._encode(0, source)
        target_ids, target_lengths = self._encode(1, target)
        if job.tag is not None:
            tags = [self._tags(job.tag, *pair) for pair in zip(source, target, strict=True)]
            starts = np.repeat(np.cumsum(source_lengths) - source_lengths, [len(some) for some in tags])
            source_ids = np.insert(source_ids, starts, list(chain.from_iterable(tags))).astype(self.ids)
            source_lengths += np.array([len(some) for some in tags], dtype=np.int64)
        words = _words(source), _words(target)
        return Encoded(source_ids, target_ids, np.stack([source_lengths, target_lengths], axis=1), words)

    def _tags(self, tag: str, source: str, target: str) -> list[int]:
        """Return the ids of the tags of a pair."""
        if self.speech_levels and INTO_KOREAN in tag:
            tag = tag.replace(INTO_KOREAN, level_tag(source, target))
        return self._tag_ids(tag)

    @cached_property
    def _tag_ids(self) -> Callable[[str], list[int]]:
        return cache(self._subwords[0].tag_ids)

    def _encode(self, side: int, texts: list[str]) -> tuple[Ids, Integers]:
        lists = self._subwords[side].encode(texts)
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        return np.fromiter(chain.from_iterable(lists), dtype=self.ids, count=int(lengths.sum())), lengths


def _words(texts: list[str]) -> int:
    """Count the words separated by spaces; normalised text has single spaces, and none at its ends."""
    return "\n".join(texts).count(" ") + len(texts)


SampledRows = Sequence[tuple[Frame, Integers]]  # rows of frames


@dataclass(frozen=True)
class Learn:
    """Clean pairs -> subwords, as the bytes of their model."""

    spool: Path
    sides: tuple[int, ...]
    """0: sources. 1: targets."""
    size: int | None
    """None: chosen by the amount of text."""
    scale: float
    """The size of the whole text, divided by that of the sample."""
    kind: Literal["bpe", "unigram", "words"]
    tags: tuple[str, ...]

    def __call__(self, sample: SampledRows) -> bytes:
        if self.kind == "words":
            return Words.learn(self._sentences(sample), self.size or MOST_WORDS, self.tags).content
        if self.size is not None:
            return self._train(sample, self.size)
        characters = Counter[str]()
        for sentence in self._sentences(sample):
            characters.update(sentence)
        size = vocabulary_size(characters, self.scale, len(self.tags))
        try:
            return self._train(sample, size)
        except WrongSize as error:
            return self._train(sample, error.possible)

    def _train(self, sample: SampledRows, size: int) -> bytes:
        assert self.kind != "words"
        return Subwords.train(self._sentences(sample), size, kind=self.kind, tags=self.tags).content

    def _sentences(self, sample: SampledRows) -> Iterator[str]:
        for frame, rows in sample:
            texts = read_frame(self.spool, frame)
            for side in self.sides:
                yield from (texts[side][row] for row in rows)
