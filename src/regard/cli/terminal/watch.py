"""Display of a training run: a progress bar on a terminal, plain lines in a file."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from regard.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from torch.utils.tensorboard import SummaryWriter

    from regard.config.train import TrainConfig
    from regard.train.log import Observer
    from regard.train.step import Update

Record = dict[str, Any]
TRAINING = "training"
RECENT = 0.05  # weight of the newest step in the mean time of a step


@contextmanager
def watch(settings: "TrainConfig", out: Path, *, tensorboard: bool) -> "Iterator[Observer]":
    """Yield an observer of a run: a bar, plain lines, or nothing in processes that do not print."""
    if os.environ.get("RANK", "0") != "0":
        from regard.train.log import Silence

        yield Silence()
        return
    events = _Events(out / "tensorboard") if tensorboard else None
    with closing(events) if events is not None else nullcontext():
        yield from _observer(settings, events)


def _observer(settings: "TrainConfig", events: "_Events | None") -> "Iterator[Observer]":
    if not sys.stderr.isatty():
        yield Plain(settings.steps, events)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=settings.steps, left="")
        limit = None if settings.max_minutes is None else 60 * settings.max_minutes
        yield Terminal(progress, task, events, Clock(settings.steps, settings.checkpoint_every, limit=limit))


class Clock:
    """An estimate of the time left, with the validations and checkpoints that are still to come.

    `limit` are the seconds after which the run ends, whatever it has done (train.max_minutes).
    """

    def __init__(
        self, steps: int, every: int, now: Callable[[], float] = monotonic, *, limit: float | None = None
    ) -> None:
        self.steps, self.every, self.now = steps, every, now
        self.end = None if limit is None else now() + limit
        self.step_seconds: float | None = None
        self.pauses: list[float] = []
        self._last: float | None = None
        self._paused: float | None = None

    def step(self) -> None:
        """Note the end of a step; the time of a pause before it does not count."""
        now = self.now()
        if self._last is not None:
            took = now - self._last
            self.step_seconds = (
                took if self.step_seconds is None else self.step_seconds + RECENT * (took - self.step_seconds)
            )
        self._last = now

    def phase(self, name: str) -> None:
        """Note the beginning or the end of a pause."""
        now = self.now()
        if name != TRAINING:
            self._paused = now if self._paused is None else self._paused
        elif self._paused is not None:
            self.pauses.append(now - self._paused)
            self._paused, self._last = None, now

    def left(self, step: int) -> float | None:
        """Return the seconds from this step to the end of the run; None before they can be told."""
        if self.step_seconds is None:
            return None
        pause = sum(self.pauses) / len(self.pauses) if self.pauses else 0.0
        validations = (
            self.steps // self.every - step // self.every + (self.steps % self.every > 0) + 1
        )  # and the mean's
        left = (self.steps - step) * self.step_seconds + validations * pause
        return left if self.end is None else min(left, max(0.0, self.end - self.now()) + pause)


class Plain:
    """Print one line for each log entry."""

    def __init__(self, steps: int, events: "_Events | None") -> None:
        self.steps, self.events = steps, events

    def step(self, number: int, update: "Update") -> None:
        """Ignore single steps, which are too many for a file."""

    def phase(self, name: str) -> None:
        """Ignore phases: the log's lines come at their ends."""

    def record(self, record: Record) -> None:
        sys.stderr.write(f"step {record['step']}/{self.steps}: {sentence(record)}\n")
        if self.events is not None:
            self.events.send(record)

    def warn(self, sentence: str) -> None:
        sys.stderr.write(f"regard: {sentence}\n")


class Terminal:
    """Show a progress bar, what is done now, speed, time left and the last validation; log lines scroll above it."""

    def __init__(self, progress: "Progress", task: "TaskID", events: "_Events | None", clock: Clock) -> None:
        self.progress, self.task, self.events, self.clock = progress, task, events, clock
        self.speed = self.validation = ""
        self.now = TRAINING

    def step(self, number: int, update: "Update") -> None:
        self.clock.step()
        self.progress.update(self.task, completed=number, left=self._left(number))

    def phase(self, name: str) -> None:
        self.clock.phase(name)
        self.now = name
        self._show()

    def record(self, record: Record) -> None:
        if record["event"] == "train":
            self.speed = f"loss {record.get('loss', float('nan')):.3f}  {record['tokens_per_second']:,.0f} tokens/s"
        else:
            self.progress.console.print(f"step {record['step']}: {sentence(record)}", highlight=False, markup=False)
        if record["event"] == "validation":
            shown = {"perplexity": "perplexity", "bleu": "BLEU", "chrf": "chrF"}
            figures = ", ".join(f"{record[key]:.2f} {name}" for key, name in shown.items() if key in record)
            self.validation = f"  validation {figures}"
        self.progress.update(self.task, completed=record["step"])
        self._show()
        if self.events is not None:
            self.events.send(record)

    def warn(self, sentence: str) -> None:
        self.progress.console.print(f"regard: {sentence}", highlight=False, markup=False)

    def _left(self, step: int) -> str:
        left = self.clock.left(step)
        return "" if left is None else f"{timedelta(seconds=round(left))} left"

    def _show(self) -> None:
        doing = "" if self.now == TRAINING else f"{self.now} …  "
        self.progress.update(self.task, description=doing + self.speed + self.validation)


def sentence(record: Record) -> str:
    """Format a log entry as a sentence."""
    figures = (
        f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in record.items()
        if key not in ("step", "event", "best", "pairs", "pauses") and not key.endswith("_signature")
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
