"""Pairs from text in one language: a model translates each line, and confident translations become training pairs.

Back-translation (Sennrich et al., 2016): the text is in the target language of the model to be trained, so a pair is
(translation, line). Forward translation, and sequence-level distillation (Kim and Rush, 2016) if the lines are the
sources of training pairs: a pair is (line, translation).

The output grows by windows of lines. After each, `OUT.progress.json` is replaced by a new one with the number of lines
read and of bytes written. A resumed run cuts the output to these bytes and begins after these lines, so that no
line is lost or doubled, whenever it was killed. Windows begin at multiples of WINDOW lines and have seeds of their
own, so the output has the same bytes as that of a run that was never killed.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from regard.data.lines import STANDARD_INPUT, Lines
from regard.documents.language import base
from regard.errors import UserError
from regard.files import (
    MANIFEST,
    check_link,
    check_place,
    disk_mistakes,
    one_writer,
    read_json,
    sha256,
    sync_directory,
    write_json,
)
from regard.saved.saved_model import model_folder
from regard.text.language import LanguageIdentifier
from regard.text.normalise import normalise
from regard.translate.load import load
from regard.translate.translation import Translation
from regard.translate.translator import Options, Translator

WINDOW = 1000  # lines between two records of progress
START_BYTES = 1 << 20  # first bytes of the text, by which a resumed run recognises it
FORMAT = 1

BLANK, TOO_LONG, NOT_UTF8 = "blank", "too long", "not valid UTF-8"
WRONG_LANGUAGE, WRONG_OUTPUT = "wrong language", "translation in another language"
UNSURE, UNCHANGED = "low confidence", "unchanged"

Kind = Literal["back", "forward"]
SynthesisProgress = Callable[[int, int], None]
"""progress(done, total), in bytes of the text's file."""


@dataclass(frozen=True)
class Synthesis:
    """Settings for making pairs of text in one language."""

    kind: Kind = "back"
    """back: (translation, line). forward: (line, translation)."""
    min_confidence: float | None = None
    """Drop lines whose translation is less sure; for a model that was calibrated."""
    check_language: bool = True
    """Drop lines and translations that are identified as another language, where the model says which it has."""
    max_characters: int = 1000
    """Drop longer lines; they are rarely sentences."""


@dataclass
class SynthesisReport:
    """Counts of the lines read, written and dropped; also the record of progress."""

    lines: int = 0
    written: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    size: int = 0
    """Bytes written."""
    done: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "dropped": dict(sorted(self.dropped.items()))}


def synthesise(
    model: str | Path,
    text: str | Path,
    out: str | Path,
    config: Synthesis | None = None,
    *,
    options: Options | None = None,
    engine: str = "auto",
    force: bool = False,
    progress: SynthesisProgress = lambda done, total: None,
) -> SynthesisReport:
    """Translate a text of any size line by line, and write pairs as TSV: source TAB target.

    Called again with the same arguments, it resumes a run that was stopped or killed. `force` starts over.
    """
    config, options, text, out = config or Synthesis(), options or Options(), str(text), Path(out)
    if text == STANDARD_INPUT:
        raise UserError("--text is read again when a run goes on, so it can't be standard input; put it into a file")
    check_place(out)
    check_link(out)
    settings = _settings(model, text, config, options)
    with disk_mistakes(out), one_writer(out):
        run = _Run(out, settings, force=force)
        if run.report.done:
            return run.finish()
        translator = load(model, engine=engine)
        run.translate(PairMaker(translator, config, options), text, progress)
        return run.finish()


def _settings(model: str | Path, text: str, config: Synthesis, options: Options) -> dict[str, Any]:
    """Return the settings that identify a run, as JSON values."""
    with Lines(text):  # a missing or broken file is reported before the model is loaded
        pass
    with Path(text).open("rb") as file:
        start = hashlib.sha256(file.read(START_BYTES)).hexdigest()
    asked = {key: value for key, value in asdict(options).items() if value != getattr(Options(), key)}
    return {
        "format": FORMAT,
        "model": sha256(model_folder(model) / MANIFEST),
        "text": {"size": Path(text).stat().st_size, "start": start},
        "synthesis": asdict(config),
        "options": {key: list(value) if isinstance(value, tuple) else value for key, value in asked.items()},
    }


class _Run:
    """The files of a run: the output so far, and its record of progress."""

    def __init__(self, out: Path, settings: dict[str, Any], *, force: bool) -> None:
        self.out, self.settings = out, settings
        self.partial = out.with_name(f"{out.name}.partial")
        self.record = out.with_name(f"{out.name}.progress.json")
        self.report = SynthesisReport()
        if force:
            for path in (self.record, self.partial, out):  # the record first: without it, nothing is resumed
                path.unlink(missing_ok=True)
        if self.record.exists():
            self._resume()
        elif out.exists():
            raise UserError(f"{out}: exists already; choose another --out, or pass --force to replace it")

    def _resume(self) -> None:
        found = read_json(self.record)
        if not isinstance(found, dict) or not isinstance(found.get("report"), dict):
            raise _no_record(self.record)
        before = found.get("settings") or {}
        if changed := sorted(key for key in self.settings if before.get(key) != self.settings[key]):
            raise UserError(
                f"{self.out}: was begun with another {' and another '.join(changed)}; "
                "give the same, choose another --out, or pass --force to start over"
            )
        try:
            report = SynthesisReport(**found["report"])
            report.dropped = Counter(report.dropped)
        except TypeError:
            raise _no_record(self.record) from None
        there = next((path for path in (self.partial, self.out) if path.exists()), None)
        if there is not None and there.stat().st_size >= report.size:  # otherwise it was removed: start over
            self.report = report

    def translate(self, maker: "PairMaker", text: str, progress: SynthesisProgress) -> None:
        """Append the pairs of all lines that are left."""
        report, total = self.report, Path(text).stat().st_size
        with Lines(text, skip_invalid=True) as lines, self.partial.open("ab") as file:
            file.truncate(report.size)
            for window in maker.windows(lines, report):
                file.write(window)
                file.flush()
                os.fsync(file.fileno())
                report.size = file.tell()
                self._save()
                progress(lines.position(), total)
        report.done = True
        self._save()

    def _save(self) -> None:
        write_json(self.record, {"settings": self.settings, "report": self.report.as_dict()})

    def finish(self) -> SynthesisReport:
        """Give the output its name; a run killed between the last record and here does it when called again."""
        if self.partial.exists():
            self.partial.replace(self.out)
            sync_directory(self.out.absolute().parent)
        return self.report


def _no_record(path: Path) -> UserError:
    return UserError(f"{path}: no record of a run; remove it, or pass --force to start over")


class PairMaker:
    """Lines -> pairs that pass the filters."""

    def __init__(self, translator: Translator, config: Synthesis, options: Options) -> None:
        self.translator, self.config = translator, config
        if config.min_confidence is not None and translator.calibration is None:
            raise UserError("the model is not calibrated, so it has no confidence; run `regard calibrate` on it first")
        greedy = translator.request(options).decode.beam == 1
        scored = config.min_confidence is not None and greedy  # greedy search alone has no scores, and so no confidence
        self.options = replace(options, token_scores=True) if scored else options
        translator.tag(options.target)
        self.languages = _languages(translator, options.target) if config.check_language else (None, None)
        self.identifier = LanguageIdentifier(code for code in self.languages if code is not None)

    def windows(self, lines: Lines, report: SynthesisReport) -> Iterator[bytes]:
        """Yield the pairs of each window of lines as TSV, after the lines that the report has; count them in it."""
        rest = islice((line for block in lines for line in block), report.lines, None)
        while window := list(islice(rest, WINDOW)):
            pairs = self.pairs(window, report)
            report.lines += len(window)
            report.written += len(pairs)
            yield "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
        if lines.broken is not None:
            raise UserError(f"{lines.name}: {lines.broken}; get the file again, then run the same command")

    def pairs(self, lines: list[bytes], report: SynthesisReport) -> list[tuple[str, str]]:
        """Translate the lines of a window and return the pairs to write; dropped lines are counted in the report."""
        texts = []
        for line in lines:
            try:
                text = line.decode() if len(line) <= 4 * self.config.max_characters else None
            except UnicodeDecodeError:
                report.dropped[NOT_UTF8] += 1
                continue
            if text is None or len(text) > self.config.max_characters:
                report.dropped[TOO_LONG] += 1
            elif why := self._unfit(clean := normalise(text)):
                report.dropped[why] += 1
            else:
                texts.append(clean)
        made = []
        for translation in self.translator.window(texts, self._seeded(report.lines)):
            target = normalise(translation.text)
            if why := self._bad(translation, target):
                report.dropped[why] += 1
            else:
                made.append(
                    (target, translation.source) if self.config.kind == "back" else (translation.source, target)
                )
        return made

    def _seeded(self, line: int) -> Options:
        """Return the options for the window that begins at this line: each window has seeds of its own."""
        sampling = self.options.sampling
        if sampling is None:
            return self.options
        return replace(self.options, sampling=replace(sampling, seed=sampling.seed + line))

    def _unfit(self, line: str) -> str | None:
        if not line:
            return BLANK
        read = self.languages[0]
        return WRONG_LANGUAGE if read is not None and self.identifier.other_than(line, read) else None

    def _bad(self, translation: Translation, target: str) -> str | None:
        if not target or target == translation.source:
            return UNCHANGED
        if translation.warnings:
            return translation.warnings[0]
        least, found = self.config.min_confidence, translation.confidence
        if least is not None and (found is None or found < least):
            return UNSURE
        into = self.languages[1]
        return WRONG_OUTPUT if into is not None and self.identifier.other_than(target, into) else None


def _languages(translator: Translator, target: str | None) -> tuple[str | None, str | None]:
    """Return the languages that the model reads and writes, as base codes, as far as they are known."""
    usual = translator.saved.languages[1]
    into = usual if target is None or target.startswith("<") else target
    read = {one for one, other in translator.directions if other == into and one is not None}
    return base(read.pop()) if len(read) == 1 else None, None if into is None else base(into)
