"""`regard paper`: the paper's tables and figures, ours beside the published ones."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.tables import later, table2, table3, table4
from regard.cli.terminal.options import Json, grouped

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def paper() -> None:
    """Make the paper's tables and figures, and compare ours."""


@app.command("table1")
def table1(
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw time and memory into this .svg, .png or .pdf file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Table 1: the cost of each kind of layer, measured here.

    regard paper table1 --plot table1.svg

    Time and memory are those of mixing positions alone, without the projections that all layers share. It takes half a
    minute, in which the machine should do nothing else.
    """
    if plot is not None:
        from regard.paper.drawing import check_picture

        check_picture(plot)
    from regard.paper.table1.complexity import as_markdown, measure

    measured = measure()
    if plot is not None:
        from regard.paper.table1.plot import draw

        draw(measured, plot)
    if as_json:
        typer.echo(json.dumps({name: layer.as_dict() for name, layer in measured.items()}))
    else:
        typer.echo(as_markdown(measured))


app.command("table2")(grouped(table2.table2))
app.command("table3")(grouped(table3.table3))
app.command("table4")(grouped(table4.table4))
app.command("later")(later.later)


@app.command("lineage", hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lineage() -> None:
    """Reject the command, and name the one that replaces it."""
    from regard.errors import UserError

    raise UserError(
        "the models before the Transformer are systems of Table 2 now; run `regard paper table2 --run --data DIR "
        "--out DIR`, with --systems rnn,lstm,lstm-attention for some of them"
    )


@app.command("figures")
def figures(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to put the pictures into.")],
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the heads of this trained model.")
    ] = None,
    text: Annotated[
        str, typer.Option(help="The sentence whose attention is drawn.")
    ] = "The animal didn't cross the street because it was too tired.",
    as_json: Json = False,
) -> None:
    """Draw the paper's figures, and the heads of a model.

    The figures are positions, the causal mask, the learning rate and, with a model, its heads; and one that the paper
    takes for granted: how far back a gradient reaches in earlier models.
    """
    from regard.paper.figures import write_figures

    written = write_figures(out, model, text)
    if as_json:
        typer.echo(json.dumps({"out": str(out), "files": written}))
    else:
        typer.echo("\n".join(str(out / name) for name in written))
