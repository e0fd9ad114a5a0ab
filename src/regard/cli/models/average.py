"""`regard average`: write the mean of a run's last checkpoints, or its best one, as a model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import Json


def average(
    run: Annotated[Path, typer.Argument(help="The folder of a training run.")],
    out: Annotated[Path, typer.Option(help="Where the model is written; must not exist.")],
    last: Annotated[
        int | None, typer.Option(min=1, help="How many of the last checkpoints; default: as the run's own model.")
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="Instead of a mean, the best checkpoint.")] = False,
    as_json: Json = False,
) -> None:
    """Write the mean of a run's last checkpoints as a model.

    This is section 6.1 of the paper.

    Of a run with train.moving_average, the moving averages at these checkpoints are taken, as training itself does.
    Without --last it is the model that training wrote at its end; before that, the mean of the late checkpoints.
    With --best, the one checkpoint that was the best at its validation, by loss, or by the score that train.best names.
    """
    from regard.errors import UserError
    from regard.train.final import average_run, best_of_run

    if best and last is not None:
        raise UserError("--best is one checkpoint and --last is a mean of several; give one of the two")

    def warn(sentence: str) -> None:
        typer.echo(f"regard: {sentence}", err=True)

    steps = [best_of_run(run, out, warn)] if best else average_run(run, out, last, warn)
    if as_json:
        typer.echo(json.dumps({"model": str(out), "steps": steps}))
    elif best:
        typer.echo(f"{out}: the best checkpoint, that of step {steps[0]}")
    else:
        typer.echo(f"{out}: the mean of the checkpoints of steps {', '.join(map(str, steps))}")
