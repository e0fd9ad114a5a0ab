"""An experiment: train and measure several models, each in the folder of an ordinary run.

A run that has its figures is skipped, and an unfinished one resumes; so the same command resumes an interrupted
experiment.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import Tensor

from regard.code_version import MEASURING, code_version, training_version
from regard.config.checked import Frozen, check
from regard.config.presets import sections
from regard.config.run import Config
from regard.data.prepared import Prepared, RawPair
from regard.errors import Failed, Interrupted, UserError
from regard.evaluate.aligned import read_aligned
from regard.evaluate.bleu import Bucket, bleu, by_length
from regard.evaluate.perplexity import perplexity, score_texts
from regard.evaluate.validator import translate_sources, validation_pairs
from regard.files import read_json, write_json
from regard.model.cost import cost
from regard.train.interrupt import listening
from regard.train.log import Observer, Record, records
from regard.train.loop import train
from regard.train.run import LOG, MODEL, fingerprint, settle
from regard.train.validation import Validator
from regard.translate.load import load
from regard.translate.translator import Translator

Watch = Callable[[str, int, Path], AbstractContextManager[Observer]]
"""Return an observer for a run, given its title, its number of steps and its folder."""

Warn = Callable[[str], None]
"""Called with a warning: what is skipped, and why."""

Sections = dict[str, dict[str, Any]]
"""Settings by section, as in a run file."""

FIGURES = "figures.json"

AnyExperiment = TypeVar("AnyExperiment", bound=Frozen)


class Row(NamedTuple):
    """A model of an experiment, with the name of its run."""

    name: str
    config: Config


class Figures(Frozen):
    """The results of a row."""

    step: int
    seconds: float
    """Training time, without validations and checkpoints."""
    tokens: int
    """Source and target tokens seen."""
    parameters: int
    perplexity: float
    """Per token of the references."""
    bleu: float
    signature: str
    by_length: tuple[Bucket, ...]
    measured_on: str
    sample: str
    """Checksum of the sample it was measured on."""
    config: Config
    data: str
    """Checksum of the data's manifest."""
    code: str = ""
    """Version of the code that trained and measured it; empty in files that predate this field."""

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


class Sample(NamedTuple):
    """The sentence pairs that models are measured on."""

    name: str
    pairs: list[RawPair]

    @property
    def checksum(self) -> str:
        return hashlib.sha256(repr(self.pairs).encode()).hexdigest()


def merged(*layers: Sections) -> Sections:
    """Return settings by section, later ones over earlier ones."""
    together: Sections = {}
    for layer in layers:
        for section, values in layer.items():
            together[section] = {**together.get(section, {}), **values}
    return together


def read_experiment(kind: type[AnyExperiment], name: str, path: Path | None) -> AnyExperiment:
    """Read an experiment from a file or, without one, from the package by its name."""
    return check(kind, sections(path or Path(str(files("regard.paper"))) / f"{name}.toml"), str(path or name))


def sample_of(data: Prepared, files: tuple[str, str] | None = None, *, together: bool = False) -> Sample:
    """Read the sample from two files aligned by line; without them, take the validation set; or take both together."""
    if together and files is not None:
        first, second = sample_of(data), sample_of(data, files)
        return Sample(f"{first.name} and {second.name}", first.pairs + second.pairs)
    if data.config.task != "translation":
        raise UserError(f"{data.directory}: is for {data.config.task}; give data that was prepared for translation")
    if files is None:
        if data.valid is None:
            raise UserError(f"{data.directory}: has no validation set to measure on; prepare the data with --valid")
        return Sample("the validation set", validation_pairs(data))
    if data.source_subwords.language_tags:
        raise UserError(f"{data.directory}: has several languages, and two files do not say which; leave out --test")
    sources, references = read_aligned(files)
    return Sample(Path(files[0]).name, [RawPair(*pair, None) for pair in zip(sources, references, strict=True)])


def known(path: Path, config: Config, data: Prepared, sample: Sample, warn: Warn) -> Figures | None:
    """Return the figures of a finished run if settings, data, sample and code version match."""
    if not path.exists():
        return None
    figures = check(Figures, read_json(path), str(path))
    same = _settings(figures.config) == _settings(config) and figures.data == fingerprint(data.directory)
    if not same or figures.sample != sample.checksum:
        return None
    return figures if of_this_code(path, figures.code, warn) else None


def of_this_code(path: Path, code: str | None, warn: Warn) -> bool:
    """Return whether figures were measured by this version of the code; warn of others, which are not used."""
    here = code_version(MEASURING)
    if code != here:
        warn(f"{path}: figures of other code ({code or 'not recorded'}; this is {here}) are passed over")
    return code == here


def _settings(config: Config) -> dict[str, object]:
    """Return settings without the folder of the data, which its checksum identifies wherever it is."""
    return config.model_dump(exclude={"data"})


def train_to_the_end(
    config: Config,
    data: Prepared,
    run: Path,
    observer: Observer,
    *,
    weights: Mapping[str, Tensor] | None = None,
    validator: Validator | None = None,
    fresh: bool = False,
) -> Record:
    """Train to the last step, from given weights if any, unless that is done; return the log's last training entry.

    A run with other settings, data or code, or beyond that step, is rejected. A stop signal after the last step stops
    the whole experiment.
    """
    if not fresh:
        check_code(run, config.train.objective)
    with listening() as asked:
        train(config, data, run, weights=weights, validator=validator, observer=observer, fresh=fresh)
    if asked:
        raise Interrupted(
            f"{run}: stopped after its last step with everything saved; run the same command again to go on", asked.code
        )
    last = progress(run)[-1]
    if last["step"] > config.train.steps:
        raise UserError(
            f"{run}: is at step {last['step']:,} already, beyond the {config.train.steps:,} that are asked for; "
            "choose another --out"
        )
    return last


def check_code(run: Path, objective: str = "likelihood") -> None:
    """Reject a run that another version of the code started or resumed."""
    here = training_version(objective)
    lines = records(run / LOG) if (run / LOG).is_file() else ()
    for line in lines:
        there = line.get("code", "not recorded")
        if line.get("event") in ("begin", "resume") and there != here:
            raise UserError(
                f"{run}: was trained by other code ({there}; this is {here}), and results of two versions do not go "
                "into one table; choose another --out, or start over with --fresh"
            )


def progress(run: Path) -> list[Record]:
    """Return the training entries of a run's log, each with its step, seconds and tokens."""
    if not (run / LOG).is_file():
        return []
    return [record for record in records(run / LOG) if record.get("event") == "train"]


def measure(run: Path, config: Config, data: Prepared, sample: Sample, last: Record) -> Figures:
    """Translate the sample with a run's model, as `regard evaluate` does."""
    translator = load(run / MODEL)
    references = [[pair.target for pair in sample.pairs]]
    lines = translate_sources(translator, sample.pairs)
    score = bleu(lines, references)
    return Figures(
        step=last["step"],
        seconds=last["seconds"],
        tokens=last["tokens"],
        parameters=cost(config.model).parameters,
        perplexity=_perplexity(translator, sample.pairs),
        bleu=score.value,
        signature=score.signature,
        by_length=tuple(by_length([pair.source for pair in sample.pairs], lines, references)),
        measured_on=sample.name,
        sample=sample.checksum,
        config=config,
        data=fingerprint(data.directory),
        code=code_version(MEASURING),
    )


def keep(path: Path, figures: Figures) -> None:
    write_json(path, figures.model_dump(mode="json"))


def _perplexity(translator: Translator, pairs: Sequence[RawPair]) -> float:
    scored = []
    for tag, group in groupby(pairs, key=lambda pair: pair.tag):
        texts = [(pair.source, pair.target) for pair in group]
        sources, targets = (list(side) for side in zip(*texts, strict=True))
        scored += score_texts(translator, sources, targets, target_language=tag)
    return perplexity(scored)


Outcome = Figures | str
"""The figures of a row, or the reason why there are none."""


def run_rows(
    rows: Sequence[Row], data: Prepared, out: Path, sample: Sample, watch: Watch, warn: Warn, *, fresh: bool = False
) -> dict[str, Outcome]:
    """Train and measure rows one after the other. A failure is recorded for its row, and the others continue."""
    settled = {row.name: settle(row.config, data) for row in rows}
    work = {name: cost(config.model).parameters * config.train.steps for name, config in settled.items()}
    outcomes: dict[str, Outcome] = {}
    for number, (name, config) in enumerate(settled.items(), start=1):
        run = out / name
        if fresh:
            (run / FIGURES).unlink(missing_ok=True)
        figures = known(run / FIGURES, config, data, sample, warn)
        if figures is None:
            title = f"{name}, {number} of {len(settled)}{time_left(work, outcomes)}"
            try:
                with watch(title, config.train.steps, run) as observer:
                    last = train_to_the_end(config, data, run, observer, fresh=fresh)
                figures = measure(run, config, data, sample, last)
                keep(run / FIGURES, figures)
            except Failed as failure:
                outcomes[name] = str(failure)
                continue
        outcomes[name] = figures
    return outcomes


def time_left(work: Mapping[str, int], outcomes: Mapping[str, Outcome]) -> str:
    """Estimate the time for the remaining rows, in proportion to their work; None before the first is done."""
    done = {name: figures.seconds for name, figures in outcomes.items() if isinstance(figures, Figures)}
    if not done:
        return ""
    pace = sum(done.values()) / sum(work[name] for name in done)
    minutes = round(pace * sum(work[name] for name in work.keys() - outcomes.keys()) / 60)
    return f", about {minutes // 60} h {minutes % 60} min left" if minutes >= 60 else f", about {minutes} min left"
