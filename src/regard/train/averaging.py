"""Write the mean of a run's last checkpoints (section 6.1), or its best checkpoint, as a model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from regard.config.presets import read
from regard.config.run import Config
from regard.errors import UserError
from regard.files import new_directory
from regard.saved.folder import write_model
from regard.saved.saved_model import read_saved
from regard.train import checkpoint
from regard.train.run import CHECKPOINTS, RUN

Warn = Callable[[str], None]


def average_run(run: Path, out: Path, last: int | None, warn: Warn) -> list[int]:
    """Write the mean of a run's last checkpoints, or of all if there are fewer, to `out`; return their steps.

    If the run has a moving average, it is the mean of the moving averages at these checkpoints. Without `last` it is
    the model that training writes at its end: the mean of train.average_last checkpoints, or the last moving average.
    """
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    moving = config.train.moving_average is not None
    asked = last if last is not None else final_count(config)
    chosen = checkpoint.last_regular(checkpoints, config.train.checkpoint_every, asked)
    if not chosen:
        raise UserError(f"{run}: has no checkpoints yet; train it first")
    if len(chosen) < asked:
        warn(
            f"{run}: has {len(chosen)} checkpoints where {asked} were asked for; "
            f"a smaller train.checkpoint_every and train.keep_last={asked} make and keep more"
        )
    what = "mean of the moving averages at the checkpoints" if moving else "mean of the checkpoints"
    return _write(run, out, chosen, what, warn, moving=moving)


def final_count(config: Config) -> int:
    """Return how many last checkpoints the final model averages; 1 if the run has a moving average."""
    return config.train.average_last if config.train.moving_average is None else 1


def best_of_run(run: Path, out: Path, warn: Warn) -> int:
    """Write the checkpoint that was the best at its validation to `out`; return its step."""
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    newest = checkpoint.newest(checkpoints, warn)
    best = None if newest is None else newest.progress.best_step
    if best is None:
        raise UserError(f"{run}: has no best checkpoint, since nothing was validated yet; ask for the --last instead")
    moving = config.train.moving_average is not None
    what = "moving average at the best checkpoint" if moving else "best checkpoint"
    return _write(run, out, [best], f"{what} by {config.train.best}", warn, moving=moving)[0]


def _write(run: Path, out: Path, chosen: list[int], what: str, warn: Warn, *, moving: bool) -> list[int]:
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    weights, used = checkpoint.mean(checkpoints, chosen, warn, moving=moving)
    saved = read_saved(checkpoint.folder(checkpoints, used[-1]))
    steps = ", ".join(map(str, used))
    card = f"# A regard model\n\nThe {what}: {run.name}, step {steps}.\n"
    with new_directory(out) as temporary:
        write_model(temporary, replace(saved, config=config.model, decode=config.decode), weights, card=card)
    return used
