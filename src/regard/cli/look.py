"""`regard look`: show attention and search of a translation as a page, a figure or data."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli.terminal.options import Beam, Decoding, Engine, Iterations, Target

if TYPE_CHECKING:
    from regard.look.inspection import Look
    from regard.look.sight import AttentionKind

LookFormat = Literal["html", "svg", "png", "pdf", "json", "bertviz"]
FIGURES = ("svg", "png", "pdf")
DATA = ("json", "bertviz")


def look(
    text: Annotated[str, typer.Argument(help="Text to translate and to look at.")],
    model: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="REGARD_MODEL",
            help="A model's folder, or a bundled one's name; of several, the first. [default: by --to; en-de]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write: .html; .svg, .png, .pdf; .json.")
    ] = None,
    kind: Annotated[
        Literal["cross", "encoder", "decoder"], typer.Option(help="For a figure: the kind of attention.")
    ] = "cross",
    layer: Annotated[int | None, typer.Option(help="For a figure: the layer, from 1.")] = None,
    head: Annotated[int | None, typer.Option(help="For a figure: the head, from 1.")] = None,
    format_: Annotated[
        LookFormat | None,
        typer.Option("--format", help="Format, if not by the ending of FILE; bertviz is for its head_view."),
    ] = None,
    target: Target = None,
    beam: Beam = None,
    decoding: Decoding = None,
    iterations: Iterations = None,
    engine: Engine = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as one JSON object.")] = False,
) -> None:
    """Look inside a translation: attention, search, next tokens.

    regard look --model runs/x/model "It was too tired." --out attention.html

    regard look --model runs/x/model "It was too tired." --layer 3 --head 2 --out head.svg

    The page needs no server and no network. A figure is of one head of the first sentence. Without --out, data go to
    stdout.
    """
    from regard.errors import UserError
    from regard.saved.bundled import default_model
    from regard.translate.load import load
    from regard.translate.translator import Options

    form = _format(out, format_)
    _check_figure(form, layer, head)
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    seen = load(*(model or [default_model(target=target)]), engine=engine).look(
        text, Options(beam=beam, decoding=decoding, iterations=iterations, target=target)
    )
    if not seen.sentences:
        raise UserError("the text is blank, so there is nothing to look at; give a sentence")
    if out is None:
        typer.echo(_content(seen, form))
        return
    report: dict[str, Any] = {"translation": seen.translation, "sentences": len(seen.sentences)}
    if layer is not None and head is not None:
        _draw(out, form, seen, kind, layer, head)
        report |= {"kind": kind, "layer": layer, "head": head}
    else:
        from regard.files import write_bytes

        write_bytes(out, _content(seen, form).encode())
    report["out"] = str(out)
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else f"{seen.translation}\n{out}")


def _format(out: Path | None, asked: LookFormat | None) -> str:
    from regard.errors import UserError

    if out is None:
        if asked in DATA:
            return asked
        raise UserError("--out is missing; name a file that ends with .html, .svg, .png, .pdf or .json")
    form = asked or out.suffix[1:]
    if form not in ("html", *FIGURES, *DATA):
        raise UserError(
            f"{out}: ends with neither .html, .svg, .png, .pdf nor .json; change its name, or give --format"
        )
    return form


def _check_figure(form: str, layer: int | None, head: int | None) -> None:
    from regard.errors import UserError

    if form in FIGURES and (layer is None or head is None):
        raise UserError("a figure shows one head; name it with --layer and --head, both from 1, or write an .html file")
    if form not in FIGURES and (layer, head) != (None, None):
        raise UserError("--layer and --head are for a figure; write an .svg, .png or .pdf file, or leave them out")


def _draw(out: Path, form: str, seen: "Look", kind: "AttentionKind", layer: int, head: int) -> None:
    from regard.look.figure import write_head

    missing = write_head(out, form, seen.sentences[0], kind, layer, head)
    if missing:
        sys.stderr.write(f"regard: no installed font has {' '.join(missing)}; install one, or write an .svg file\n")
    if len(seen.sentences) > 1:
        sys.stderr.write(f"regard: the figure is of the first of {len(seen.sentences)} sentences\n")


def _content(seen: "Look", form: str) -> str:
    from regard.look.page import page

    if form == "html":
        return page(seen.to_json())
    if form == "json":
        return seen.to_json()
    arguments = {
        name: [layer.tolist() for layer in value] if name.endswith("attention") else value
        for name, value in seen.bertviz().items()
    }
    return json.dumps(arguments, ensure_ascii=False)
