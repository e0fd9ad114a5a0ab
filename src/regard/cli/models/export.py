"""`regard export`: write a model in another program's format, or with quantized weights."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli.terminal.options import Json

if TYPE_CHECKING:
    from regard.evaluate.rounding import ScoringText

MOST_LINES = 500  # lines of text on which the loss in BLEU is measured
MOST_LOSS = 0.3  # loss in BLEU above which a warning is printed


def export(
    model: Annotated[Path | None, typer.Option(help="The folder of a model.")] = None,
    to: Annotated[
        Literal["ctranslate2", "huggingface", "onnx", "regard"] | None,
        typer.Option(help="The format to write; regard is our own, with smaller weights."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where it is written; must not exist. Default for ctranslate2: in the model's folder, where `regard "
            "translate` finds it."
        ),
    ] = None,
    quantization: Annotated[
        Literal["int8", "int8_float32", "float16", "float32"] | None,
        typer.Option(
            help="How weights are rounded. float16 is only for regard, int8_float32 only for ctranslate2. [default: "
            "float32 for ctranslate2, int8 for regard]"
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A text, to measure what rounding costs in BLEU. [default: the run's validation set]"
        ),
    ] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    lines: Annotated[int, typer.Option(min=1, help="How many lines of the text to take.")] = MOST_LINES,
    target: Annotated[
        str | None, typer.Option("--into", metavar="CODE", help="Target language, for a model with several.")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own model card in Markdown, for regard's format; what is measured is added."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model for another program, or in fewer bytes.

    regard export --model runs/x/model --to ctranslate2 --quantization int8 --source valid.en --reference valid.de

    An export for CTranslate2 can be given to `regard translate --model`, too. A smaller model can be used wherever a
    model can.
    """
    rounding = _checked_rounding(model, to, out, quantization, source, reference, card)
    assert model is not None and to is not None
    own_card = None if card is None else _read(card)
    from regard.exchange.to_ctranslate2 import FOLDER
    from regard.saved.saved_model import model_folder

    model = model_folder(model)
    place = model / FOLDER if out is None else out
    report: dict[str, Any] = {"out": str(place), "format": to}
    if rounding is None:
        _to_other(model, place, to)
    else:
        text = _sample(model, source, reference, target)
        cost, note = _cost(model, to, rounding, text, lines, asked=source is not None)
        report |= {"quantization": rounding, **cost}
        _to_fewer_bytes(model, place, to, rounding, note, own_card, replace=out is None)
    if as_json:
        typer.echo(json.dumps(report))
        return
    typer.echo(f"{report['out']}: {model} for {to}")
    if "bleu" in report:
        exact, rounded = report["bleu_float32"], report["bleu"]
        typer.echo(
            f"{report['quantization']} costs {exact - rounded:.2f} BLEU: {rounded:.2f}, and {exact:.2f} with float32, "
            f"on {report['lines']:,} lines of {report['text']} ({report['signature']})"
        )


def _checked_rounding(
    model: Path | None,
    to: str | None,
    out: Path | None,
    quantization: str | None,
    source: str | None,
    reference: str | None,
    card: Path | None,
) -> Any:
    """Reject options that do not go together; return the quantization, None for a format without a choice."""
    from regard.errors import UserError

    if model is None or to is None:
        raise UserError("--model and --to are both needed; name the folder of a model and a format")
    rounding = _rounding(to, quantization)
    if rounding is None and (source or reference):
        raise UserError("--source and --reference tell what rounding costs; leave them out")
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; name two files aligned by line")
    if out is None and to != "ctranslate2":
        raise UserError("--out is missing; name the folder to write")
    if card is not None and to != "regard":
        raise UserError("--card is for --to regard; leave it out")
    if out is not None and out.exists():
        raise UserError(f"{out}: exists already; choose another place or remove it first")
    return rounding


def _sample(model: Path, source: str | None, reference: str | None, target: str | None) -> "ScoringText | None":
    """Return the text to measure the cost on: the given one, else the run's validation set."""
    from regard.evaluate.rounding import given_sample, validation_sample

    return given_sample(source, reference, target) if source and reference else validation_sample(model, target)


def _to_fewer_bytes(
    model: Path, out: Path, to: str, rounding: Any, note: str, card: str | None, *, replace: bool
) -> None:
    """Write a model with quantized weights: in our own format, or for CTranslate2."""
    if to == "regard":
        from regard.exchange.smaller import write_smaller

        write_smaller(model, out, rounding, note=note, card=card)
    else:
        from regard.exchange.to_ctranslate2 import export_ctranslate2

        export_ctranslate2(model, out, rounding, note=note, replace=replace)


def _read(card: Path) -> str:
    from regard.errors import UserError

    try:
        return card.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{card}: can't be read ({error}); give a text file in UTF-8") from None


def _to_other(model: Path, out: Path, to: str) -> None:
    if to == "huggingface":
        from regard.exchange.to_huggingface import export_huggingface

        export_huggingface(model, out)
    else:
        from regard.exchange.to_onnx import export_onnx

        export_onnx(model, out)


def _rounding(to: str, quantization: str | None) -> Any:
    """Return the quantization of a format; None for a format without a choice."""
    from regard.errors import UserError

    kinds = {"ctranslate2": ("float32", "int8", "int8_float32"), "regard": ("int8", "float16", "float32")}.get(to, ())
    if quantization is not None and quantization not in kinds:
        known = f"{to} has {', '.join(kinds)}" if kinds else "it is for --to ctranslate2 and --to regard"
        raise UserError(f"--quantization {quantization} is not possible here; {known}")
    return quantization or next(iter(kinds), None)


def _cost(
    model: Path, to: str, quantization: str, text: "ScoringText | None", lines: int, *, asked: bool
) -> tuple[dict[str, Any], str]:
    """Measure the loss in BLEU by quantization; return figures, and a note for the model card."""
    from regard.evaluate.rounding import rounding_cost
    from regard.saved.saved_model import read_saved

    if quantization == "float32" and not asked:
        return {}, ""
    if text is None and read_saved(model).task == "parsing":
        return {}, "`regard evaluate --model THIS --gold TREES` measures the parser as it is here."
    if text is None:
        note = "What rounding costs in BLEU was not measured; `regard export --source FILE --reference FILE` does."
        sys.stderr.write(f"regard: {note}\n")
        return {}, note
    whole, rounded = rounding_cost(model, to, quantization, text, lines)
    loss = whole.value - rounded.value
    if loss > MOST_LOSS:
        sys.stderr.write(f"regard: {quantization} costs {loss:.2f} BLEU, more than {MOST_LOSS}; float32 costs none\n")
    note = (
        f"BLEU on the first lines of {text.name}, at most {lines:,}: {rounded.value:.2f}, and {whole.value:.2f} with "
        f"float32 ({rounded.signature})."
    )
    figures = {"bleu_float32": whole.value, "bleu": rounded.value, "signature": rounded.signature}
    return {**figures, "text": text.name, "lines": min(lines, len(text.source))}, note
