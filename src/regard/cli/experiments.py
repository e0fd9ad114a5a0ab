"""`regard paper table2`, `table3`, `table4` and `lineage`: trained models beside the paper's figures."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.train.loop import Observer

Data = Annotated[Path, typer.Option(metavar="DIR", help="The folder that `regard prepare` made.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the runs and the table; what is there goes on.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over; the runs that are asked for are removed.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def table2(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Folders of training runs.")] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="Text to translate, a segment a line.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation.")] = None,
    as_json: Json = False,
) -> None:
    """Table 2: BLEU and the operations of training, as published and of your own runs.

    regard paper table2 runs/first --source test.en --reference test.de

    Without a test, BLEU is the last one in the run's log, if it was trained with train.bleu=true.
    """
    from regard.errors import UserError
    from regard.paper.table2 import as_markdown, ours, report

    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; name the file to translate and its translation")
    test = None if source is None or reference is None else (source, reference)
    _show([ours(run, test) for run in runs or []], report, as_markdown, as_json)


def table4(
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULT.json]...", help="What `regard evaluate --json` printed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Table 4: labelled F1 of constituency parsers, as published and yours.

    regard evaluate --gold gold.mrg --model runs/x/model --json > mine.json && regard paper table4 mine.json
    """
    from regard.paper.table4 import as_markdown, ours, report

    _show([one for path in results or [] for one in ours(path)], report, as_markdown, as_json)


def table3(
    data: Data,
    out: Out,
    file: Annotated[
        Path | None, typer.Argument(metavar="[TABLE.toml]", help="Other rows, scales and findings.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="How large all rows are: small for two cores, full as in the paper.")
    ] = "small",
    rows: Annotated[
        str | None, typer.Option(metavar="A,base", help="Run only these rows, or groups of rows; report on all.")
    ] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Table 3: train every variation of the base model, and compare with what the paper finds.

    regard paper table3 --scale small --data data/m30k --out runs/table3

    Stopped or killed? The same command goes on. Rows that are done are not done again.
    """
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment
    from regard.paper.table3 import Table3, run_table3
    from regard.paper.table3_report import as_markdown

    check_picture(out / "table3.svg")
    experiment = read_experiment(Table3, "table3", file)
    report = run_table3(experiment, scale, Prepared.open(data), out, _names(rows), _watch, _warn, fresh=fresh)
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)


def lineage(
    data: Data,
    out: Out,
    file: Annotated[Path | None, typer.Argument(metavar="[LINEAGE.toml]", help="Other models to compare.")] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE REFERENCE", help="Measure on these two files, not on the validation set."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="lstm,gru", help="Train only these, beside the first; report on all.")
    ] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Train the models before the Transformer beside it: as large, for the same steps, and for the same time.

    regard paper lineage --data data/m30k --out runs/lineage --test test.en test.de

    Stopped or killed? The same command goes on. Models that are done are not done again.
    """
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment, sample_of
    from regard.paper.lineage import Lineage, run_lineage
    from regard.paper.lineage_report import as_markdown, write_lineage

    check_picture(out / "lineage-time.svg")
    experiment, prepared = read_experiment(Lineage, "lineage", file), Prepared.open(data)
    sample = sample_of(prepared, test)
    outcomes = run_lineage(experiment, _names(models), prepared, out, sample, _watch, _warn, fresh=fresh)
    report = write_lineage(out, outcomes)
    typer.echo(json.dumps(report) if as_json else as_markdown(outcomes), nl=as_json)


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _show(rows: list[Any], report: Callable[..., Any], as_markdown: Callable[..., str], as_json: bool) -> None:
    typer.echo(json.dumps(report(rows)) if as_json else as_markdown(rows))


def _warn(sentence: str) -> None:
    typer.echo(f"warning: {sentence}", err=True)


@contextmanager
def _watch(title: str, steps: int, run: Path) -> "Iterator[Observer]":
    """Show the progress of `regard train` below a line with the name of the run."""
    from regard.cli.watch import watch

    typer.echo(title, err=True)
    with watch(steps, run, tensorboard=False) as observer:
        yield observer
