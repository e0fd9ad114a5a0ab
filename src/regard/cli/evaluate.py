"""`regard evaluate`: measure translations or parses; every figure has its settings beside it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from regard.cli.terminal.options import DecodingOptions, Json, Models, Source

if TYPE_CHECKING:
    from regard.evaluate.bleu import Tokens
    from regard.evaluate.evaluation import Evaluation


SEARCHED = ("beam", "alpha", "penalty", "beta", "decoding", "iterations", "glossary")


def evaluate(
    *,
    model: Models = None,
    source: Source = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Reference translation; may be given several times."),
    ] = None,
    hypothesis: Annotated[
        str | None, typer.Option(metavar="FILE", help="Translations to measure, instead of a model.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another system's translations, to compare with."),
    ] = None,
    gold: Annotated[str | None, typer.Option(metavar="FILE", help="Gold trees, to measure parses by.")] = None,
    parses: Annotated[str | None, typer.Option(metavar="FILE", help="A parser's trees of the same sentences.")] = None,
    search: DecodingOptions,
    reliability: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw chrF over the model's confidence: .svg, .png or .pdf.")
    ] = None,
    tokens: Annotated[
        Literal["13a", "intl", "zh", "char", "ja-mecab", "ko-mecab"],
        typer.Option("--tokenize", help="Tokenizer of sacreBLEU: ko-mecab for Korean, zh for Chinese."),
    ] = "13a",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the translations here.")] = None,
    format_: Annotated[Literal["text", "latex"], typer.Option("--format", help="Format of the figures.")] = "text",
    as_json: Json = False,
) -> None:
    """Measure translations (BLEU, chrF, TER) or parses (F1).

    With a model, also perplexity; with --baseline, a comparison with another system.

    regard evaluate --model runs/x/model --source test.en --reference test.de

    regard evaluate --hypothesis out.de --reference test.de --baseline other.de

    regard evaluate --gold gold.mrg --parses test.mrg

    regard evaluate --gold gold.mrg --model runs/x/model

    Files may be compressed; `regard translate` makes the same translations. Parses are measured as EVALB does with
    COLLINS.prm: one tree a line, and a blank line where the parser has found none.
    """
    if reliability is not None:
        _check_diagram(reliability, bool(model) and gold is None)
    if gold is not None or parses is not None:
        _evaluate_parses(model or [], gold, parses, search, out, as_json)
        return
    texts = _read(model, source, reference, hypothesis, baseline, search, tokens, out)
    if texts.hypothesis is None:
        done = _translated(model or [], texts, search, tokens, reliability)
        translations, figures = done.translations, done.report
    else:
        from regard.evaluate.score_report import score_report

        translations = texts.hypothesis
        figures = score_report(
            translations, texts.references, sources=texts.source, baseline=texts.baseline, tokens=tokens
        )
    _keep(translations, out)
    if as_json:
        typer.echo(json.dumps(figures.as_dict()))
    else:
        typer.echo(figures.as_latex() if format_ == "latex" else figures.as_text())


class _Texts(NamedTuple):
    """The files to measure, line by line; None for those that were not named."""

    references: list[list[str]]
    source: list[str] | None
    hypothesis: list[str] | None
    baseline: list[str] | None


def _read(
    model: list[Path] | None,
    source: str | None,
    reference: list[str] | None,
    hypothesis: str | None,
    baseline: str | None,
    search: DecodingOptions,
    tokens: "Tokens",
    out: Path | None,
) -> _Texts:
    """Reject options that do not go together, and read the files."""
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.bleu import metric
    from regard.files import check_place

    if not reference:
        raise UserError("--reference is missing; name the file of reference translations")
    if (hypothesis is None) == (not model):
        raise UserError("give either --model with --source, or --hypothesis; one of them is what is measured")
    if hypothesis is not None:
        _reject_unused(search, SEARCHED, "with --hypothesis, which is translated already")
    if model and source is None:
        raise UserError("--source is missing; name the file to translate")
    metric(tokens)  # report a user's mistake before any work
    if out is not None:
        check_place(out)
    names = [*reference, *filter(None, (source, hypothesis, baseline))]
    lines = dict(zip(names, read_aligned(names), strict=True))
    others = (None if name is None else lines[name] for name in (source, hypothesis, baseline))
    return _Texts([lines[name] for name in reference], *others)


def _check_diagram(path: Path, translating: bool) -> None:
    """Reject a diagram that could not be drawn before any work is done."""
    from regard.errors import UserError
    from regard.files import check_place
    from regard.paper.drawing import check_picture

    if not translating:
        raise UserError(
            "--reliability has no effect without translations of a model; leave it out, or give --model and --source"
        )
    check_picture(path)
    check_place(path)


def _translated(
    model: list[Path], texts: _Texts, search: DecodingOptions, tokens: "Tokens", diagram: Path | None
) -> "Evaluation":
    """Translate the sources with a model, and score the translations; draw their reliability if asked for."""
    from regard.cli.terminal.knowledge import with_knowledge
    from regard.cli.terminal.progress import sentences_done
    from regard.evaluate.evaluation import evaluate as measure
    from regard.translate.load import load

    assert texts.source is not None
    translator = load(*model, engine=search.engine, device=search.device)
    options = with_knowledge(translator, search.options(), search.glossary, None)
    translator.request(options)
    with sentences_done(len(texts.source)) as progress:
        done = measure(
            translator, texts.source, texts.references, options, baseline=texts.baseline, tokens=tokens,
            reliability=diagram is not None, progress=progress, warn=_warn,
        )  # fmt: skip
    if diagram is not None and done.report.reliability is not None:
        from regard.paper.reliability import draw

        draw(done.report.reliability, diagram)
    return done


def _keep(lines: list[str], out: Path | None) -> None:
    from regard.files import write_bytes

    if out is not None:
        write_bytes(out, "".join(f"{line}\n" for line in lines).encode())


def _evaluate_parses(
    model: list[Path], gold: str | None, parses: str | None, search: DecodingOptions, out: Path | None, as_json: bool
) -> None:
    """Measure a file of parses, or the parses that a model makes."""
    from regard.errors import UserError

    if gold is None or (parses is None) == (not model):
        raise UserError("--gold, the right trees, goes with either --parses or --model; name what is measured")
    _reject_unused(
        search, ("penalty", "beta") if parses is None else ("penalty", "beta", "beam", "alpha"), "with --gold"
    )
    if parses is not None:
        _measure_parses(gold, parses, as_json)
    else:
        _measure_parser(model, gold, search, out, as_json)


def _measure_parses(gold: str, parses: str, as_json: bool) -> None:
    from regard.evaluate.parse_report import measured, summary, table

    sentences = measured(gold, parses, lambda sentence: typer.echo(f"warning: {sentence}", err=True))
    if not as_json:
        typer.echo(table(summary(sentences)))
        return
    counted = list(sentences)
    each = [{name: getattr(one, name) for name in one._fields if name != "length"} for one in counted]
    typer.echo(json.dumps({"sentences": each, "summary": summary(counted)}))


def _reject_unused(search: DecodingOptions, names: Sequence[str], where: str) -> None:
    """Reject options of a search that does not take place."""
    from regard.errors import UserError

    for name in names:
        if getattr(search, name) is not None:
            raise UserError(f"--{name} has no effect {where}; leave it out, or give --model and --source")


def _measure_parser(model: list[Path], gold: str, search: DecodingOptions, out: Path | None, as_json: bool) -> None:
    """Parse the sentences of gold trees, and measure; the parses with the constraint go to `out`."""
    from regard.cli.terminal.progress import sentences_done
    from regard.data.lines import shown, text_lines
    from regard.evaluate.parser_report import measure_parser
    from regard.files import check_place
    from regard.text.trees import read_trees
    from regard.translate.load import load_parser
    from regard.translate.parser import ParseOptions

    if out is not None:
        check_place(out)
    right = list(read_trees(text_lines(gold), shown(gold)))
    parser = load_parser(*model, engine="torch" if search.engine == "auto" else search.engine, device=search.device)
    options = ParseOptions(beam=search.beam, alpha=search.alpha, batch_tokens=search.batch_tokens)
    with sentences_done(2 * len(right)) as progress:
        report = measure_parser(parser, right, options, progress)
    _keep([str(one.tree) for one in report.parses["constrained"]], out)
    typer.echo(json.dumps(report.figures) if as_json else report.as_text())


def _warn(sentence: str) -> None:
    typer.echo(f"regard: {sentence}", err=True)
