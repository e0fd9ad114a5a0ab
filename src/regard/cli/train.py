"""`regard train`: train a model on pairs of texts or on prepared data; the same command resumes a stopped run."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.terminal.variadic import MANY

if TYPE_CHECKING:
    from regard.config.run import Config


FILES = f"FILE [FILE]{MANY}"
FINE_TUNING = "fine-tuning"  # the preset of a run --from a model that names none
WITHOUT_FRESH = " (without --fresh, which would start over)"


def train(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="[RUN.toml]", help="A run file; or name a --preset.")] = None,
    preset: Annotated[str | None, typer.Option(help="Named settings, such as tiny, small, base or big.")] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar=FILES,
            help="Pairs of texts, as for `regard prepare`: prepare them, choose settings by their number and the time, "
            "train, and test on pairs that are split off.",
        ),
    ] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(metavar=FILES, help="With --train: validation pairs of your own, instead of some split off."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="With --train: the time there is, such as 30m or 2h.", show_default="30m")
    ] = None,
    source_language: Annotated[
        str | None, typer.Option("--from-language", metavar="CODE", help="With --train: the source language.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--to-language", metavar="CODE", help="With --train: the target language.")
    ] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="With --train: how many subwords to learn. [default: chosen]")
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="With --train: count what can't be read, and go on.")
    ] = False,
    protect: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect",
            help="With --train: let reserved tokens stand for addresses, placeholders, paths and code. [default: on "
            "between natural languages]",
        ),
    ] = None,
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
    """Train a model. Run the same command again after a stop or a crash, and it goes on where it was.

    regard train --train pairs.en pairs.ko --out runs/first --time 30m

    regard train --preset tiny --data data/mine --out runs/second --set train.steps=1000

    With --train, everything is chosen that you do not set, and the result is measured on pairs that training never saw.
    """
    from regard.train.interrupt import stoppable

    texts = {"source_language": source_language, "target_language": target_language, "vocabulary": vocabulary}
    others = {**texts, "time": time, "valid": valid, "skip_invalid": skip_invalid, "protect": protect is not None}
    _check_options(pairs, file, data, start, others)
    if pairs:
        from regard.cli.train_pairs import train_pairs

        out = _place(out)
        with _one_voice(fresh=fresh), stoppable(out):
            train_pairs(
                pairs, valid, out, {**texts, "skip_invalid": skip_invalid, "protect": protect},
                time=time, preset=preset, assignments=set_ or [], fresh=fresh, tensorboard=tensorboard, as_json=as_json,
            )  # fmt: skip
        return
    with _one_voice(fresh=fresh), stoppable(out or "regard train"):
        model, log = _train(file, preset, data, out, set_ or [], start, fresh=fresh, tensorboard=tensorboard)
    if os.environ.get("RANK", "0") == "0":
        _report(model, log, as_json=as_json)


def _check_options(
    pairs: list[str] | None, file: Path | None, data: Path | None, start: Path | None, others: dict[str, Any]
) -> None:
    """Reject options that have no effect together."""
    from regard.errors import UserError

    named = {"time": "--time", "valid": "--valid", "source_language": "--from-language",
             "target_language": "--to-language",
             "vocabulary": "--vocabulary", "skip_invalid": "--skip-invalid", "protect": "--protect"}  # fmt: skip
    for key, option in named.items():
        if others[key] and not pairs:
            raise UserError(f"{option} goes with --train, which names pairs of texts; for prepared data leave it out")
    for option, value in (("a run file", file), ("--data", data), ("--from", start)):
        if pairs and value is not None:
            languages = "; the languages are --from-language and --to-language" if option == "--from" else ""
            raise UserError(
                f"--train prepares pairs and starts a new model, so {option} has no place beside it{languages}"
            )


def _place(out: Path | None) -> Path:
    from regard.errors import UserError

    if out is None:
        raise UserError("say where the run is kept with --out, such as --out runs/first")
    return out


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
    from regard.cli.terminal.watch import watch
    from regard.config.presets import sections, settings
    from regard.train.run import LOG

    out = _place(out)
    config = _config(file, preset, assignments, fine_tuning=start is not None)
    # When fine-tuning, only settings in the run file itself and in --set may differ from the model's.
    written = {} if file is None else sections(file).get("model", {})
    changes = {**written, **settings(assignments).get("model", {})}
    with watch(config.train, out, tensorboard=tensorboard) as observer:
        model = run(config, data, out, start=start, changes=changes, fresh=fresh, observer=observer)
    return model, out / LOG


def _config(file: Path | None, preset: str | None, assignments: list[str], *, fine_tuning: bool) -> "Config":
    from regard.config.presets import preset as named
    from regard.config.presets import read, settings
    from regard.errors import UserError

    if (file is None) == (preset is None) and (file is not None or not fine_tuning):
        raise UserError("name either a run file or a --preset, such as --preset tiny; or pairs of texts with --train")
    changes = settings(assignments)
    if file is None and preset is None:  # the model's settings change the model to start from, when that is read
        changes.pop("model", None)
    return read(file, **changes) if file is not None else named(preset or FINE_TUNING, **changes)


def _report(model: Path, log: Path, *, as_json: bool) -> None:
    from regard.train.log import records, validation_figures

    figures: dict[str, Any] = {"model": str(model)}
    shown = ("step", "loss", "tokens", "tokens_per_second", "seconds")
    for record in records(log):
        if record.get("event") == "train":
            figures |= {key: record[key] for key in shown if key in record}
        elif record.get("event") in ("validation", "model"):
            figures |= validation_figures(record)
            figures |= {key: record[key] for key in ("final", "mean_of") if key in record}
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for key, value in figures.items():
        typer.echo(f"{key:24} {value:.4f}" if isinstance(value, float) else f"{key:24} {value}")
