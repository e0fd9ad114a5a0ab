"""`regard paper later`: models that came after the paper, trained side by side."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.tables.shared import comma_separated, warn, watch_run
from regard.cli.terminal.options import Json

LISTOPS = "listops"  # the name of the task over length among the rows


def later(
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder that `regard prepare` made.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the runs; what is there goes on.")],
    file: Annotated[Path | None, typer.Argument(metavar="[LATER.toml]", help="Another plan.")] = None,
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
        str | None, typer.Option(metavar="mamba,listops", help="Run only these rows; listops is the task over length.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train what came after the paper beside it: other layers, one stack, all tokens at once; and a task over length.

    regard paper later --data data/m30k --out runs/later

    All have the same data, number of parameters and batches. Stopped or killed? The same command goes on; what is done
    is not done again.
    """
    from regard.data.prepared import Prepared
    from regard.paper.experiment import read_experiment, sample_of
    from regard.paper.later.plan import Later
    from regard.paper.later.report import as_markdown, write_report
    from regard.paper.later.run import checked_configs, chosen_rows, run_listops, run_translation

    plan, prepared = read_experiment(Later, "later", file), Prepared.open(data)
    wanted = comma_separated(rows)
    over_length = plan.listops is not None and (not wanted or LISTOPS in wanted)
    chosen = chosen_rows(plan, [name for name in wanted if name != LISTOPS]) if wanted != [LISTOPS] else []
    checked_configs(plan, prepared)
    sample = sample_of(prepared, test)
    other = None if distilled is None else Prepared.open(distilled)
    out.mkdir(parents=True, exist_ok=True)
    translation = run_translation(plan, chosen, prepared, other, sample, out, watch_run, warn)
    listops = run_listops(plan.listops, out, warn) if over_length and plan.listops is not None else []
    report = write_report(out, plan, translation, listops)
    typer.echo(json.dumps(report) if as_json else as_markdown(plan, translation, listops), nl=as_json)
