"""`regard runs`: compare training runs in a table and a plot."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def runs(
    folders: Annotated[list[Path], typer.Argument(help="Folders of training runs.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the curves of loss into this .svg or .png file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare training runs: how far they are, their last losses, their best validation, their speed."""
    from regard.train.history import read_history

    histories = [read_history(folder) for folder in folders]
    if plot is not None:
        _draw(histories, plot)
    if as_json:
        typer.echo(json.dumps({history["run"]: history["summary"] for history in histories}))
    else:
        _print(histories)


COLUMNS = {
    "step": "step", "steps": "steps", "loss": "loss", "validation_perplexity": "valid ppl",
    "validation_bleu": "valid BLEU", "best_step": "best step", "tokens_per_second": "tokens per second",
    "hours": "hours",
}  # fmt: skip


def _print(histories: list[dict[str, Any]]) -> None:
    """Print a row for each run, and below it the settings that differ."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold")
    used = [key for key in COLUMNS if any(key in history["summary"] for history in histories)]
    for key in used:
        table.add_column(COLUMNS[key], justify="right")
    for history in histories:
        table.add_row(escape(history["run"]), *(_shown(history["summary"].get(key)) for key in used))
    console = Console()
    console.print(table)
    common = set.intersection(*(set(history["summary"]["differs"]) for history in histories))
    for history in histories:
        own = [setting for setting in history["summary"]["differs"] if setting not in common]
        if own:
            console.print(f"{history['run']}: {' '.join(own)}", highlight=False, markup=False, soft_wrap=True)


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.3f}" if cell < 1000 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else ""


def _draw(histories: list[dict[str, Any]], plot: Path) -> None:
    from regard.errors import UserError

    if plot.suffix not in (".svg", ".png", ".pdf"):
        raise UserError(f"{plot}: a plot ends in .svg, .png or .pdf")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("--plot needs matplotlib; pip install 'regard[paper]'") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for history in histories:
        (line,) = axes.plot(*history["training"], alpha=0.5, linewidth=1)
        axes.plot(*history["validation"], color=line.get_color(), marker=".", label=history["run"])
    axes.set_xlabel("step")
    axes.set_ylabel("negative log-likelihood per token")
    axes.set_title("thin: training, dotted: validation", fontsize="medium")
    axes.legend()
    figure.savefig(plot)
