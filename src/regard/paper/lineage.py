"""Compare earlier models with the Transformer: same size, same data, equal steps and equal time.

A run is measured twice: after as many steps as the Transformer, and at the first checkpoint at which it has trained
for as long. Whichever comes first, the run continues to the other.
"""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.checked import Frozen, nearest
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Failed, UserError
from regard.model.cost import cost
from regard.paper.experiment import (
    Figures,
    Outcome,
    Sample,
    Warn,
    Watch,
    keep,
    known,
    measure,
    progress,
    time_left,
    train_to_the_end,
)
from regard.train.log import records
from regard.train.run import LOG, settle

STEPS, TIME = "same-steps.json", "same-time.json"
WIDTHS = range(8, 8192, 8)  # candidates for d_model


class Lineage(Frozen):
    """The content of lineage.toml."""

    models: tuple[str, ...]
    """Presets; the first is the baseline."""
    set: dict[str, dict[str, Any]]


class Moments(NamedTuple):
    """The figures of a model after as many steps, and after as much time, as the baseline."""

    steps: Figures
    time: Figures


Outcomes = dict[str, Moments | str]
"""The figures by model, or the reason why there are none."""


def sized(experiment: Lineage, data: Prepared) -> dict[str, Config]:
    """Return each model's settings, with d_model chosen to match the baseline's number of parameters most closely."""
    first, *others = ((name, settle(preset(name, **experiment.set), data)) for name in experiment.models)
    for name, config in (first, *others):
        if config.train.schedule == "cosine":
            raise UserError(
                f"{name}: a cosine falls to 0 at the last step, and which that is after the same time is not known "
                "before; choose another train.schedule"
            )
    goal = cost(first[1].model).parameters
    return dict([first, *((name, as_large(config, goal)) for name, config in others)])


def as_large(config: Config, parameters: int) -> Config:
    """Return the configuration with the d_model whose number of parameters is nearest."""

    def missing(width: int) -> int:
        return parameters - cost(config.model.model_copy(update={"d_model": width})).parameters

    above = bisect_left(WIDTHS, 0, key=lambda width: -missing(width))
    width = min(WIDTHS[max(above - 1, 0) : above + 1], key=lambda width: abs(missing(width)))
    return config.model_copy(update={"model": config.model.model_copy(update={"d_model": width})})


def run_lineage(
    experiment: Lineage,
    wanted: Sequence[str],
    data: Prepared,
    out: Path,
    sample: Sample,
    watch: Watch,
    warn: Warn,
    *,
    fresh: bool,
) -> Outcomes:
    """Train and measure the baseline, then the requested models, or all if none is named.

    The outcomes also include the other models that are done.
    """
    configs = sized(experiment, data)
    for name in wanted:
        if name not in configs:
            raise UserError(
                f"no model here is called {name!r}{nearest(name, [*configs])}; there are {', '.join(configs)}"
            )
    first = experiment.models[0]
    chosen = [name for name in configs if not wanted or name in (first, *wanted)]
    outcomes: Outcomes = {}
    seconds: float | None = None
    for name, config in configs.items():
        run = out / name
        if name not in chosen:
            by_steps, by_time = _measured(config, data, run, sample, seconds, warn)
            if by_steps is not None and by_time is not None:
                outcomes[name] = Moments(by_steps, by_time)
            continue
        left = time_left(dict.fromkeys(chosen, 1), later_moments(chosen, outcomes))
        title = f"{name}, {chosen.index(name) + 1} of {len(chosen)}{left}"
        anew = fresh and (not wanted or name in wanted)
        try:
            found = _moments(config, data, run, sample, seconds, title, watch, warn, fresh=anew)
        except Failed as failure:
            if seconds is None:
                raise
            outcomes[name] = str(failure)
        else:
            outcomes[name] = found
            seconds = seconds or found.steps.seconds
    return outcomes


def later_moments(chosen: Sequence[str], outcomes: Outcomes) -> dict[str, Outcome]:
    """Return the later figures of each requested model that is done, which have its total training time."""
    return {
        name: found if isinstance(found, str) else max(found, key=lambda figures: figures.seconds)
        for name, found in outcomes.items()
        if name in chosen
    }


def _measured(
    config: Config, data: Prepared, run: Path, sample: Sample, seconds: float | None, warn: Warn
) -> tuple[Figures | None, Figures | None]:
    """Return the figures of a model at both moments, if they have been measured."""
    by_steps, by_time = (known(run / name, config, data, sample, warn) for name in (STEPS, TIME))
    if by_time is not None and seconds is not None:
        before = [passed for step, passed in _checkpoints(run, config.train.checkpoint_every) if step < by_time.step]
        if not before[-1] < seconds <= by_time.seconds:  # the baseline was trained again and took another time
            by_time = None
    return by_steps, by_time


def _moments(
    config: Config,
    data: Prepared,
    run: Path,
    sample: Sample,
    seconds: float | None,
    title: str,
    watch: Watch,
    warn: Warn,
    *,
    fresh: bool,
) -> Moments:
    """Train until both moments are measured; without `seconds` they coincide."""
    if fresh:
        for path in (run / STEPS, run / TIME):
            path.unlink(missing_ok=True)
    by_steps, by_time = _measured(config, data, run, sample, seconds, warn)
    while by_steps is None or by_time is None:
        goals = [config.train.steps] if by_steps is None or seconds is None else []
        if by_time is None and seconds is not None:
            goals.append(step_at(run, config.train.checkpoint_every, seconds))
        leg = config.model_copy(update={"train": config.train.model_copy(update={"steps": min(goals)})})
        with watch(title, leg.train.steps, run) as observer:
            last = train_to_the_end(leg, data, run, observer, fresh=fresh)
        fresh, at_steps = False, last["step"] == config.train.steps
        at_time = at_steps if seconds is None else last["seconds"] >= seconds
        if (at_steps and by_steps is None) or (at_time and by_time is None):
            figures = measure(run, config, data, sample, last)
            if at_steps and by_steps is None:
                keep(run / STEPS, by_steps := figures)
            if at_time and by_time is None:
                keep(run / TIME, by_time := figures)
    return Moments(by_steps, by_time)


def step_at(run: Path, every: int, seconds: float) -> int:
    """Return the step to train to, for a measurement after so many seconds of training: the checkpoint at which the log
    shows that time reached, else one half way there by the logged speed, in case the run becomes slower.
    """
    regular = _checkpoints(run, every)
    step, passed = regular[-1]
    if passed < seconds:
        checkpoints = (seconds - passed) * step / passed / every if step else 0.0
        return step + max(1, int(checkpoints / 2)) * every
    if regular[-2][1] >= seconds:
        raise UserError(
            f"{run}: went on beyond {seconds:.0f} seconds before it was measured; start it over with "
            f"--models {run.name} --fresh"
        )
    return step


def _checkpoints(run: Path, every: int) -> list[tuple[int, float]]:
    """Return step and training time at the start and at each regular checkpoint."""
    return [(0, 0.0), *((line["step"], line["seconds"]) for line in progress(run) if line["step"] % every == 0)]


def losses(run: Path) -> list[tuple[float, float]]:
    """Return training seconds and validation loss at every checkpoint."""
    seconds: dict[int, float] = {}
    points = []
    for record in records(run / LOG):
        if record.get("event") == "train":
            seconds[record["step"]] = record["seconds"]
        elif record.get("event") == "validation" and record["step"] in seconds:
            points.append((seconds[record["step"]], record["nll"]))
    return points
