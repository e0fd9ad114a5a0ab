"""`regard average`: the mean of a run's last checkpoints as a model."""

import json
from pathlib import Path
from typing import Annotated

import typer


def average(
    run: Annotated[Path, typer.Argument(help="The folder of a training run.")],
    out: Annotated[Path, typer.Option(help="Where the model is written; must not exist.")],
    last: Annotated[int, typer.Option(min=1, help="How many of the last checkpoints.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the mean of the last checkpoints of a run as a model (section 6.1 of the paper)."""
    from regard.train.averaging import average_run

    steps = average_run(run, out, last)
    if as_json:
        typer.echo(json.dumps({"model": str(out), "steps": steps}))
    else:
        typer.echo(f"{out}: the mean of the checkpoints of steps {', '.join(map(str, steps))}")
