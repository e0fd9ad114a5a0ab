"""`regard paper table4`: constituency parsing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.tables.shared import Fresh, Runs, comma_separated, seed_numbers, show, warn, watch_run
from regard.cli.terminal.options import Json


@dataclass(frozen=True)
class ParserOptions:
    """Train parsers on gold trees, and on gold and silver trees."""

    run: Annotated[bool, typer.Option("--run", help="Train parsers on gold trees, and on gold and silver trees.")] = (
        False
    )
    gold: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Trees to train on.")] = None
    silver: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Another parser's trees; may be given several times.")
    ] = None
    valid: Annotated[str | None, typer.Option(metavar="FILE", help="Gold trees to validate with.")] = None
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Gold trees to measure on.")] = None
    agreement: Annotated[str | None, typer.Option(metavar="FILE", help="Silver trees to measure on.")] = None
    out: Runs = None
    plan: Annotated[Path | None, typer.Option(metavar="FILE", help="Another plan than the package's table4.toml.")] = (
        None
    )
    arms: Annotated[str | None, typer.Option(metavar="gold", help="Run only these arms; report on all.")] = None
    seeds: Annotated[str | None, typer.Option(metavar="1,2", help="Run only these seeds; report on all.")] = None
    fresh: Fresh = False


def table4(
    *,
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULT.json]...", help="Output of `regard evaluate --json`.")
    ] = None,
    own: ParserOptions,
    as_json: Json = False,
) -> None:
    """Table 4: F1 of constituency parsers, published and yours.

    regard evaluate --gold gold.mrg --model runs/x/model --json > mine.json && regard paper table4 mine.json

    regard paper table4 --run --gold train.mrg --silver parsed.mrg --valid dev.mrg --test test.mrg --agreement held.mrg
    --out runs/table4

    With --run it trains: on gold trees alone, and on both. The same command resumes a stopped run.
    """
    from regard.errors import UserError

    if own.run:
        if results:
            raise UserError(f"{results[0]}: --run makes its own results; leave it out")
        _run_table4(own, as_json=as_json)
        return
    for name, given in vars(own).items():
        if given:
            raise UserError(f"--{name} goes with --run; add --run to train")
    from regard.paper.table4 import as_markdown, ours, report

    show([one for path in results or [] for one in ours(path)], report, as_markdown, as_json)


def _run_table4(own: ParserOptions, *, as_json: bool) -> None:
    from regard.errors import UserError
    from regard.paper.experiment import read_experiment
    from regard.paper.semi_supervised import Table4, Trees, as_markdown, run_table4

    files: dict[str, Any] = {name: vars(own)[name] for name in ("gold", "silver", "valid", "test", "agreement")}
    for name, value in {**files, "out": own.out}.items():
        if not value:
            raise UserError(f"--run needs --{name}; name the file or folder")
    assert own.out is not None
    experiment = read_experiment(Table4, "table4", own.plan)
    report = run_table4(
        experiment, Trees(**files), own.out, watch_run, warn,
        arms=comma_separated(own.arms), seeds=seed_numbers(own.seeds), fresh=own.fresh,
    )  # fmt: skip
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)
