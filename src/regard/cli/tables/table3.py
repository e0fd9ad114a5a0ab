"""`regard paper table3`: variations of the base model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.tables.shared import Data, Fresh, Runs, comma_separated, seed_numbers, warn, watch_run
from regard.cli.terminal.options import Json

if TYPE_CHECKING:
    from regard.paper.table3.plan import Table3


@dataclass(frozen=True)
class VariationOptions:
    """Train the variations of the table."""

    data: Data = None
    out: Runs = None
    rows: Annotated[
        str | None, typer.Option(metavar="A,base", help="Run only these rows, or groups of rows; report on all.")
    ] = None
    seeds: Annotated[str | None, typer.Option(metavar="1,2", help="Run only these seeds; report on all.")] = None
    test: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE REFERENCE", help="Measure on these two files and the validation set together."),
    ] = None
    fresh: Fresh = False

    def check_unused(self, way: str) -> None:
        """Reject options that have no effect without training."""
        from regard.errors import UserError

        for name, value in vars(self).items():
            if value not in (None, False):
                raise UserError(f"{way} trains nothing, and --{name} is for training; leave one of them out")


def table3(
    *,
    file: Annotated[
        Path | None, typer.Argument(metavar="[TABLE.toml]", help="Other rows, scales and findings.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="How large all rows are: small for two cores, full as in the paper.")
    ] = "small",
    own: VariationOptions,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Train nothing: judge the figures in this folder, one ROW-seedN.json a run."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Train nothing: test the rule on simulated rows without a difference.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Table 3: train the variations of base, and judge findings.

    A finding of the paper reappears, is not seen, is contradicted, or is not judged.

    regard paper table3 --scale small --data data/m30k --out runs/table3

    regard paper table3 --results experiments/results/table3

    regard paper table3 --simulate

    The same command resumes after a stop or a kill, and skips finished rows.
    """
    from regard.errors import UserError
    from regard.paper.experiment import read_experiment
    from regard.paper.table3.plan import Table3, report_table3
    from regard.paper.table3.report import as_markdown

    if simulate and results is not None:
        raise UserError("--simulate and --results are two ways without training; leave one of them out")
    if simulate or results is not None:
        own.check_unused("--simulate" if simulate else "--results")
    experiment = read_experiment(Table3, "table3", file)
    if simulate:
        _simulate(experiment, as_json=as_json)
        return
    if results is not None:
        report = report_table3(experiment, scale, results)
    elif own.data is None or own.out is None:
        raise UserError("give --data and --out to train, --results to judge finished runs, or --simulate")
    else:
        report = _run_table3(experiment, scale, own.data, own.out, own)
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)


def _run_table3(experiment: "Table3", scale: str, data: Path, out: Path, own: VariationOptions) -> dict[str, Any]:
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import sample_of
    from regard.paper.table3.plan import run_table3

    check_picture(out / "table3.svg")
    wanted, prepared = seed_numbers(own.seeds), Prepared.open(data)
    sample = sample_of(prepared, own.test, together=True)
    return run_table3(
        experiment,
        scale,
        prepared,
        out,
        sample,
        watch_run,
        warn,
        rows=comma_separated(own.rows),
        seeds=wanted,
        fresh=own.fresh,
    )


def _simulate(experiment: "Table3", *, as_json: bool) -> None:
    from regard.paper.table3.simulation import as_markdown, cases, report, simulate

    found = report([simulate(case) for case in cases(experiment.rows, experiment.seeds, experiment.base_seeds)])
    typer.echo(json.dumps(found) if as_json else as_markdown(found))
