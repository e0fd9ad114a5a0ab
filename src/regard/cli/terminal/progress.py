"""Progress bars for sentences and bytes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
