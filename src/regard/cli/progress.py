"""How many sentences are done, shown on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def sentences_done(total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Somebody to tell of sentences done; to a file or a pipe nothing is said.

    Nothing either when we read from or write to the terminal ourselves: the two would mix.
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
