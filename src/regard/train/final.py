"""The model that a run writes: the mean of its late checkpoints (section 6.1), its best checkpoint or its last."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from regard.config.presets import read
from regard.config.run import Config
from regard.errors import UserError
from regard.files import new_directory
from regard.saved.folder import write_model
from regard.saved.saved_model import read_saved
from regard.train import checkpoint
from regard.train.log import Record, events, scores, written
from regard.train.run import CHECKPOINTS, RUN
from regard.train.validation import badness, score_of

Warn = Callable[[str], None]
Measure = Callable[[Mapping[str, Tensor], list[int]], Record]
"""Return the validation figures of a model with these weights, the mean of the checkpoints of these steps."""

LATE = 0.5  # the mean takes no checkpoint from before this fraction of the run
MEAN = "mean"  # the event that logs the validation of the mean


@dataclass(frozen=True)
class Final:
    """The model to write, and how it compares with the others that could have been."""

    name: str
    """mean, best or last."""
    steps: list[int]
    """The checkpoints that it is made of."""
    weights: Mapping[str, Tensor]
    figures: Record
    """Its own validation figures; empty without a validation set."""
    others: dict[str, Record] = field(default_factory=dict)
    """The validation figures of the other candidates, by name."""


def final_model(run: Path, config: Config, best_step: int | None, measure: Measure | None, warn: Warn) -> Final:
    """Return the best of mean, best and last by validation chrF or BLEU, or by loss if these were not measured.

    `train.final` may name one of them instead. Without a validation set it is the mean. Invalid checkpoints are
    reported and skipped.
    """
    moving = config.train.moving_average is not None
    steps = candidates(run, config, best_step)
    averaged: dict[str, Mapping[str, Tensor]] = {}
    figures = {name: _validated(run, of[0]) for name, of in steps.items() if len(of) == 1}
    if len(steps.get("mean", ())) > 1:
        averaged["mean"], steps["mean"] = checkpoint.mean(run / CHECKPOINTS, steps["mean"], warn, moving=moving)
        figures["mean"] = measure(averaged["mean"], steps["mean"]) if measure is not None else {}
    order = ranked(figures, score_of(config.train))
    for number, name in enumerate(order):
        try:
            if name not in averaged:
                averaged[name], steps[name] = checkpoint.mean(run / CHECKPOINTS, steps[name], warn, moving=moving)
        except UserError:
            if number == len(order) - 1:
                raise
            continue
        others = {other: values for other, values in figures.items() if other != name and values}
        return Final(name, steps[name], averaged[name], figures[name], others)
    raise UserError(f"{run}: has no checkpoints yet; train it first")


def candidates(run: Path, config: Config, best_step: int | None) -> dict[str, list[int]]:
    """Return the steps of the checkpoints that each model that could be written is made of, by its name."""
    mean = late_steps(run / CHECKPOINTS, config, final_count(config))
    found = {"mean": mean, "best": [] if best_step is None else [best_step], "last": mean[-1:]}
    if config.train.final != "auto":
        wanted = found[config.train.final]
        return {config.train.final: wanted} if wanted else {"last": mean[-1:]}
    if len(mean) == 1:
        del found["mean"]  # it is the last
    if best_step is None and "mean" in found:
        del found["last"]  # nothing was measured, so nothing can be compared
    distinct: dict[str, list[int]] = {}
    for name, steps in found.items():
        if steps and steps not in distinct.values():
            distinct[name] = steps
    return distinct


def late_steps(checkpoints: Path, config: Config, count: int) -> list[int]:
    """Return the last `count` regular checkpoints, without those of the run's first half."""
    last = checkpoint.last_regular(checkpoints, config.train.checkpoint_every, count)
    return [step for step in last if step >= LATE * last[-1]]


def ranked(figures: Mapping[str, Record], score: str | None = "bleu") -> list[str]:
    """Return the names of models from the best to the worst: by this score if all have it, else by loss."""
    scored = score is not None and all(values.get(score) is not None for values in figures.values())
    return sorted(figures, key=lambda name: badness(figures[name], score if scored else None))


def _validated(run: Path, step: int) -> Record:
    """Return the figures of the validation at this step."""
    return next((scores(record) for record in events(run, "validation") if record["step"] == step), {})


def measured_mean(run: Path, step: int, mean_of: list[int]) -> Record | None:
    """Return the figures of a mean that was validated before at this step of the run."""
    same = (record for record in events(run, MEAN) if (record["step"], record["mean_of"]) == (step, mean_of))
    return next(map(scores, same), None)


def final_count(config: Config) -> int:
    """Return how many last checkpoints the final model averages; 1 if the run has a moving average."""
    return config.train.average_last if config.train.moving_average is None else 1


def average_run(run: Path, out: Path, last: int | None, warn: Warn) -> list[int]:
    """Write the mean of a run's last checkpoints, or of all if there are fewer, to `out`; return their steps.

    If the run has a moving average, it is the mean of the moving averages at these checkpoints. Without `last` it is
    the model that training wrote at its end; before the end, the mean of the late ones of train.average_last.
    """
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    moving = config.train.moving_average is not None
    asked = last if last is not None else final_count(config)
    chosen = checkpoint.last_regular(checkpoints, config.train.checkpoint_every, asked)
    if not chosen:
        raise UserError(f"{run}: has no checkpoints yet; train it first")
    if last is None:
        record = written(run)
        chosen = late_steps(checkpoints, config, asked) if record is None else list(record["mean_of"])
    elif len(chosen) < asked:
        warn(
            f"{run}: has {len(chosen)} checkpoints where {asked} were asked for; "
            f"a smaller train.checkpoint_every and train.keep_last={asked} make and keep more"
        )
    what = "mean of the moving averages at the checkpoints" if moving else "mean of the checkpoints"
    return write_steps(run, out, chosen, what, warn, moving=moving)


def best_of_run(run: Path, out: Path, warn: Warn) -> int:
    """Write the checkpoint that was the best at its validation to `out`; return its step."""
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    newest = checkpoint.newest(checkpoints, warn)
    best = None if newest is None else newest.progress.best_step
    if best is None:
        raise UserError(f"{run}: has no best checkpoint, since nothing was validated yet; ask for the --last instead")
    moving = config.train.moving_average is not None
    what = "moving average at the best checkpoint" if moving else "best checkpoint"
    return write_steps(run, out, [best], f"{what} by {config.train.best}", warn, moving=moving)[0]


def write_steps(run: Path, out: Path, chosen: list[int], what: str, warn: Warn, *, moving: bool = False) -> list[int]:
    """Write the mean of some checkpoints of a run to `out`; `what` describes it in its card. Return their steps."""
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    weights, used = checkpoint.mean(checkpoints, chosen, warn, moving=moving)
    saved = read_saved(checkpoint.folder(checkpoints, used[-1]))
    steps = ", ".join(map(str, used))
    card = f"# A regard model\n\nThe {what}: {run.name}, step {steps}.\n"
    with new_directory(out) as temporary:
        write_model(temporary, replace(saved, config=config.model, decode=config.decode), weights, card=card)
    return used
