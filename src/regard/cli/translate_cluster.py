"""Translate many files on a cluster, for `regard translate --cluster`."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from regard.bulk.run import BulkProgress, BulkReport, Observer
    from regard.translate.translator import Options

LINE_EVERY = 60.0  # seconds between lines of progress where standard error is no terminal
SHOWN = 5  # failed shards that the last message names


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
    from regard.errors import Failed, UserError

    if pattern is None or out is None:
        raise UserError("--cluster translates files into a folder; name both, such as 'corpus/*.txt.zst' --out out/")
    from regard.bulk.run import translate_shards

    with _stdout_for_results(), _shown() as observer:
        report = translate_shards(pattern, out, model=models, options=options, observer=observer, **settings)
    _print(report, out, as_json=as_json)
    if report.failed:
        named = "; ".join(f"{name}: {reason}" for name, reason in list(report.failures.items())[:SHOWN])
        more = f"; and {report.failed - SHOWN} more" if report.failed > SHOWN else ""
        raise Failed(
            f"{report.failed} of {report.shards + report.failed} shards failed, the others are complete: "
            f"{named}{more}; mend them and run the same command again"
        )


@contextmanager
def _stdout_for_results() -> Iterator[None]:
    """Send to standard error what Ray prints on standard output, Python's part of it and that of its C++ core."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _print(report: "BulkReport", out: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(report), ensure_ascii=False))
        return
    typer.echo(
        f"{out}: {report.shards:,} shards, {report.lines_out:,} rows; {report.translated:,} shards translated now, in "
        f"{_clock(report.seconds)} and {report.cpu_seconds / 3600:.3f} core-hours"
    )


@contextmanager
def _shown() -> Iterator["Observer"]:
    """Yield an observer that shows progress: a bar on a terminal, elsewhere a line a minute."""
    from regard.bulk.run import Observer

    if not sys.stderr.isatty():

        class Lines(Observer):
            last = monotonic()

            def progress(self, progress: "BulkProgress") -> None:
                if monotonic() - self.last >= LINE_EVERY:
                    self.last = monotonic()
                    typer.echo(f"regard: {_words(progress)}", err=True)

            def warn(self, sentence: str) -> None:
                typer.echo(f"regard: {sentence}", err=True)

        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting workers", total=None)

        class Bar(Observer):
            def progress(self, progress: "BulkProgress") -> None:
                bar.update(task, completed=progress.bytes_done, total=progress.bytes, description=_words(progress))

            def warn(self, sentence: str) -> None:
                bar.console.print(f"regard: {sentence}", markup=False, highlight=False)

        yield Bar()


def _words(progress: "BulkProgress") -> str:
    left = "" if progress.seconds_left is None else f", {_clock(progress.seconds_left)} left"
    return (
        f"{progress.shards_done:,} of {progress.shards:,} shards, {progress.rows:,} rows, "
        f"{progress.rows_per_second:,.0f} rows/s, {progress.cpu_seconds / 3600:.2f} core-hours{left}"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
