"""`regard evaluate`: how good translations are, with the settings of every figure beside it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from regard.decode.translator import Options, Translator


def evaluate(
    model: Annotated[
        list[Path] | None, typer.Option(help="The folder of a model to translate with; of several, an ensemble.")
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="Text to translate, a segment a line.")] = None,
    reference: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Its translation; give it again for each further one.")
    ] = None,
    hypothesis: Annotated[
        str | None, typer.Option(metavar="FILE", help="Measure these translations instead of making some.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Another system's, to compare with by paired bootstrap.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="What computes: torch, ctranslate2 (on a CPU), or auto for the faster that can.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="Where: cpu, cuda, cuda:1.")] = "cpu",
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    target: Annotated[str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")] = None,
    no_split: Annotated[bool, typer.Option("--no-split", help="Translate lines whole, not by sentence.")] = False,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Source tokens computed at once.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the translations here.")] = None,
    format_: Annotated[Literal["text", "latex"], typer.Option("--format", help="How to print the figures.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure translations: BLEU, chrF, TER, perplexity, by sentence length, against another system.

    regard evaluate --model runs/x/model --source test.en --reference test.de

    regard evaluate --hypothesis out.de --reference test.de --baseline other.de

    Files may be compressed; `regard translate` makes the same translations.
    """
    from regard.decode.load import load
    from regard.decode.translator import Options
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.report import report
    from regard.files import write_bytes

    if not reference:
        raise UserError("--reference is missing; name the file of right translations")
    if (hypothesis is None) == (not model):
        raise UserError("give either --model with --source, or --hypothesis; one of them is what is measured")
    if model and source is None:
        raise UserError("--source is missing; name the file to translate")
    names = [*reference, *filter(None, (source, hypothesis, baseline))]
    lines = dict(zip(names, read_aligned(names), strict=True))
    sources = None if source is None else lines[source]
    right = [lines[name] for name in reference]

    perplexity = None
    if hypothesis is not None:
        hypotheses = lines[hypothesis]
    else:
        assert model and sources is not None
        translator = load(*model, engine=engine, device=device)
        options = Options(beam=beam, alpha=alpha, target=target, split=not no_split, batch_tokens=batch_tokens)
        hypotheses = _translated(translator, sources, options)
        if translator.has_weights:
            perplexity = _perplexity(translator, sources, right[0], options)
    if out is not None:
        write_bytes(out, "".join(f"{line}\n" for line in hypotheses).encode())
    others = None if baseline is None else lines[baseline]
    figures = report(hypotheses, right, sources=sources, baseline=others, perplexity=perplexity)
    if as_json:
        typer.echo(json.dumps(figures.as_dict()))
    else:
        typer.echo(figures.as_latex() if format_ == "latex" else figures.as_text())


def _translated(translator: "Translator", sources: list[str], options: "Options") -> list[str]:
    """What `regard translate` would print."""
    from regard.cli.progress import sentences_done
    from regard.decode.sentences import one_line
    from regard.decode.translator import windows

    with sentences_done(len(sources)) as progress:
        translations = [one for window in windows(sources) for one in translator.window(window, options, progress)]
    return [one_line(translation.text) for translation in translations]


def _perplexity(translator: "Translator", sources: list[str], reference: list[str], options: "Options") -> float:
    from regard.decode.engines import BATCH_TOKENS
    from regard.evaluate.perplexity import perplexity, score_texts

    scored = score_texts(
        translator,
        sources,
        reference,
        target_language=options.target,
        batch_tokens=options.batch_tokens or BATCH_TOKENS,
    )
    return perplexity(scored)
