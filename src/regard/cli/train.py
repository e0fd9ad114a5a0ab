"""`regard train`: train a model on prepared data; the same command resumes a stopped run."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.config.run import Config


WITHOUT_FRESH = " (without --fresh, which would start over)"


def train(
    file: Annotated[Path | None, typer.Argument(metavar="[RUN.toml]", help="A run file; or name a --preset.")] = None,
    preset: Annotated[str | None, typer.Option(help="Named settings, such as tiny, small, base or big.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder that `regard prepare` made.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; one that is there goes on.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a setting, such as train.steps=1000; train.clip= unsets one."
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", metavar="MODEL", help="Fine-tune this model instead of starting at random.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; the run that --out holds is removed.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard events into the run, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Train a model. Run the same command again after a stop or a crash, and it goes on where it was."""
    from regard.train.interrupt import stoppable

    with _one_voice(fresh=fresh), stoppable(out or "regard train"):
        model, log = _train(file, preset, data, out, set_ or [], start, fresh=fresh, tensorboard=tensorboard)
    if os.environ.get("RANK", "0") == "0":
        _report(model, log, as_json=as_json)


@contextmanager
def _one_voice(*, fresh: bool) -> Iterator[None]:
    """Report a user error once on each machine, though all processes of torchrun raise it."""
    from regard.errors import Failed, Interrupted, UserError

    try:
        yield
    except Failed as error:
        raise Failed(f"{error}{WITHOUT_FRESH if fresh else ''}") from error
    except (UserError, Interrupted) as error:
        if fresh and isinstance(error, Interrupted):
            error = Interrupted(f"{error}{WITHOUT_FRESH}", error.code)
        if os.environ.get("LOCAL_RANK", "0") == "0":
            raise error from None
        raise typer.Exit(error.code if isinstance(error, Interrupted) else 2) from None


def _train(
    file: Path | None,
    preset: str | None,
    data: Path | None,
    out: Path | None,
    assignments: list[str],
    start: Path | None,
    *,
    fresh: bool,
    tensorboard: bool,
) -> tuple[Path, Path]:
    """Train, and return the model's folder and the run's log."""
    from regard.api import train as run
    from regard.cli.watch import watch
    from regard.config.presets import sections, settings
    from regard.errors import UserError
    from regard.train.run import LOG

    if out is None:
        raise UserError("say where the run is kept with --out, such as --out runs/first")
    config = _config(file, preset, assignments)
    # When fine-tuning, only settings in the run file itself and in --set may differ from the model's.
    written = {} if file is None else sections(file).get("model", {})
    changes = {**written, **settings(assignments).get("model", {})}
    with watch(config.train.steps, out, tensorboard=tensorboard) as observer:
        model = run(config, data, out, start=start, changes=changes, fresh=fresh, observer=observer)
    return model, out / LOG


def _config(file: Path | None, preset: str | None, assignments: list[str]) -> "Config":
    from regard.config.presets import preset as named
    from regard.config.presets import read, settings
    from regard.errors import UserError

    if (file is None) == (preset is None):
        raise UserError("name either a run file or a --preset, such as --preset tiny")
    changes = settings(assignments)
    return read(file, **changes) if file is not None else named(str(preset), **changes)


def _report(model: Path, log: Path, *, as_json: bool) -> None:
    from regard.train.history import validation_figures
    from regard.train.log import records

    figures: dict[str, Any] = {"model": str(model)}
    shown = ("step", "loss", "tokens", "tokens_per_second", "seconds")
    for record in records(log):
        if record.get("event") == "train":
            figures |= {key: record[key] for key in shown if key in record}
        elif record.get("event") == "validation":
            figures |= validation_figures(record)
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for key, value in figures.items():
        typer.echo(f"{key:24} {value:.4f}" if isinstance(value, float) else f"{key:24} {value}")
