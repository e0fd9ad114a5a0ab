"""`regard train`: train a model on pairs of texts or on prepared data; the same command resumes a stopped run."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.terminal.variadic import FILES

if TYPE_CHECKING:
    from regard.config.run import Config


FINE_TUNING = "fine-tuning"  # the preset of a run --from a model that names none
WITHOUT_FRESH = " (without --fresh, which would start over)"


@dataclass(frozen=True)
class PairOptions:
    """Pairs of texts to train on, without `regard prepare`."""

    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar=FILES,
            help="Pairs of texts, as for `regard prepare`: prepare them, choose settings by their number and the time, "
            "train, and test on pairs that are split off.",
        ),
    ] = None
    valid: Annotated[
        list[str] | None,
        typer.Option(metavar=FILES, help="With --train: validation pairs of your own, instead of some split off."),
    ] = None
    time: Annotated[
        str | None, typer.Option(help="With --train: time limit, such as 30m or 2h.", show_default="30m")
    ] = None
    source_language: Annotated[
        str | None, typer.Option("--from-language", metavar="CODE", help="With --train: source language.")
    ] = None
    target_language: Annotated[
        str | None, typer.Option("--to-language", metavar="CODE", help="With --train: target language.")
    ] = None
    vocabulary: Annotated[
        int | None, typer.Option(help="With --train: how many subwords to learn. [default: chosen]")
    ] = None
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="With --train: skip and count lines that can't be read.")
    ] = False
    protect: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect",
            help="With --train: replace addresses, placeholders, paths and code by reserved tokens. [default: on "
            "between natural languages]",
        ),
    ] = None

    def check(self, others: Mapping[str, object]) -> None:
        """Reject options that have no effect without pairs of texts; with them, reject `others`."""
        from regard.errors import UserError

        if not self.pairs:
            given = {
                "--time": self.time,
                "--valid": self.valid,
                "--from-language": self.source_language,
                "--to-language": self.target_language,
                "--vocabulary": self.vocabulary,
                "--skip-invalid": self.skip_invalid or None,
                "--protect": self.protect,
            }
            for option in (option for option, value in given.items() if value is not None):
                raise UserError(
                    f"{option} goes with --train, which names pairs of texts; for prepared data leave it out"
                )
            return
        for option in (option for option, value in others.items() if value is not None):
            languages = "; the languages are --from-language and --to-language" if option == "--from" else ""
            raise UserError(
                f"--train prepares pairs and starts a new model, so {option} has no place beside it{languages}"
            )

    def values(self) -> dict[str, Any]:
        """Return the settings of the preparation."""
        return {
            "source_language": self.source_language,
            "target_language": self.target_language,
            "vocabulary": self.vocabulary,
            "skip_invalid": self.skip_invalid,
            "protect": self.protect,
        }


def train(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="[RUN.toml]", help="A run file; or name a --preset.")] = None,
    preset: Annotated[str | None, typer.Option(help="Named settings, such as tiny, small, base or big.")] = None,
    texts: PairOptions,
    data: Annotated[Path | None, typer.Option(help="Folder that `regard prepare` made.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; an existing one is resumed.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a setting, such as train.steps=1000; train.clip= unsets one."
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", metavar="MODEL", help="Fine-tune this model instead of starting at random.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; remove the run in --out.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard events into the run, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Train a model. The same command resumes a run that was stopped or killed.

    regard train --train pairs.en pairs.ko --out runs/first --time 30m

    regard train --preset tiny --data data/mine --out runs/second --set train.steps=1000

    With --train, regard chooses every setting that you do not give, and measures the model on pairs that it did not
    train on.
    """
    from regard.train.interrupt import stoppable

    texts.check({"a run file": file, "--data": data, "--from": start})
    if texts.pairs:
        from regard.cli.train_pairs import train_pairs

        out = _place(out)
        with _reporting_errors_once(fresh=fresh), stoppable(out):
            train_pairs(
                texts.pairs, texts.valid, out, texts.values(), time=texts.time, preset=preset, assignments=set_ or [],
                fresh=fresh, tensorboard=tensorboard, as_json=as_json,
            )  # fmt: skip
        return
    with _reporting_errors_once(fresh=fresh), stoppable(out or "regard train"):
        model, log = _train(file, preset, data, out, set_ or [], start, fresh=fresh, tensorboard=tensorboard)
    if os.environ.get("RANK", "0") == "0":
        _report(model, log, as_json=as_json)


def _place(out: Path | None) -> Path:
    from regard.errors import UserError

    if out is None:
        raise UserError("say where the run is kept with --out, such as --out runs/first")
    return out


@contextmanager
def _reporting_errors_once(*, fresh: bool) -> Iterator[None]:
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
    from regard.config.presets import preset_names, read, settings
    from regard.errors import UserError

    if (file is None) == (preset is None) and (file is not None or not fine_tuning):
        raise UserError("name either a run file or a --preset, such as --preset tiny; or pairs of texts with --train")
    if file is not None and file.name in preset_names() and not file.exists():
        raise UserError(f"{file}: no such file; for the preset of this name, write --preset {file}")
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
