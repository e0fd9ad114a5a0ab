"""`regard export`: a saved model in another program's format."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from regard.evaluate.bleu import Score
    from regard.exchange.to_ctranslate2 import Quantization

MOST_LINES = 500  # of a text on which a loss is measured
MOST_LOSS = 0.3  # BLEU that rounded weights may cost


def export(
    model: Annotated[Path | None, typer.Option(help="The folder of a model.")] = None,
    to: Annotated[
        Literal["ctranslate2", "huggingface", "onnx"] | None, typer.Option(help="The format to write.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where it is written; must not exist. Default for ctranslate2: in the model's folder, where `regard "
            "translate` finds it."
        ),
    ] = None,
    quantization: Annotated[
        Literal["int8", "int8_float32", "float32"] | None,
        typer.Option(help="For ctranslate2: how weights are rounded. [default: float32, which is not at all]"),
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
        str | None, typer.Option("--into", metavar="CODE", help="Language, of a model of several.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a model for another program.

    regard export --model runs/x/model --to ctranslate2 --quantization int8 --source valid.en --reference valid.de

    An export for CTranslate2 can be given to `regard translate --model`, too.
    """
    from regard.errors import UserError

    if model is None or to is None:
        raise UserError("--model and --to are both needed; name the folder of a model and a format")
    if to != "ctranslate2" and (quantization or source or reference):
        raise UserError("--quantization, --source and --reference are for --to ctranslate2; leave them out")
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; name two files aligned by line")
    if to == "ctranslate2":
        report = _to_ctranslate2(model, out, quantization or "float32", source, reference, lines, target)
    elif out is None:
        raise UserError("--out is missing; name the folder to write")
    else:
        _to_other(model, out, to)
        report = {"out": str(out), "format": to}
    typer.echo(json.dumps(report) if as_json else f"{report['out']}: {model} for {to}")


def _to_other(model: Path, out: Path, to: str) -> None:
    if to == "huggingface":
        from regard.exchange.to_huggingface import export_huggingface

        export_huggingface(model, out)
    else:
        from regard.exchange.to_onnx import export_onnx

        export_onnx(model, out)


def _to_ctranslate2(
    model: Path,
    out: Path | None,
    quantization: "Quantization",
    source: str | None,
    reference: str | None,
    lines: int,
    target: str | None,
) -> dict[str, Any]:
    from regard.exchange.to_ctranslate2 import FOLDER, export_ctranslate2

    place = model / FOLDER if out is None else out
    report: dict[str, Any] = {"out": str(place), "format": "ctranslate2", "quantization": quantization}
    text = _given(source, reference, target) if source and reference else _validation(model, target)
    note = ""
    if text is not None and (quantization != "float32" or source is not None):
        whole, rounded = _measure(model, quantization, text, lines)
        loss = whole.value - rounded.value
        report |= {"bleu_float32": whole.value, "bleu": rounded.value, "signature": rounded.signature}
        note = (
            f"BLEU on the first lines of {text.name}, at most {lines:,}: {rounded.value:.2f}, and "
            f"{whole.value:.2f} with float32 ({rounded.signature})."
        )
        if loss > MOST_LOSS:
            sys.stderr.write(
                f"regard: {quantization} costs {loss:.2f} BLEU, more than {MOST_LOSS}; float32 costs none\n"
            )
    elif quantization != "float32":
        note = "What rounding costs in BLEU was not measured; `regard export --source FILE --reference FILE` does."
    export_ctranslate2(model, place, quantization, note=note, replace=out is None)
    return report


class _Text(NamedTuple):
    """What the cost of rounding is measured on."""

    name: str
    source: list[str]
    reference: list[str]
    target: str | None
    """The language to translate into, for a model of several."""


def _given(source: str, reference: str, target: str | None) -> _Text:
    from regard.evaluate.aligned import read_aligned

    sources, references = read_aligned([source, reference])
    return _Text(Path(source).name, sources, references, target)


def _validation(model: Path, target: str | None) -> _Text | None:
    """The validation set of the run that a model lies in, where it and its data still are."""
    from regard.config import read
    from regard.data.prepared import VALID_TEXTS, valid_texts
    from regard.train.run import RUN

    run = model.absolute().parent / RUN
    data = Path(read(run).data or "") if run.is_file() else Path()
    if not (data / VALID_TEXTS).is_file():
        return None
    pairs = valid_texts(data)
    tags = [pair.tag for pair in pairs if target is None or pair.tag in (target, f"<2{target}>")]
    chosen = [pair for pair in pairs if tags and pair.tag == tags[0]]
    if not chosen:
        return None
    sources, references = [pair.source for pair in chosen], [pair.target for pair in chosen]
    return _Text("the validation set", sources, references, chosen[0].tag)


def _measure(model: Path, quantization: "Quantization", text: _Text, lines: int) -> "tuple[Score, Score]":
    """BLEU with float32 and with rounded weights."""
    from regard.decode.load import convert
    from regard.decode.sentences import one_line
    from regard.decode.translator import Options
    from regard.evaluate.bleu import bleu
    from regard.model.saved import load_model

    scores = []
    kinds: tuple[Quantization, ...] = ("float32", quantization)
    for kind in kinds:
        translator = convert(model, load_model(model), kind, alone=True)
        translations = translator.stream(text.source[:lines], Options(target=text.target))
        scores.append(bleu([one_line(translation.text) for translation in translations], [text.reference[:lines]]))
    return scores[0], scores[1]
