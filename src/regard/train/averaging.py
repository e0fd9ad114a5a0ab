"""The mean of a run's last checkpoints (section 6.1), as a model of its own."""

from pathlib import Path

from regard.config import read
from regard.errors import UserError
from regard.files import whole_directory
from regard.model.saved import load_model, write_model
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
    saved = load_model(checkpoint.folder(checkpoints, chosen[-1]))
    weights = checkpoint.mean(checkpoints, chosen)
    steps = ", ".join(map(str, chosen))
    card = f"# A regard model\n\nThe mean of the checkpoints of steps {steps} of {run.name}.\n"
    with checkpoint.disk_room(out, checkpoints), whole_directory(out) as temporary:
        write_model(temporary, weights, config, saved.subwords, languages=saved.languages, form=saved.form, card=card)
    return chosen
