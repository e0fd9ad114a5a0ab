"""Progress bars for sentences, bytes and phases."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import typer


@contextmanager
def sentences_done(total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a callable that reports finished sentences on a terminal; it prints nothing to a file or a pipe.

    Without a total, it also prints nothing if input or output is the terminal, since the two would mix.
    """
    if not sys.stderr.isatty() or (total is None and (sys.stdin.isatty() or sys.stdout.isatty())):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = SpinnerColumn() if total is None else BarColumn()
    columns = (bar, TextColumn("{task.completed:,.0f} sentences"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def bytes_done() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a callable for a file's name, bytes done and total: a bar for each on a terminal, elsewhere a line."""
    tasks: dict[str, Any] = {}
    if not sys.stderr.isatty():

        def tell(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = sys.stderr.write(f"{name} ...\n")

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:

        def show(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total)
            progress.update(tasks[name], completed=done, total=total)

        yield show


class PhaseProgress:
    """Progress on standard error: a bar on a terminal, elsewhere one line for each phase."""

    def __init__(self) -> None:
        self._phase = ""
        self._bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase != self._phase:
            self._begin(phase)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _begin(self, phase: str) -> None:
        self._phase = phase
        if self._bar is None:
            typer.echo(f"{phase} ...", err=True)
        else:
            self._task = self._bar.add_task(phase, total=None)
