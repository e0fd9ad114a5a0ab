"""The second pass: learn subwords from the spooled pairs, and encode them as ids in shards."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.config.data import PrepareConfig
from regard.config.task import SYMBOLIC
from regard.data.passes.first_pass import PrepareProgress, SpooledText, SpooledTexts
from regard.data.passes.grow import grown
from regard.data.passes.lexicon import lexicon
from regard.data.passes.spool import Frame, read_frame
from regard.data.passes.stages import Encode, EncodeJob, Learn
from regard.data.passes.workers import Workers, alone
from regard.data.prepare_report import SideCount, SplitReport
from regard.data.prepared import Integers, SplitDescription, SplitWriter, id_type, load_vocabularies
from regard.errors import UserError
from regard.text.protected.reserved import TOKENS
from regard.text.subwords import Subwords
from regard.text.symbols import Symbols
from regard.text.vocabularies import vocabulary, vocabulary_files
from regard.text.word_vocabulary import Words


def learn(texts: SpooledTexts, config: PrepareConfig) -> tuple[Subwords, Subwords | Symbols]:
    """Learn subwords from a sample of the training pairs, for both sides together or for each, or load the given ones.

    The target of a parser has a symbol for each bracket and tag of all training trees instead.
    """
    if config.subwords_from is not None:
        source, target = take(Path(config.subwords_from), config)
        if config.grow is not None:
            source, target = _grown(texts, config, source, target)
        if config.task == "labels" and not isinstance(target, Symbols):
            target = _symbols(texts, config)
    else:
        sample = list(_sample(texts.train, config.sample, config.seed))
        apart = not config.shared or config.task in SYMBOLIC
        source = _subwords(texts, sample, config, (0,) if apart else (0, 1))
        if isinstance(source, Words):
            source = _with_dictionary(texts, sample, source)
        target = source
        if config.task in SYMBOLIC:
            target = _symbols(texts, config)
        elif apart:
            target = _subwords(texts, sample, config, (1,))
    if isinstance(target, Symbols):
        _tell_unknown(texts, target)
    return source, target


def take(folder: Path, config: PrepareConfig) -> tuple[Subwords, Subwords | Symbols]:
    """Load the subwords of a model or of prepared data, so that new data is compatible with it."""
    source, target = load_vocabularies(folder)
    if config.task != "labels" and isinstance(target, Symbols) != (config.task == "parsing"):
        raise UserError(f"{folder}: its vocabularies are not for {config.task}; name another folder, or another --task")
    return source, target


def _grown(
    texts: SpooledTexts, config: PrepareConfig, source: Subwords, target: Subwords | Symbols
) -> tuple[Subwords, Subwords]:
    """Return the subwords with more, learned from a sample of the training pairs."""
    if isinstance(target, Symbols):
        raise UserError("--grow is for translation: the symbols of trees are those of the training trees; leave it out")

    def sentences(sides: tuple[int, ...]) -> Iterator[str]:
        for frame, rows in _sample(texts.train, config.sample, config.seed):
            both = read_frame(texts.spool, frame)
            yield from (both[side][row] for side in sides for row in rows)

    assert config.grow is not None
    reserved = TOKENS if config.protect else ()
    if source is target:
        source = target = grown(source, sentences((0, 1)), config.grow, (*config.tags, *reserved))
        return source, target
    new = grown(source, sentences((0,)), config.grow, (*config.tags, *reserved))
    return new, grown(target, sentences((1,)), config.grow, reserved)


def _symbols(texts: SpooledTexts, config: PrepareConfig) -> Symbols:
    """Return the symbols of all training trees, or the labels of all training texts."""
    if config.task == "labels":
        spaced = next((label for label in _targets(texts, [*texts.train, *texts.valid]) if " " in label), None)
        if spaced is not None:
            raise UserError(f"the label {spaced[:60]!r} has a space in it; write labels as one word, such as very-good")
    return Symbols.learn(_targets(texts, texts.train), config.task)


def _subwords(
    texts: SpooledTexts, sample: list[tuple[Frame, Integers]], config: PrepareConfig, sides: tuple[int, ...]
) -> Subwords:
    kind = "words" if config.vocabulary_kind == "words" else config.subwords
    scale = sum(text.count() for text in texts.train) / sum(len(rows) for _, rows in sample)
    tags = (*config.tags, *(TOKENS if config.protect else ()))
    task = Learn(texts.spool, sides, config.vocabulary, scale, kind, tags)
    return vocabulary(alone(task, sample), "subwords")


def _with_dictionary(texts: SpooledTexts, sample: list[tuple[Frame, Integers]], source: Words) -> Words:
    """Return the vocabulary of sources with a dictionary learned from the sample."""

    def pairs() -> Iterator[tuple[str, str]]:
        for frame, rows in sample:
            sources, targets = read_frame(texts.spool, frame)
            yield from ((sources[row], targets[row]) for row in rows)

    return source.with_dictionary(lexicon(pairs()))


def _targets(texts: SpooledTexts, some: Sequence[SpooledText]) -> Iterator[str]:
    for text in some:
        for frame in text.frames:
            yield from read_frame(texts.spool, frame)[1]


def _tell_unknown(texts: SpooledTexts, symbols: Symbols) -> None:
    """Warn of labels and tags in the validation trees that no training tree has: a model can't write them."""
    for text in texts.valid:
        found = {symbol for line in _targets(texts, [text]) for symbol in line.split(" ")}
        if unknown := sorted(found.difference(symbols.names)):
            text.warnings.append(f"symbols that the training data has not: {' '.join(unknown)}")


def _sample(texts: Sequence[SpooledText], size: int, seed: int) -> Iterator[tuple[Frame, Integers]]:
    """Yield rows of frames: one pair of each of `size` equal parts of the kept pairs, or all if there are fewer."""
    total = sum(text.count() for text in texts)
    edges = np.arange(min(size, total) + 1) * total // min(size, total)
    chosen = np.random.default_rng(seed).integers(edges[:-1], edges[1:])
    start = 0
    for text in texts:
        for frame, kept in text.parts():
            rows = np.arange(frame.count) if kept is None else np.flatnonzero(kept)
            first, last = np.searchsorted(chosen, [start, start + len(rows)])
            if first < last:
                yield frame, rows[chosen[first:last] - start]
            start += len(rows)


def tempered(texts: Sequence[SpooledText], temperature: float) -> dict[str, float]:
    """Return a factor for the weights of the corpora with each tag: their share becomes its 1/temperature-th power."""
    sizes: Counter[str] = Counter()
    for text in texts:
        sizes[text.config.tag or ""] += text.config.weight * text.count()  # type: ignore[assignment]
    total = sum(sizes.values())
    shares = {tag: (size / total) ** (1 / temperature) for tag, size in sizes.items()}
    return {tag: share / sum(shares.values()) * total / sizes[tag] for tag, share in shares.items()}


class EncodedSplit(NamedTuple):
    description: SplitDescription
    report: SplitReport


class SecondPass:
    """Encoder of splits, one after the other."""

    def __init__(
        self,
        texts: SpooledTexts,
        subwords: tuple[Subwords, Subwords | Symbols],
        folder: Path,
        workers: Workers,
        progress: PrepareProgress,
        factors: Mapping[str, float] | None = None,
        *,
        speech_levels: bool = False,
        protect: bool = False,
    ) -> None:
        self._ids = id_type(max(subwords[0].size, subwords[1].size))
        self._task = Encode(texts.spool, vocabulary_files(*subwords), self._ids, speech_levels, protect)
        self._folder, self._workers, self._progress = folder, workers, progress
        self.factors = factors or {}
        """By which the weights of the corpora with a tag are multiplied."""
        self._done, self._total = 0, sum(text.count() for text in texts.train + texts.valid)

    def encode(self, name: str, texts: Sequence[SpooledText]) -> EncodedSplit:
        """Write the shards of a split."""
        source, target = SideCount(), SideCount()
        jobs = (EncodeJob(frame, kept, text.config.tag) for text in texts for frame, kept in text.parts())
        with closing(SplitWriter(self._folder, name, self._ids)) as writer:
            for encoded in self._workers.map(self._task, jobs):
                writer.add(encoded.source, encoded.target, encoded.lengths_N2)
                source.add(encoded.words[0], encoded.source, encoded.lengths_N2[:, 0])
                target.add(encoded.words[1], encoded.target, encoded.lengths_N2[:, 1])
                self._done += len(encoded.lengths_N2)
                self._progress("encoding", self._done, self._total)
        names = tuple(text.config.files for text in texts)
        description = SplitDescription(
            files=names,
            weight=texts[0].config.weight * self.factors.get(texts[0].config.tag or "", 1.0),
            tags=tuple(text.config.tag for text in texts),
            shards=tuple(writer.shards),
        )
        report = SplitReport(
            name=name,
            files=names,
            read=sum(text.read for text in texts),
            kept=sum(text.count() for text in texts),
            dropped=dict(sorted(sum((text.dropped for text in texts), start=Counter()).items())),
            warnings=tuple(warning for text in texts for warning in text.warnings),
            source=source.total(),
            target=target.total(),
        )
        return EncodedSplit(description, report)
