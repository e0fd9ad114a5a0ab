"""Cleaning of pairs: drop those in another language, near-duplicates, and those that two models find unlikely.

Dual cross-entropy (Junczys-Dowmunt, 2018): a pair that is no translation is improbable in both directions, or in one of
them only. Its score is |H(y|x) - H(x|y)| + ½ (H(y|x) + H(x|y)), with cross-entropies per token; the lowest are kept.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from regard.config.data import CorpusConfig
from regard.data.corpus import check_corpora
from regard.data.corpus import pairs as raw_pairs
from regard.data.raw_pairs import LineSettings
from regard.documents.language import base
from regard.errors import UserError
from regard.evaluate.perplexity import score_texts
from regard.files import check_place, disk_mistakes, one_writer, sync_directory
from regard.pairs.near_duplicates import NearDuplicates
from regard.text.language import LanguageIdentifier
from regard.text.normalise import normalise
from regard.translate.load import load
from regard.translate.translator import Translator

WINDOW = 1000  # pairs that are scored together
SIMILARITY = 0.7
MOST_CHARACTERS = 3000  # characters of a text that is scored

EMPTY, WRONG_SOURCE, WRONG_TARGET = "empty", "source in another language", "target in another language"
NEAR, UNLIKELY, TOO_LONG = "near-duplicate", "unlikely by both models", "too long to score"

Pair = tuple[str, str]
CleanProgress = Callable[[int], None]
"""progress(count): so many more pairs are done."""


@dataclass(frozen=True)
class Cleaning:
    """The criteria by which pairs are dropped."""

    languages: tuple[str, str] | None = None
    """Languages of source and target: pairs with a side in another are dropped."""
    near_duplicates: float | None = None
    """Drop pairs whose similarity to an earlier one is at least this."""
    model: str | Path | None = None
    """A model by which pairs are scored; with `back`, from source to target only, else both ways."""
    back: str | Path | None = None
    """A model from target to source."""
    keep: float = 0.9
    """The share of scored pairs that is kept."""
    skip_invalid: bool = False


@dataclass
class CleanReport:
    """Counts of the pairs read, written and dropped, by reason."""

    read: int = 0
    written: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        return {"read": self.read, "written": self.written, "dropped": dict(sorted(self.dropped.items()))}


def clean(
    files: Sequence[str], out: str | Path, cleaning: Cleaning, *, progress: CleanProgress = lambda count: None
) -> CleanReport:
    """Write the pairs of a corpus that pass all filters as TSV, in order, completely or not at all."""
    out, report = Path(out), CleanReport()
    if cleaning.languages is None and cleaning.near_duplicates is None and cleaning.model is None:
        raise UserError("nothing to clean by; give --check-language, --near-duplicates or --model")
    corpus = CorpusConfig(files=tuple(files))
    check_corpora([corpus])
    check_place(out)
    pairs = _kept(corpus, cleaning, report, progress)
    partial = out.with_name(f".{out.name}.partial")
    with disk_mistakes(out), one_writer(out):
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                for source, target in pairs if cleaning.model is None else _likely(pairs, cleaning, report):
                    file.write(f"{source}\t{target}\n")
                    report.written += 1
            partial.replace(out)
            sync_directory(out.absolute().parent)
        finally:
            partial.unlink(missing_ok=True)
    return report


def _kept(corpus: CorpusConfig, cleaning: Cleaning, report: CleanReport, progress: CleanProgress) -> Iterator[Pair]:
    """Yield the normalised pairs that pass the filters of language and similarity."""
    languages = cleaning.languages and tuple(map(base, cleaning.languages))
    identifier = LanguageIdentifier(languages or ())
    seen = None if cleaning.near_duplicates is None else NearDuplicates(cleaning.near_duplicates)
    source_language, target_language = cleaning.languages or (None, None)
    reading = LineSettings(corpus.files, source_language, target_language, cleaning.skip_invalid)
    invalid: Counter[str] = Counter()
    for raw in raw_pairs(corpus, reading, invalid):
        report.read += 1
        progress(1)
        source, target = map(normalise, raw)
        if why := _reason(source, target, languages, identifier, seen):
            report.dropped[why] += 1
        else:
            yield source, target
    report.read += invalid.total()
    report.dropped += invalid


def _reason(
    source: str,
    target: str,
    languages: tuple[str, ...] | None,
    identifier: LanguageIdentifier,
    seen: NearDuplicates | None,
) -> str | None:
    if not source or not target:
        return EMPTY
    if languages is not None and identifier.other_than(source, languages[0]):
        return WRONG_SOURCE
    if languages is not None and identifier.other_than(target, languages[1]):
        return WRONG_TARGET
    return NEAR if seen is not None and seen.repeats(source, target) else None


def _likely(pairs: Iterator[Pair], cleaning: Cleaning, report: CleanReport) -> Iterator[Pair]:
    """Yield the share of pairs with the best scores. Pairs wait in a temporary file, so that memory stays small."""
    assert cleaning.model is not None
    forward = load(cleaning.model, engine="torch")
    back = forward if cleaning.back is None else load(cleaning.back, engine="torch")
    into = _targets(forward, back, same=cleaning.back is None)
    scores = array("d")
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as waiting:
        while window := list(islice(pairs, WINDOW)):
            fitting = [pair for pair in window if max(map(len, pair)) <= MOST_CHARACTERS]
            report.dropped[TOO_LONG] += len(window) - len(fitting)
            scores.extend(dual_cross_entropy(forward, back, fitting, into))
            waiting.writelines(f"{source}\t{target}\n" for source, target in fitting)
        waiting.seek(0)
        yield from _best(waiting, scores, cleaning.keep, report)
    report.dropped += Counter()  # without those that are 0


def _best(waiting: IO[str], scores: "array[float]", keep: float, report: CleanReport) -> Iterator[Pair]:
    order = sorted(scores)
    worst = order[max(0, round(keep * len(order)) - 1)] if order else 0.0
    for line, score in zip(waiting, scores, strict=True):
        if score <= worst:
            source, target = line.rstrip("\n").split("\t")
            yield source, target
        else:
            report.dropped[UNLIKELY] += 1


def _targets(forward: Translator, back: Translator, *, same: bool) -> tuple[str | None, str | None]:
    """Return the target language of each direction, for models that have several."""
    source, target = forward.saved.languages
    if not same:
        return None, None
    if source is None or (target, source) not in forward.directions:
        raise UserError("the model translates in one direction only; give one for the other with --back-model")
    return target, source


def dual_cross_entropy(
    forward: Translator, back: Translator, pairs: Sequence[Pair], into: tuple[str | None, str | None] = (None, None)
) -> list[float]:
    """Return the score of each pair; lower is better."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    there = score_texts(forward, sources, targets, target_language=into[0])
    again = score_texts(back, targets, sources, target_language=into[1])
    found = []
    for one, other in zip(there, again, strict=True):
        first, second = (-some.log_probability / len(some.token_scores) for some in (one, other))
        found.append(abs(first - second) + 0.5 * (first + second))
    return found
