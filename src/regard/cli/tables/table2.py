"""`regard paper table2`: translation quality and training cost."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.tables.shared import Data, Fresh, Runs, comma_separated, show, warn, watch_run
from regard.cli.terminal.options import Json, Reference, Source


@dataclass(frozen=True)
class SystemOptions:
    """Train the systems of the table."""

    run: Annotated[bool, typer.Option("--run", help="Train the systems of the table, and test them.")] = False
    systems: Annotated[
        str | None,
        typer.Option(metavar="gnmt,convs2s", help="With --run: train these and the first; report on all."),
    ] = None
    plan: Annotated[Path | None, typer.Option(metavar="TABLE.toml", help="With --run: another plan.")] = None
    data: Data = None
    out: Runs = None
    fresh: Fresh = False

    def check_unused(self) -> None:
        """Reject options that have no effect without --run."""
        from regard.errors import UserError

        for name, value in vars(self).items():
            if value not in (None, False):
                raise UserError(f"--{name} goes with --run; add that, or leave it out")


def table2(
    *,
    runs: Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Folders of training runs.")] = None,
    source: Source = None,
    reference: Reference = None,
    own: SystemOptions,
    as_json: Json = False,
) -> None:
    """Table 2: BLEU and training costs, published and yours.

    regard paper table2 runs/first --source test.en --reference test.de

    regard paper table2 --run --data data/m30k --out runs/table2 --source test.en --reference test.de

    Without a test, BLEU is the last one in the run's log, if it was trained with train.bleu=true.

    With --run all systems are trained, as large as the first, for the same tokens and again for the same processor
    time, each with the best of some learning rates. They are tested once; without a test, on the validation set.
    The same command resumes after a stop or a kill.
    """
    from regard.errors import UserError
    from regard.paper.table2 import as_markdown, ours, report

    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; name the file to translate and its translation")
    test = None if source is None or reference is None else (source, reference)
    if own.run:
        if runs or own.data is None or own.out is None:
            raise UserError("--run trains systems itself: give --data and --out, and no runs")
        _run_table2(own, own.data, own.out, test, as_json=as_json)
        return
    own.check_unused()
    show([ours(run, test) for run in runs or []], report, as_markdown, as_json)


def _run_table2(own: SystemOptions, data: Path, out: Path, test: tuple[str, str] | None, *, as_json: bool) -> None:
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment, sample_of
    from regard.paper.systems.plan import Table2
    from regard.paper.systems.report import as_markdown, write_table2
    from regard.paper.systems.run import Table2Experiment, run_table2

    check_picture(out / "table2-time.svg")
    prepared = Prepared.open(data)
    experiment = Table2Experiment(
        read_experiment(Table2, "table2", own.plan), prepared, out, sample_of(prepared, test), watch_run, warn
    )
    outcomes = run_table2(experiment, comma_separated(own.systems), fresh=own.fresh)
    report = write_table2(out, experiment.plan, outcomes, experiment.sample)
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)
