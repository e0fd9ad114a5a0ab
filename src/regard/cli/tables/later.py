"""`regard paper later`: models that came after the paper, trained side by side."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.tables.shared import comma_separated, warn, watch_run
from regard.cli.terminal.options import Json

if TYPE_CHECKING:
    from regard.paper.later.plan import Later


def later(
    file: Annotated[Path | None, typer.Argument(metavar="[LATER.toml]", help="Another plan.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder that `regard prepare` made.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the runs and the report; unfinished runs resume.")
    ] = None,
    distilled: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Prepared data with another model's translations, for the rows that ask for it."
        ),
    ] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE REFERENCE", help="Measure on these two files, not on the validation set."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="mamba,listops-256",
            help="Run only these rows, or runs such as mamba-2; listops is the task over length. Report on all.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Train nothing: report on the figures in this folder, one RUN.json a run."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train later architectures beside the paper's.

    Other layers, one stack, all tokens at once; and ListOps over length.

    regard paper later --data data/m30k --out runs/later

    regard paper later --results experiments/results/later --out docs/pictures

    All have the same data, number of parameters and batches. The same command resumes after a stop or a kill, and skips
    finished runs.
    """
    from regard.errors import UserError
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment
    from regard.paper.later.plan import Later
    from regard.paper.later.report import as_markdown, write_report
    from regard.paper.later.run import finished

    if out is None:
        raise UserError("--out is missing; name the folder for the report")
    plan = read_experiment(Later, "later", file)
    check_picture(out / "later-steps.svg")
    if results is not None:
        training = {"--data": data, "--distilled": distilled, "--test": test, "--rows": rows}
        if given := [name for name, value in training.items() if value is not None]:
            raise UserError(f"--results trains nothing, and {given[0]} is for training; leave one of them out")
        if not results.is_dir():
            raise UserError(f"{results}: is not a folder; name the one that has the figures of the runs")
    elif data is None:
        raise UserError("give --data to train, or --results to report on finished runs")
    else:
        _run_later(plan, data, out, distilled, test, comma_separated(rows))
    figures = finished(plan, results or out)
    out.mkdir(parents=True, exist_ok=True)
    report = write_report(out, plan, figures)
    typer.echo(json.dumps(report) if as_json else as_markdown(plan, figures), nl=as_json)


def _run_later(
    plan: "Later", data: Path, out: Path, distilled: Path | None, test: tuple[str, str] | None, rows: list[str]
) -> None:
    from regard.data.prepared import Prepared
    from regard.paper.experiment import sample_of
    from regard.paper.later.plan import chosen_runs
    from regard.paper.later.run import LaterExperiment, checked_configs, run_later

    prepared = Prepared.open(data)
    runs = chosen_runs(plan, rows)
    checked_configs(plan, prepared)
    other = None if distilled is None else Prepared.open(distilled)
    run_later(LaterExperiment(plan, prepared, other, sample_of(prepared, test), out, watch_run, warn), runs)
