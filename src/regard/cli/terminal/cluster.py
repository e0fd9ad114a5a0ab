"""Shared by commands with --cluster: progress on standard error, and the shards that failed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from time import monotonic
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.bulk.run import BulkObserver, BulkProgress, BulkReport

LINE_EVERY = 60.0  # seconds between lines of progress where standard error is no terminal
SHOWN = 5  # failed shards that the last message names


@contextmanager
def watched() -> Iterator["BulkObserver"]:
    """Yield an observer that shows the progress of a run; standard output is kept for its results."""
    with _stdout_for_results(), _shown() as observer:
        yield observer


def effort(report: "BulkReport") -> str:
    """Return what a run did, and what it took."""
    hours = report.cpu_seconds / 3600
    return f"{report.translated:,} shards translated now, in {_clock(report.seconds)} and {hours:.3f} core-hours"


def check_failures(report: "BulkReport") -> None:
    """Raise Failed with the names of shards that failed."""
    from regard.errors import Failed

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


@contextmanager
def _shown() -> Iterator["BulkObserver"]:
    """Yield an observer that shows progress: a bar on a terminal, elsewhere a line a minute."""
    from regard.bulk.run import BulkObserver

    if not sys.stderr.isatty():

        class Lines(BulkObserver):
            last = monotonic()

            def progress(self, progress: "BulkProgress") -> None:
                if monotonic() - self.last >= LINE_EVERY:
                    self.last = monotonic()
                    typer.echo(f"regard: {progress_words(progress)}", err=True)

            def warn(self, sentence: str) -> None:
                typer.echo(f"regard: {sentence}", err=True)

        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting workers", total=None)

        class Bar(BulkObserver):
            def progress(self, progress: "BulkProgress") -> None:
                bar.update(
                    task, completed=progress.bytes_done, total=progress.bytes, description=progress_words(progress)
                )

            def warn(self, sentence: str) -> None:
                bar.console.print(f"regard: {sentence}", markup=False, highlight=False)

        yield Bar()


def progress_words(progress: "BulkProgress") -> str:
    left = "" if progress.seconds_left is None else f", {_clock(progress.seconds_left)} left"
    return (
        f"{progress.shards_done:,} of {progress.shards:,} shards, {progress.rows:,} rows, "
        f"{progress.rows_per_second:,.0f} rows/s, {progress.cpu_seconds / 3600:.2f} core-hours{left}"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
