"""Options and output that the commands of the paper's tables share."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.train.log import Observer

Fresh = Annotated[bool, typer.Option("--fresh", help="Start over; remove the requested runs.")]
Data = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder that `regard prepare` made.")]
Runs = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of the runs and the table; unfinished runs resume.")
]


def comma_separated(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def seed_numbers(given: str | None) -> list[int]:
    from regard.errors import UserError

    try:
        return [int(name) for name in comma_separated(given)]
    except ValueError:
        raise UserError(f"--seeds {given}: a seed is a whole number; write for example --seeds 1,2") from None


def show(rows: list[Any], report: Callable[..., Any], as_markdown: Callable[..., str], as_json: bool) -> None:
    typer.echo(json.dumps(report(rows)) if as_json else as_markdown(rows))


def warn(sentence: str) -> None:
    typer.echo(f"warning: {sentence}", err=True)


@contextmanager
def watch_run(title: str, steps: int, run: Path) -> "Iterator[Observer]":
    """Show the progress of `regard train` below a line with the name of the run."""
    from regard.cli.terminal.watch import watch
    from regard.config.train import TrainConfig

    typer.echo(title, err=True)
    with watch(TrainConfig(steps=steps), run, tensorboard=False) as observer:
        yield observer
