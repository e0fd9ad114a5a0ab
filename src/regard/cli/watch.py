"""Display of a training run: a progress bar on a terminal, plain lines in a file."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from torch.utils.tensorboard import SummaryWriter

    from regard.train.loop import Observer
    from regard.train.step import Update

Record = dict[str, Any]
SEEN = 3600.0  # window of the time estimate in seconds; a step of a large model may take a minute


@contextmanager
def watch(steps: int, out: Path, *, tensorboard: bool) -> "Iterator[Observer]":
    """Yield an observer for a run of so many steps: a bar, plain lines, or nothing in processes that do not print."""
    if os.environ.get("RANK", "0") != "0":
        from regard.train.loop import Silence

        yield Silence()
        return
    events = _Events(out / "tensorboard") if tensorboard else None
    with closing(events) if events is not None else nullcontext():
        yield from _observer(steps, events)


def _observer(steps: int, events: "_Events | None") -> "Iterator[Observer]":
    if not sys.stderr.isatty():
        yield Plain(steps, events)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=SEEN) as progress:
        yield Terminal(progress, progress.add_task("", total=steps), events)


class Plain:
    """Print one line for each log entry."""

    def __init__(self, steps: int, events: "_Events | None") -> None:
        self.steps, self.events = steps, events

    def step(self, number: int, update: "Update") -> None:
        """Ignore single steps, which are too many for a file."""

    def record(self, record: Record) -> None:
        sys.stderr.write(f"step {record['step']}/{self.steps}: {sentence(record)}\n")
        if self.events is not None:
            self.events.send(record)

    def warn(self, sentence: str) -> None:
        sys.stderr.write(f"regard: {sentence}\n")


class Terminal:
    """Show a progress bar with speed, time left and the last validation; log lines scroll above it."""

    def __init__(self, progress: "Progress", task: "TaskID", events: "_Events | None") -> None:
        self.progress, self.task, self.events = progress, task, events
        self.speed = self.validation = ""

    def step(self, number: int, update: "Update") -> None:
        self.progress.update(self.task, completed=number)

    def record(self, record: Record) -> None:
        if record["event"] == "train":
            self.speed = f"loss {record.get('loss', float('nan')):.3f}  {record['tokens_per_second']:,.0f} tokens/s"
        else:
            self.progress.console.print(f"step {record['step']}: {sentence(record)}", highlight=False, markup=False)
        if record["event"] == "validation":
            bleu = f", {record['bleu']:.2f} BLEU" if "bleu" in record else ""
            self.validation = f"  validation {record['perplexity']:.2f} perplexity{bleu}"
        self.progress.update(self.task, completed=record["step"], description=self.speed + self.validation)
        if self.events is not None:
            self.events.send(record)

    def warn(self, sentence: str) -> None:
        self.progress.console.print(f"regard: {sentence}", highlight=False, markup=False)


def sentence(record: Record) -> str:
    """Format a log entry as a sentence."""
    figures = (
        f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in record.items()
        if key not in ("step", "event", "best", "pairs") and not key.endswith("_signature")
    )
    return f"{record['event']}  " + "  ".join(figures)


class _Events:
    """Write the log to TensorBoard; the event file is created with the first figure."""

    def __init__(self, folder: Path) -> None:
        if find_spec("tensorboard") is None:
            raise UserError("--tensorboard needs the tensorboard package; pip install 'regard[tensorboard]'")
        self.folder = folder
        self.writer: SummaryWriter | None = None

    def send(self, record: Record) -> None:
        if record["event"] not in ("train", "validation"):
            return
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # Purge events that a killed process wrote after its last checkpoint.
            self.writer = SummaryWriter(str(self.folder), purge_step=record["step"])
        for key, value in record.items():
            if isinstance(value, int | float) and key not in ("step", "best"):
                self.writer.add_scalar(f"{record['event']}/{key}", value, record["step"])
        self.writer.flush()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
