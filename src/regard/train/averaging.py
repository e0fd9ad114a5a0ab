"""The mean of a run's last checkpoints (section 6.1), or its best one, as a model of its own."""

from pathlib import Path

from regard.errors import UserError
from regard.files import new_directory
from regard.model.saved import load_model, write_model
from regard.presets import read
from regard.train import checkpoint
from regard.train.run import CHECKPOINTS, RUN


def average_run(run: Path, out: Path, last: int) -> list[int]:
    """Write the mean of the last checkpoints of a run to `out`; returns their steps."""
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    chosen = checkpoint.last_regular(checkpoints, config.train.checkpoint_every, last)
    if len(chosen) < last:
        raise UserError(
            f"{run}: has {len(chosen)} checkpoints where {last} were asked for; "
            f"ask for fewer with --last, or train with train.keep_last={last}"
        )
    steps = ", ".join(map(str, chosen))
    _write(run, out, chosen, f"The mean of the checkpoints of steps {steps} of {run.name}.")
    return chosen


def best_of_run(run: Path, out: Path) -> int:
    """Write the checkpoint that was the best at its validation to `out`; returns its step."""
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    steps = checkpoint.steps(checkpoints)
    best = checkpoint.load(checkpoint.folder(checkpoints, steps[-1])).progress.best_step if steps else None
    if best is None:
        raise UserError(f"{run}: has no best checkpoint, since nothing was validated yet; ask for the --last instead")
    moving = config.train.moving_average is not None
    what = "moving average at the best checkpoint" if moving else "best checkpoint"
    _write(run, out, [best], f"The {what} by {config.train.best}, that of step {best} of {run.name}.", moving=moving)
    return best


def _write(run: Path, out: Path, chosen: list[int], origin: str, *, moving: bool = False) -> None:
    config, checkpoints = read(run / RUN), run / CHECKPOINTS
    saved = load_model(checkpoint.folder(checkpoints, chosen[-1]))
    weights = checkpoint.mean(checkpoints, chosen, moving=moving)
    card = f"# A regard model\n\n{origin}\n"
    with new_directory(out) as temporary:
        write_model(temporary, weights, config, saved.subwords, languages=saved.languages, form=saved.form, card=card)
