"""Train a measured model from pairs of texts in one call: prepare, choose settings, train, test."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from regard.api import train as run_training
from regard.config.checked import check, keys, similar
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.presets import preset as named
from regard.config.run import Config
from regard.data.corpus import check_corpora, languages
from regard.data.passes.first_pass import PrepareProgress
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.files import read_json, write_json
from regard.recipe.calibrate import BATCH, SECONDS, tokens_per_second
from regard.recipe.choices import Amount, Plan, Settings, fitting_size, plan
from regard.recipe.durations import seconds as parsed
from regard.recipe.outcome import Outcome, measure
from regard.recipe.sides import check_sides
from regard.text.protected.languages import is_language
from regard.train.log import Observer
from regard.train.run import DATA, PLAN, check_run, run_writer

TIME = "30m"


@dataclass(frozen=True)
class StartedRun:
    """A run on pairs before its first step: its data, its plan and its settings."""

    out: Path
    data: Prepared
    plan: Plan
    config: Config
    fresh: bool


def train_pairs(
    train: Sequence[CorpusConfig | Path | str],
    out: Path | str,
    *,
    valid: Sequence[CorpusConfig | Path | str] = (),
    time: float | str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    vocabulary: int | None = None,
    preset: str | None = None,
    changes: Settings | None = None,
    skip_invalid: bool = False,
    protect: bool | None = None,
    cores: int | None = None,
    fresh: bool = False,
    observer: Observer | None = None,
) -> Outcome:
    """Train a model on pairs of texts in the folder `out`, and measure it on pairs that it never saw.

    `train` are two files aligned by line, or one TSV or JSON-lines file; or several such corpora. Validation and test
    pairs are split off by source sentence. Vocabulary, model and training settings are chosen by the amount of data and
    by the `time` there is, such as "30m" or a number of seconds; by default half an hour. `changes` are settings by
    section that stay as they are. Reserved tokens stand for addresses and placeholders, by default between natural
    languages (`protect`). Called again with the same arguments, it resumes a run that was stopped; `fresh`
    starts over.
    """
    texts = {"source_language": source_language, "target_language": target_language, "vocabulary": vocabulary}
    begun = begin(
        _corpora(train), _corpora(valid), Path(out), {**texts, "skip_invalid": skip_invalid, "protect": protect},
        time=time, preset=preset, changes=changes or {}, cores=cores, fresh=fresh,
    )  # fmt: skip
    return carry_out(begun, observer)


def begin(
    corpora: Sequence[CorpusConfig],
    validation: Sequence[CorpusConfig],
    out: Path,
    texts: Mapping[str, Any],
    *,
    time: float | str | None = None,
    preset: str | None = None,
    changes: Settings,
    cores: int | None = None,
    fresh: bool = False,
    progress: PrepareProgress | None = None,
) -> StartedRun:
    """Prepare the data of a run and choose its settings, unless that was done when it began. `texts` is for prepare."""
    began = perf_counter()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError("--train is for one process; for several, use `regard prepare` and then `regard train --data`")
    wanted = parsed(time) if isinstance(time, str) else time
    _check_keys(changes)
    config = _prepare_config(corpora, texts, changes)
    with run_writer(out):
        check_run(out)
        if fresh:
            (out / PLAN).unlink(missing_ok=True)
        data = _prepared(out / DATA, corpora, validation, config, cores=cores, fresh=fresh, progress=progress)
        chosen = _planned(out / PLAN, data, wanted, began, preset, changes)
    return StartedRun(out, data, chosen, named(chosen.preset, **_merged(chosen.settings, changes)), fresh)


def carry_out(begun: StartedRun, observer: Observer | None = None) -> Outcome:
    """Train, and measure the model that was written."""
    model = run_training(begun.config, begun.data, begun.out, fresh=begun.fresh, observer=observer)
    if observer is not None:
        observer.phase("translating the test pairs")
    return measure(model, begun.out, begun.data, begun.plan)


def _check_keys(changes: Settings) -> None:
    """Reject settings that do not exist, before anything is read."""
    known = keys(Config)
    for name in (f"{section}.{key}" for section, values in changes.items() for key in values):
        if name not in known:
            raise UserError(f"unknown key {name!r}{similar(name, Config)}")


def _corpora(given: Sequence[CorpusConfig | Path | str]) -> list[CorpusConfig]:
    """Return corpora; names of files are the files of one corpus."""
    names = tuple(str(one) for one in given if not isinstance(one, CorpusConfig))
    made = [check(CorpusConfig, {"files": names}, " ".join(names))] if names else []
    return [*made, *(one for one in given if isinstance(one, CorpusConfig))]


def _prepare_config(corpora: Sequence[CorpusConfig], given: Mapping[str, Any], changes: Settings) -> PrepareConfig:
    values = dict(given)
    told = {languages(corpus.files) for corpus in corpora}
    source, target = (told.pop() if len(told) == 1 else None) or (None, None)
    values["source_language"] = given.get("source_language") or source
    values["target_language"] = given.get("target_language") or target
    values["vocabulary"] = given.get("vocabulary") or changes.get("model", {}).get("vocabulary")
    if given.get("protect") is None:
        values["protect"] = is_language(values["source_language"]) and is_language(values["target_language"])
    return check(PrepareConfig, {**values, "valid_pairs": None, "test_pairs": None}, "the data")


def _prepared(
    folder: Path,
    corpora: Sequence[CorpusConfig],
    validation: Sequence[CorpusConfig],
    config: PrepareConfig,
    *,
    cores: int | None,
    fresh: bool,
    progress: PrepareProgress | None,
) -> Prepared:
    """Return the prepared data of a run, and make it first if it is not there."""
    if folder.exists() and not fresh:
        data = Prepared.open(folder)
        if data.files != tuple(corpus.files for corpus in corpora):
            raise UserError(
                f"{folder}: was made of {_named(data.files)}, not of {_named([one.files for one in corpora])}; "
                "choose another --out, or start over with --fresh"
            )
        return data
    check_corpora(corpora)
    check_sides(corpora, config.source_language, config.target_language)
    prepare(corpora, validation, folder, config, cores=cores, force=fresh, progress=progress)
    return Prepared.open(folder)


def _named(files: Iterable[Sequence[str]]) -> str:
    return " ".join(name for corpus in files for name in corpus)


def _planned(
    path: Path, data: Prepared, wanted: float | None, began: float, preset: str | None, changes: Settings
) -> Plan:
    """Return the plan of a run: the one that was written when it began, or a new one."""
    if path.exists():
        found = _read(path)
        if wanted is not None and wanted != found.seconds:
            raise UserError(
                f"{path.parent}: was begun with {found.seconds / 60:g} minutes of time and can't change it; "
                "leave --time out, choose another --out, or start over with --fresh"
            )
        return found
    time = parsed(TIME) if wanted is None else wanted

    def speed(name: str, settings: Settings, batch: int = BATCH) -> float:
        return tokens_per_second(data, name, settings, batch=batch, seconds=min(SECONDS, time / 100))

    def left() -> float:
        return max(0.5 * time, time - (perf_counter() - began))

    amount = Amount.of(data)
    size = fitting_size(amount, left(), speed, given=preset, changes=changes)
    made = plan(amount, left(), size, changes)
    batch = made.settings["train"]["batch_tokens"]
    if batch != BATCH:  # small batches are slower
        rate = speed(made.preset, _merged(made.settings, changes), batch)
        made = plan(amount, left(), replace(size, tokens_per_second=rate), changes)
    made = Plan(made.preset, made.settings, made.reasons, time, made.tokens_per_second)
    write_json(path, asdict(made))
    return made


def _read(path: Path) -> Plan:
    try:
        return Plan(**read_json(path))
    except TypeError as error:
        raise UserError(f"{path}: not what regard wrote ({error}); start over with --fresh") from None


def _merged(chosen: Settings, changes: Settings) -> Settings:
    sections = {**chosen, **{name: {} for name in changes if name not in chosen}}
    return {name: {**values, **changes.get(name, {})} for name, values in sections.items()}
