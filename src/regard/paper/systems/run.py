"""Run Table 2's experiment: choose each system's learning rate, train it, and test it once at each moment.

A system is tested after as many steps as the baseline, which are the same tokens, and at the first checkpoint at which
it has used as much processor time. Whichever comes first, the run continues to the other. What is tested is the mean of
the last checkpoints. Everything that is done is kept, so the same command resumes an interrupted experiment.
"""

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regard.code_version import training_version
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Failed, UserError
from regard.evaluate.validator import bleu_validator
from regard.files import MANIFEST, read_json, whole_directory, write_json
from regard.paper.experiment import Sample, Warn, Watch, progress, train_to_the_end
from regard.paper.systems.measure import Tested, keep_tested, known_tested, measured, run_settings, tested_run
from regard.paper.systems.plan import System, Table2, chosen_systems, configurations, with_train
from regard.saved.folder import load_model
from regard.train.log import Record, records
from regard.train.run import LOG, MODEL, fingerprint, subword_files
from regard.train.validation import Validator

RATE, TOKENS, TIME, ENSEMBLE = "rate.json", "same-tokens.json", "same-time.json", "ensemble.json"
AT_TOKENS = f"{MODEL}-same-tokens"
"""Folder of the model that was tested after the same tokens, while the run continues."""


@dataclass(frozen=True)
class Table2Experiment:
    """The plan, data and folders that all systems share."""

    plan: Table2
    data: Prepared
    out: Path
    sample: Sample
    watch: Watch
    warn: Warn


@dataclass(frozen=True)
class SystemResult:
    """The figures of a system: by seed at each moment, and of the ensemble of its seeds."""

    tokens: dict[int, Tested]
    time: dict[int, Tested]
    ensemble: Tested | None


Outcomes = dict[str, SystemResult | str]
"""The figures by system, or the reason why there are none."""


def run_table2(experiment: Table2Experiment, wanted: list[str], *, fresh: bool = False) -> Outcomes:
    """Train and test the baseline and the wanted systems, or all; the outcomes also include others that are done.

    With `fresh` the wanted ones, or all, start over.
    """
    configs, outcomes = configurations(experiment.plan, experiment.data), Outcomes()
    chosen = [system.name for system in chosen_systems(experiment.plan, wanted)]
    first = experiment.plan.systems[0].name
    for name in (wanted or chosen) if fresh else ():
        remove_system(experiment.out / name)
    for system in experiment.plan.systems:
        base = outcomes.get(first)
        goals = base.tokens if isinstance(base, SystemResult) else {}
        before = outcomes.get(system.refines) if system.refines is not None else None
        if system.name not in chosen:
            if (there := _already(experiment, system, configs[system.name])) is not None:
                outcomes[system.name] = there
            continue
        try:
            if isinstance(before, str):
                raise Failed(f"{system.refines} failed")
            outcomes[system.name] = _run_system(experiment, system, configs[system.name], goals, before)
        except Failed as failure:
            if system.name == first:
                raise
            outcomes[system.name] = str(failure)
    return outcomes


def _run_system(
    experiment: Table2Experiment, system: System, config: Config, goals: dict[int, Tested], before: SystemResult | None
) -> SystemResult:
    rate = _chosen_rate(experiment, system, config, before)
    tokens, time = {}, {}
    for seed in system.seeds:
        one = with_train(config, seed=seed, peak_rate=rate)
        goal = goals.get(seed) or next(iter(goals.values()), None)
        if before is not None:
            tokens[seed] = _refined(experiment, system, one, seed, before)
        else:
            tokens[seed], time[seed] = _moments(experiment, system, one, seed, goal)
    return SystemResult(tokens, time, _ensemble(experiment, system, config, tokens))


def _folder(experiment: Table2Experiment, system: System | str, seed: int) -> Path:
    return experiment.out / (system if isinstance(system, str) else system.name) / f"seed-{seed}"


def _already(experiment: Table2Experiment, system: System, config: Config) -> SystemResult | None:
    """Return the figures of a finished system; None unless all of them exist."""
    path = experiment.out / system.name / RATE
    if not path.exists():
        return None
    rate = read_json(path)["rate"]
    moments: list[dict[int, Tested]] = []
    for name in (TOKENS,) if system.refines is not None else (TOKENS, TIME):
        moments.append({})
        for seed in system.seeds:
            one = with_train(config, seed=seed, peak_rate=rate)
            found = known_tested(
                _folder(experiment, system, seed) / name, one, experiment.data, experiment.sample, experiment.warn
            )
            if found is None:
                return None
            moments[-1][seed] = found
    together = None
    if system.ensemble is not None:
        together = known_tested(
            experiment.out / system.name / ENSEMBLE, config, experiment.data, experiment.sample, experiment.warn
        )
    return SystemResult(moments[0], moments[1] if len(moments) > 1 else {}, together)


def _chosen_rate(experiment: Table2Experiment, system: System, config: Config, before: SystemResult | None) -> float:
    """Return the learning rate that is best on the validation set after a part of the run, with the first seed.

    The best is that of the lowest loss or, where train.best is bleu, of the highest BLEU.
    """
    path = experiment.out / system.name / RATE
    identity = {
        "settings": {**run_settings(config), "rates": list(system.rates), "share": experiment.plan.rate_share},
        "data": fingerprint(experiment.data.directory),
        "code": training_version(config.train.objective),
    }
    if path.exists():
        there = read_json(path)
        if all(there.get(key) == value for key, value in identity.items()):
            return float(there["rate"])
    steps = max(1, round(config.train.steps * experiment.plan.rate_share))
    losses = {}
    for rate in system.rates:
        tried = with_train(
            config,
            seed=system.seeds[0],
            peak_rate=rate,
            steps=steps,
            checkpoint_every=steps,
            average_last=1,
            keep_last=1,
        )
        run = experiment.out / system.name / f"rate-{rate:g}"
        try:
            _train(experiment, f"{system.name}, rate {rate:g}", tried, run, system, system.seeds[0], before)
            losses[rate] = _last_loss(run, config.train.best)
        except Failed as failure:
            experiment.warn(f"{system.name}, rate {rate:g}: {failure}")
            losses[rate] = math.inf
    best = min(losses, key=losses.__getitem__)
    if not math.isfinite(losses[best]):
        raise Failed(f"{system.name}: no learning rate of {', '.join(map(str, system.rates))} led to a finite loss")
    shown = {f"{rate:g}": abs(loss) if math.isfinite(loss) else None for rate, loss in losses.items()}
    write_json(path, {"rate": best, f"validation_{config.train.best}": shown, "steps": steps, **identity})
    return best


def _last_loss(run: Path, best: str) -> float:
    """Return the last validation loss or, where train.best is bleu, minus the last BLEU."""
    found = [record for record in records(run / LOG) if record.get("event") == "validation"]
    if not found:
        raise UserError(f"{run}: has no validation to choose a rate by; prepare the data with --valid")
    return -float(found[-1]["bleu"]) if best == "bleu" else float(found[-1]["nll"])


def _train(
    experiment: Table2Experiment,
    title: str,
    config: Config,
    run: Path,
    system: System,
    seed: int,
    before: SystemResult | None,
) -> Record:
    """Train to the last step; a refined system starts from the trained model of the same seed."""
    weights = None
    if before is not None and system.refines is not None:
        start = _folder(experiment, system.refines, _seed_before(before, seed)) / AT_TOKENS
        weights = dict(load_model(start).model.state_dict())
    with experiment.watch(title, config.train.steps, run) as observer:
        return train_to_the_end(
            config, experiment.data, run, observer, weights=weights, validator=_validator(experiment, config)
        )


def _validator(experiment: Table2Experiment, config: Config) -> Validator | None:
    return bleu_validator(experiment.data, config, subword_files(experiment.data)) if config.train.bleu else None


def _seed_before(before: SystemResult, seed: int) -> int:
    """Return the seed of the model to refine: the same, or the first if it was not trained with that one."""
    return seed if seed in before.tokens else next(iter(before.tokens))


def _moments(
    experiment: Table2Experiment, system: System, config: Config, seed: int, goal: Tested | None
) -> tuple[Tested, Tested]:
    """Train until both moments are tested; for the baseline, which has no goal, they coincide."""
    run, title = _folder(experiment, system, seed), f"{system.name}, seed {seed}"
    paths = run / TOKENS, run / TIME
    by_tokens, by_time = (
        known_tested(path, config, experiment.data, experiment.sample, experiment.warn) for path in paths
    )
    if by_time is not None and goal is not None and not _in_time(run, config, by_time, goal):
        by_time = None  # the baseline was trained again and took another time
    while by_tokens is None or by_time is None:
        steps = [config.train.steps] if by_tokens is None or goal is None else []
        if by_time is None and goal is not None:
            steps.append(step_at(run, config.train.checkpoint_every, goal.cpu_seconds))
        last = _train(experiment, title, with_train(config, steps=min(steps)), run, system, seed, None)
        at_tokens = last["step"] == config.train.steps and by_tokens is None
        at_time = by_time is None and (
            last["step"] == config.train.steps if goal is None else last["cpu_seconds"] >= goal.cpu_seconds
        )
        if not at_tokens and not at_time:
            continue
        tested, lines = tested_run(run / MODEL, config, experiment.data, experiment.sample, last)
        if at_tokens:
            _copy_model(run / MODEL, run / AT_TOKENS)
            keep_tested(paths[0], by_tokens := tested, lines)
        if at_time:
            keep_tested(paths[1], by_time := tested, lines)
    return by_tokens, by_time


def _in_time(run: Path, config: Config, tested: Tested, goal: Tested) -> bool:
    """Return whether figures are of the first checkpoint at which the run has used the baseline's processor time."""
    before = [used for step, used in _checkpoints(run, config.train.checkpoint_every) if step < tested.step]
    return bool(before) and before[-1] < goal.cpu_seconds <= tested.cpu_seconds


def step_at(run: Path, every: int, cpu_seconds: float) -> int:
    """Return the step to train to, for a test after so much processor time.

    It is the checkpoint at which the log shows that time used, else one half way there by the logged speed, in case the
    run becomes slower.
    """
    regular = _checkpoints(run, every)
    step, used = regular[-1]
    if used < cpu_seconds:
        checkpoints = (cpu_seconds - used) * step / used / every if step else 0.0
        return step + max(1, int(checkpoints / 2)) * every
    if regular[-2][1] >= cpu_seconds:
        raise UserError(
            f"{run}: went on beyond {cpu_seconds:.0f} seconds of processor time before it was tested; start the "
            "system over with --fresh"
        )
    return step


def _checkpoints(run: Path, every: int) -> list[tuple[int, float]]:
    """Return step and processor time at the start and at each regular checkpoint."""
    return [(0, 0.0), *((line["step"], line["cpu_seconds"]) for line in progress(run) if line["step"] % every == 0)]


def _refined(experiment: Table2Experiment, system: System, config: Config, seed: int, before: SystemResult) -> Tested:
    """Train a system that continues another's model, and test it; its cost includes that of the other."""
    run = _folder(experiment, system, seed)
    tested = known_tested(run / TOKENS, config, experiment.data, experiment.sample, experiment.warn)
    if tested is None:
        last = _train(experiment, f"{system.name}, seed {seed}", config, run, system, seed, before)
        first = before.tokens[_seed_before(before, seed)]
        tested, lines = tested_run(run / MODEL, config, experiment.data, experiment.sample, last, first)
        _copy_model(run / MODEL, run / AT_TOKENS)
        keep_tested(run / TOKENS, tested, lines)
    return tested


def _copy_model(model: Path, copy: Path) -> None:
    """Keep a copy of a run's model, which the next leg of the run replaces."""
    with whole_directory(copy, replace=True) as temporary:
        for path in model.iterdir():
            if path.name != MANIFEST:
                shutil.copyfile(path, temporary / path.name)


def _ensemble(
    experiment: Table2Experiment, system: System, config: Config, tokens: Mapping[int, Tested]
) -> Tested | None:
    """Test the ensemble of a system's seeds, if the plan has one; its cost is the sum of theirs."""
    if system.ensemble is None:
        return None
    path = experiment.out / system.name / ENSEMBLE
    tested = known_tested(path, config, experiment.data, experiment.sample, experiment.warn)
    if tested is None or tested.tokens != sum(one.tokens for one in tokens.values()):
        lines, figures = measured([_folder(experiment, system, seed) / AT_TOKENS for seed in tokens], experiment.sample)
        one = next(iter(tokens.values()))
        tested = Tested(
            rate=one.rate,
            step=one.step,
            tokens=sum(one.tokens for one in tokens.values()),
            cpu_seconds=sum(one.cpu_seconds for one in tokens.values()),
            parameters=sum(one.parameters for one in tokens.values()),
            flops=sum(one.flops for one in tokens.values()),
            settings=run_settings(config),
            data=fingerprint(experiment.data.directory),
            **figures,
        )
        keep_tested(path, tested, lines)
    return tested


def remove_system(folder: Path) -> None:
    """Remove a system's runs and figures; reject a folder with anything else in it."""
    own = re.compile(rf"(seed|rate)-.+|{RATE}|{ENSEMBLE}|ensemble\.txt")
    for path in folder.iterdir() if folder.is_dir() else ():
        if not own.fullmatch(path.name):
            raise UserError(f"{folder}: holds {path.name}, which is no part of the experiment; move it away")
    if folder.exists():
        shutil.rmtree(folder)
