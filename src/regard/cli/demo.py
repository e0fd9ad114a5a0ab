"""`regard demo`: train a small model on dates from scratch, and write a report."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from textwrap import indent
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from regard.demo.lesson import Answered, Drawn
    from regard.train.log import Observer
    from regard.train.step import Update

OUT = Path("runs/demo")
SEED, TRAIN, HELD_OUT = 1, 24_000, 1000
PICTURED = "2025년 5월 3일"


def demo(
    out: Annotated[Path, typer.Option(help="Where data, run and report go; an earlier demo there is replaced.")] = OUT,
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a small model to read dates, in 2 minutes.

    It turns dates as people write them in six languages into ISO 8601.
    """
    from regard.demo.bundled import formatted_translations
    from regard.saved.bundled import bundled

    started = perf_counter()
    if not as_json:
        for name, model in bundled().items():
            if shown := formatted_translations(model):
                typer.echo("\n\n".join([f"Translated by {name}:", *shown]) + "\n")
    figures = _learn(out, steps, started, say=not as_json)
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False))


def _learn(out: Path, steps: int, started: float, *, say: bool) -> dict[str, Any]:
    """Train, test and write the report; return the figures."""
    from regard.demo import dates
    from regard.demo.demo_page import Findings, page
    from regard.demo.lesson import answers, by_language, curves, drawn, exact_match, learn
    from regard.files import write_bytes

    task = dates.task(SEED, train=TRAIN, held_out=HELD_OUT)
    sys.stderr.write(f"Learning from nothing: {len(task.train):,} dates in {len(dates.LANGUAGES)} languages.\n")
    with _watch(steps) as observer:
        translator = learn(task, out, steps, observer)
    known, new = answers(translator, task.dates), answers(translator, task.formats)
    examples = [one for language in dates.LANGUAGES for one in _first(known, language, 2) + _first(new, language, 1)]
    shares = zip(by_language(known).items(), by_language(new).values(), strict=True)
    picture, (loss, matches), commands = drawn(translator, PICTURED), curves(out), _next(out)
    found = Findings(
        len(task.train), exact_match(known), exact_match(new), HELD_OUT,
        {language: (share, other) for (language, share), other in shares},
        examples, picture, PICTURED, loss, matches, perf_counter() - started, commands,
    )  # fmt: skip
    report = out / "report.html"
    write_bytes(report, page(found).encode())
    figures: dict[str, Any] = {"exact_match": found.dates, "exact_match_new_formats": found.formats}
    figures |= {"seconds": round(found.seconds, 1), "report": str(report.resolve())}
    if say:
        _tell(figures, examples, picture, commands)
    return figures


def _first(answered: "list[Answered]", language: str, count: int) -> "list[Answered]":
    return [one for one in answered if one.example.language == language][:count]


def _next(out: Path) -> list[tuple[str, str]]:
    return [
        ("Ask it for a date of your own:", f'regard translate --model {quote(f"{out}/run/model")} "{PICTURED}"'),
        ("Look at its training again:", f"regard runs {quote(f'{out}/run')}"),
        (
            "Train on your own pairs of texts:",
            "regard train --train pairs.en pairs.de --out runs/mine --time 30m",
        ),
    ]


def _tell(
    figures: dict[str, Any], examples: "list[Answered]", picture: "Drawn", commands: list[tuple[str, str]]
) -> None:
    from regard.look.alignment_grid import alignment_grid, width

    typer.echo("\nDates that it never saw:\n")
    for one in examples:
        wrong = "" if one.right else f"  (wrong: {one.example.iso})"
        typer.echo(f"  {one.example.text}{' ' * (38 - width(one.example.text))}{one.answer}{wrong}")
    typer.echo("\nWhich character made which digit (what the decoder looked at most):\n")
    typer.echo(indent(alignment_grid(picture.source, picture.target, picture.pairs), "  "))
    typer.echo(f"\n{figures['exact_match']:.1%} of {HELD_OUT:,} held-out dates are exactly right, ", nl=False)
    typer.echo(f"{figures['exact_match_new_formats']:.1%} in held-out formats; {figures['seconds']:.0f} s in all.")
    typer.echo(f"\nThe report, with the attention and the curves:\n\n  {figures['report']}")
    for why, command in commands:
        typer.echo(f"\n{why}\n\n  {command}")


@contextmanager
def _watch(steps: int) -> "Iterator[Observer]":
    """Show loss and exact match: a progress bar on a terminal, elsewhere a line for each measurement."""
    if not sys.stderr.isatty():
        yield _Watcher(steps)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True)) as progress:
        yield _Watcher(steps, progress, progress.add_task("", total=steps))


class _Watcher:
    """An observer that displays loss and exact match."""

    def __init__(self, steps: int, progress: "Progress | None" = None, task: "TaskID | None" = None) -> None:
        self.steps, self.progress, self.task = steps, progress, task
        self.loss = self.match = ""

    def step(self, number: int, update: "Update") -> None:
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, completed=number)

    def phase(self, name: str) -> None:
        """Ignore phases: the validations of the demo take no time."""

    def record(self, record: dict[str, Any]) -> None:
        if record["event"] == "train":
            self.loss = f"loss {record.get('loss', float('nan')):.3f}"
        if record["event"] == "validation":
            self.match = f"exact match {record['exact_match']:.1%}"
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, description=f"{self.loss}  {self.match}")
        elif record["event"] == "validation":
            sys.stderr.write(f"step {record['step']:,} of {self.steps:,}: {self.loss}  {self.match}\n")

    def warn(self, sentence: str) -> None:
        sys.stderr.write(f"regard: {sentence}\n")
