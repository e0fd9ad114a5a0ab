"""`regard model`: print the parts and the cost of a preset or a run file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.terminal.options import Json

if TYPE_CHECKING:
    from regard.config.presets import Paper
    from regard.model.cost import Cost


def model(
    name: Annotated[str, typer.Argument(metavar="PRESET", help="A preset, such as base or C-N2, or a .toml run file.")],
    vocabulary: Annotated[int | None, typer.Option(help="Count for this many tokens instead of the preset's.")] = None,
    source_tokens: Annotated[int, typer.Option(min=1, help="Source length that operations are counted for.")] = 25,
    target_tokens: Annotated[int, typer.Option(min=1, help="Target length that operations are counted for.")] = 25,
    as_json: Json = False,
) -> None:
    """Print a preset's parts, parameters, memory and operations.

    The parameters stand beside the paper's count.
    """
    from regard.config.presets import paper_figures, preset, read

    changes = {} if vocabulary is None else {"model": {"vocabulary": vocabulary}}
    is_file = name.endswith(".toml")
    config = read(Path(name), **changes) if is_file else preset(name, **changes)
    paper = None if is_file else paper_figures(name)

    from regard.model.cost import cost

    figures = cost(config.model, source_tokens, target_tokens)
    if as_json:
        published = None if paper is None or paper.parameters is None else round(paper.parameters * 1e6)
        settings = config.model.model_dump()
        report = {"name": name, **figures.as_dict(), "paper_parameters": published, "model": settings}
        typer.echo(json.dumps(report))
    else:
        _print(name, figures, paper)


def _print(name: str, figures: "Cost", paper: "Paper | None") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=name, title_justify="left")
    table.add_column("part")
    table.add_column("parameters", justify="right")
    table.add_column("share", justify="right")
    for part, count in figures.parts.items():
        table.add_row(part, f"{count:,}", f"{count / figures.parameters:.1%}")
    table.add_section()
    table.add_row("all", f"{figures.parameters:,}", "")
    if paper is not None and paper.parameters is not None:
        table.add_row("the paper says", f"{paper.parameters:g} M", "")
    console = Console()
    console.print(table)
    pair = f"{figures.source_tokens} source and {figures.target_tokens} target tokens"
    console.print(f"weights        {figures.weights_bytes / 2**20:,.1f} MiB in float32")
    console.print(f"training       {figures.training_bytes / 2**20:,.1f} MiB for weights, gradients and Adam's moments")
    console.print(f"forward pass   {figures.forward_flops / 1e9:,.3f} GFLOP for {pair}")
    console.print(f"training step  {figures.training_flops / 1e9:,.3f} GFLOP for the same")
