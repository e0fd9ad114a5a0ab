"""What a person sees of a training run: a moving line on a terminal, plain lines in a file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from regard.train.loop import Observer
    from regard.train.step import Update

Record = dict[str, Any]


@contextmanager
def watch(steps: int, out: Path, *, tensorboard: bool) -> "Iterator[Observer]":
    """Somebody to watch a run of so many steps: on a terminal, in plain lines, or not at all if others write."""
    if os.environ.get("RANK", "0") != "0":
        from regard.train.loop import Silence

        yield Silence()
        return
    events = _events(out) if tensorboard else None
    if not sys.stderr.isatty():
        yield Plain(steps, events)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Terminal(progress, progress.add_task("", total=steps), events)


class Plain:
    """One line for every line of the log."""

    def __init__(self, steps: int, events: Any) -> None:
        self.steps, self.events = steps, events

    def step(self, number: int, update: "Update") -> None:
        """A file need not hear of every step."""

    def record(self, record: Record) -> None:
        sys.stderr.write(f"step {record['step']}/{self.steps}: {sentence(record)}\n")
        _send(self.events, record)

    def warn(self, sentence: str) -> None:
        sys.stderr.write(f"regard: {sentence}\n")


class Terminal:
    """A bar with speed, time left and the last validation; what matters later scrolls by above it."""

    def __init__(self, progress: "Progress", task: "TaskID", events: Any) -> None:
        self.progress, self.task, self.events = progress, task, events
        self.speed = self.validation = ""

    def step(self, number: int, update: "Update") -> None:
        self.progress.update(self.task, completed=number)

    def record(self, record: Record) -> None:
        if record["event"] == "train":
            self.speed = f"loss {record.get('loss', float('nan')):.3f}  {record['tokens_per_second']:,.0f} tokens/s"
        else:
            self.progress.console.print(f"step {record['step']}: {sentence(record)}", highlight=False)
        if record["event"] == "validation":
            self.validation = f"  validation {record['perplexity']:.2f} perplexity"
        self.progress.update(self.task, completed=record["step"], description=self.speed + self.validation)
        _send(self.events, record)

    def warn(self, sentence: str) -> None:
        self.progress.console.print(f"regard: {sentence}", highlight=False, markup=False)


def sentence(record: Record) -> str:
    """A record as a person reads it."""
    figures = (
        f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in record.items()
        if key not in ("step", "event", "best", "pairs")
    )
    return f"{record['event']}  " + "  ".join(figures)


def _events(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--tensorboard needs the tensorboard package; pip install 'regard[tensorboard]'") from None
    return SummaryWriter(str(out / "tensorboard"))  # type: ignore[no-untyped-call]


def _send(events: Any, record: Record) -> None:
    if events is None or record["event"] not in ("train", "validation"):
        return
    for key, value in record.items():
        if isinstance(value, int | float) and key not in ("step", "best"):
            events.add_scalar(f"{record['event']}/{key}", value, record["step"])
    events.flush()
