"""`regard runs`: compare training runs in a table and a plot."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.terminal.options import Json


def runs(
    folders: Annotated[list[Path], typer.Argument(help="Folders of training runs.")],
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves of loss and BLEU into this .svg or .png file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare training runs: steps, losses, best validation, speed."""
    from regard.train.log import read_history

    histories = [read_history(folder) for folder in folders]
    if plot is not None:
        _draw(histories, plot)
    if as_json:
        typer.echo(json.dumps({history["run"]: history["summary"] for history in histories}))
    else:
        _print(histories)


COLUMNS = {
    "step": "step", "steps": "steps", "loss": "loss", "validation_perplexity": "valid ppl",
    "validation_bleu": "valid BLEU", "best_step": "best step", "model_bleu": "model BLEU",
    "tokens_per_second": "tokens per second", "hours": "hours",
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
    scored = [history for history in histories if history["bleu"][0]]
    figure = Figure(figsize=(12, 4.5) if scored else (8, 4.5), layout="constrained")
    panels = figure.subplots(1, 2 if scored else 1, squeeze=False)[0]
    for number, history in enumerate(histories):
        _draw_losses(panels[0], history, f"C{number}", several=len(histories) > 1)
        if history["bleu"][0]:
            _draw_bleu(panels[1], history, f"C{number}")
    if scored:
        panels[1].set_ylim(bottom=0)  # after all curves: it ends the scaling to them
    for panel in panels:
        panel.set_xlabel("step")
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize="small")
    figure.savefig(plot)


def _draw_losses(axes: Any, history: dict[str, Any], colour: str, *, several: bool) -> None:
    """Draw the losses of a run on training and on validation pairs."""
    name = f"{history['run']}: " if several else ""
    axes.plot(*history["training"], color=colour, alpha=0.5, linewidth=1, label=f"{name}training")
    if history["validation"][0]:
        axes.plot(*history["validation"], color=colour, marker="o", markersize=4, label=f"{name}validation")
    axes.set_ylabel("negative log-likelihood per token")


def _draw_bleu(axes: Any, history: dict[str, Any], colour: str) -> None:
    """Draw the BLEU of a run's checkpoints, and of the model that it wrote as a level."""
    axes.plot(*history["bleu"], color=colour, marker="o", markersize=4, label=f"{history['run']}: checkpoints")
    if "model_bleu" in history["summary"]:
        label = f"{history['run']}: the written model ({history['summary']['final']})"
        axes.axhline(history["summary"]["model_bleu"], color=colour, linestyle="--", linewidth=1, label=label)
    axes.set_ylabel("BLEU on the validation set")
