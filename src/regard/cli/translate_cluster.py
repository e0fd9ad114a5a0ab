"""Translate many files on a cluster, for `regard translate --cluster`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.terminal.cluster import check_failures, effort, watched

if TYPE_CHECKING:
    from regard.translate.translator import Options


def translate_cluster(
    pattern: str | None,
    out: str | None,
    models: list[Path],
    options: "Options",
    *,
    as_json: bool,
    **settings: Any,
) -> None:
    """Translate every file of a pattern into a folder, and print what was done."""
    from regard.errors import UserError

    if pattern is None or out is None:
        raise UserError("--cluster translates files into a folder; name both, such as 'corpus/*.txt.zst' --out out/")
    from regard.bulk.translate import translate_shards

    with watched() as observer:
        report = translate_shards(pattern, out, model=models, options=options, observer=observer, **settings)
    if as_json:
        typer.echo(json.dumps(asdict(report), ensure_ascii=False))
    else:
        typer.echo(f"{out}: {report.shards:,} shards, {report.lines_out:,} rows; {effort(report)}")
    check_failures(report)
