"""`regard evaluate`: measure translations or parses; every figure has its settings beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from regard.evaluate.bleu import Tokens
    from regard.evaluate.evaluation import Evaluation
    from regard.translate.translator import Options


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
    gold: Annotated[str | None, typer.Option(metavar="FILE", help="Right trees, to measure parses by.")] = None,
    parses: Annotated[str | None, typer.Option(metavar="FILE", help="A parser's trees of the same sentences.")] = None,
    engine: Annotated[
        str, typer.Option(help="What computes: torch, ctranslate2 (on a CPU), or auto for the faster that can.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="Where: cpu, cuda, cuda:1.")] = "cpu",
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    penalty: Annotated[Literal["paper", "average"] | None, typer.Option(help="Kind of length penalty.")] = None,
    decoding: Annotated[
        Literal["search", "blockwise", "mask-predict"] | None,
        typer.Option(help="How a text is written, if not in the model's own way."),
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Of mask-predict: passes; 10 by default.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of the coverage penalty; 0 is none.")] = None,
    target: Annotated[str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")] = None,
    no_split: Annotated[bool, typer.Option("--no-split", help="Translate lines whole, not by sentence.")] = False,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms to use: TSV (source TAB target), CSV or TBX.")
    ] = None,
    reliability: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw chrF over the model's confidence: .svg, .png or .pdf.")
    ] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Source tokens computed at once.")] = None,
    tokens: Annotated[
        Literal["13a", "intl", "zh", "char", "ja-mecab", "ko-mecab"],
        typer.Option("--tokenize", help="What sacreBLEU's BLEU counts: ko-mecab for Korean, zh for Chinese."),
    ] = "13a",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the translations here.")] = None,
    format_: Annotated[Literal["text", "latex"], typer.Option("--format", help="How to print the figures.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure translations: BLEU, chrF, TER, perplexity, by sentence length, against another system. Or parses: F1.

    regard evaluate --model runs/x/model --source test.en --reference test.de

    regard evaluate --hypothesis out.de --reference test.de --baseline other.de

    regard evaluate --gold gold.mrg --parses test.mrg

    regard evaluate --gold gold.mrg --model runs/x/model

    Files may be compressed; `regard translate` makes the same translations. Parses are measured as EVALB does with
    COLLINS.prm: one tree a line, and a blank line where the parser has found none.
    """
    from regard.errors import UserError

    if gold is not None or parses is not None:
        if gold is None or (parses is None) == (not model):
            raise UserError("--gold, the right trees, goes with either --parses or --model; name what is measured")
        of_search = {} if parses is None else {"beam": beam, "alpha": alpha}
        _reject_unused({"penalty": penalty, "beta": beta, "reliability": reliability, **of_search}, "with --gold")
        if parses is not None:
            _measure_parses(gold, parses, as_json)
            return
        _measure_parser(model or [], gold, engine, device, beam, alpha, batch_tokens, out, as_json)
        return

    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.bleu import metric
    from regard.evaluate.score_report import score_report
    from regard.translate.translator import Options

    if not reference:
        raise UserError("--reference is missing; name the file of right translations")
    if (hypothesis is None) == (not model):
        raise UserError("give either --model with --source, or --hypothesis; one of them is what is measured")
    if hypothesis is not None:
        searched: dict[str, object] = {
            "beam": beam,
            "alpha": alpha,
            "penalty": penalty,
            "beta": beta,
            "decoding": decoding,
            "iterations": iterations,
            "glossary": glossary,
            "reliability": reliability,
        }
        _reject_unused(searched, "with --hypothesis, which is translated already")
    if model and source is None:
        raise UserError("--source is missing; name the file to translate")
    metric(tokens)  # report a user's mistake before any work
    _check_places(out, reliability)
    names = [*reference, *filter(None, (source, hypothesis, baseline))]
    lines = dict(zip(names, read_aligned(names), strict=True))
    sources = None if source is None else lines[source]
    right = [lines[name] for name in reference]

    others = None if baseline is None else lines[baseline]
    if hypothesis is not None:
        _keep(lines[hypothesis], out)
        figures = score_report(lines[hypothesis], right, sources=sources, baseline=others, tokens=tokens)
    else:
        assert model and sources is not None
        options = Options(
            beam=beam,
            alpha=alpha,
            penalty=penalty,
            beta=beta,
            decoding=decoding,
            iterations=iterations,
            target=target,
            split=not no_split,
            batch_tokens=batch_tokens,
        )
        done = _translated(model, engine, device, sources, right, options, others, tokens, glossary, reliability)
        _keep(done.translations, out)
        figures = done.report
    if as_json:
        typer.echo(json.dumps(figures.as_dict()))
    else:
        typer.echo(figures.as_latex() if format_ == "latex" else figures.as_text())


def _translated(
    model: list[Path],
    engine: str,
    device: str,
    sources: list[str],
    references: list[list[str]],
    options: "Options",
    baseline: list[str] | None,
    tokens: "Tokens",
    glossary: Path | None,
    diagram: Path | None,
) -> "Evaluation":
    """Translate the sources with a model, and score the translations; draw their reliability if asked for."""
    from regard.cli.terminal.knowledge import informed
    from regard.cli.terminal.progress import sentences_done
    from regard.evaluate.evaluation import evaluate as measure
    from regard.paper.reliability import draw
    from regard.translate.load import load

    translator = load(*model, engine=engine, device=device)
    options = informed(translator, options, glossary, None)
    translator.request(options)
    with sentences_done(len(sources)) as progress:
        done = measure(
            translator,
            sources,
            references,
            options,
            baseline=baseline,
            tokens=tokens,
            reliability=diagram is not None,
            progress=progress,
            warn=_warn,
        )
    if diagram is not None and done.report.reliability is not None:
        draw(done.report.reliability, diagram)
    return done


def _check_places(out: Path | None, diagram: Path | None) -> None:
    """Report before any work what could not be written."""
    from regard.files import check_place
    from regard.paper.drawing import check_picture

    if diagram is not None:
        check_picture(diagram)
    for place in filter(None, (out, diagram)):
        check_place(place)


def _keep(lines: list[str], out: Path | None) -> None:
    from regard.files import write_bytes

    if out is not None:
        write_bytes(out, "".join(f"{line}\n" for line in lines).encode())


def _measure_parses(gold: str, parses: str, as_json: bool) -> None:
    from regard.evaluate.parse_report import measured, summary, table

    sentences = measured(gold, parses, lambda sentence: typer.echo(f"warning: {sentence}", err=True))
    if not as_json:
        typer.echo(table(summary(sentences)))
        return
    counted = list(sentences)
    each = [{name: getattr(one, name) for name in one._fields if name != "length"} for one in counted]
    typer.echo(json.dumps({"sentences": each, "summary": summary(counted)}))


def _reject_unused(options: Mapping[str, object], where: str) -> None:
    """Reject options of a search that does not take place."""
    from regard.errors import UserError

    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name} has no effect {where}; leave it out, or give --model and --source")


def _measure_parser(
    model: list[Path],
    gold: str,
    engine: str,
    device: str,
    beam: int | None,
    alpha: float | None,
    batch_tokens: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
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
    parser = load_parser(*model, engine="torch" if engine == "auto" else engine, device=device)
    options = ParseOptions(beam=beam, alpha=alpha, batch_tokens=batch_tokens)
    with sentences_done(2 * len(right)) as progress:
        report = measure_parser(parser, right, options, progress)
    _keep([str(one.tree) for one in report.parses["constrained"]], out)
    typer.echo(json.dumps(report.figures) if as_json else report.as_text())


def _warn(sentence: str) -> None:
    typer.echo(f"regard: {sentence}", err=True)
