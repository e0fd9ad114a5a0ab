"""`regard synthesise`: make training pairs of text in one language; the same command goes on after a stop."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer


def synthesise(
    model: Annotated[Path, typer.Option(help="The model that translates; its folder, or a bundled one's name.")],
    text: Annotated[str, typer.Option(metavar="FILE", help="Text, a sentence a line; plain, .gz, .xz or .zst.")],
    out: Annotated[Path, typer.Option(metavar="TSV", help="Where the pairs go: source TAB target.")],
    kind: Annotated[
        Literal["back", "forward"],
        typer.Option(help="back: the translation is the source of a pair. forward: it is the target; to distil."),
    ] = "back",
    target: Annotated[str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Drop pairs that a calibrated model is less sure of.")
    ] = None,
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Do not check which language lines and translations are in.")
    ] = False,
    max_characters: Annotated[int, typer.Option(min=1, help="Drop longer lines.")] = 1000,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw translations at random: more varied sources (Edunov et al., 2018).")
    ] = False,
    temperature: Annotated[float, typer.Option(help="When drawing: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="When drawing: only from the k likeliest tokens.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="When drawing.")] = 0,
    engine: Annotated[str, typer.Option(help="What computes: torch, native, ctranslate2, or auto.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Start over, and replace what --out holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Make training pairs of text in one language: back-translation, forward translation, distillation.

    regard synthesise --model runs/back/model --text mono.ko --out bt.tsv

    Stopped or killed, the same command goes on, and no line is lost or doubled; OUT.progress.json keeps where it is.
    Memory does not grow with the text. Blank and long lines, another language, translations that repeat themselves, are
    copied or too short, and those below --min-confidence are dropped and counted. Then prepare the pairs with a tag of
    their own: regard prepare --train pairs.tsv --tag '<real>' --train bt.tsv --tag '<bt>' ...
    """
    from regard.cli.terminal.progress import bytes_done
    from regard.errors import UserError
    from regard.pairs.synthesise import Synthesis
    from regard.pairs.synthesise import synthesise as run
    from regard.translate.translator import Options

    if not sample and (temperature, top_k, seed) != (1.0, 0, 0):
        raise UserError("--temperature, --top-k and --seed are for drawing at random; add --sample")
    sampling = None
    if sample:
        from regard.search.sampling import Sampling

        sampling = Sampling(temperature=temperature, top_k=top_k, seed=seed)
    config = Synthesis(kind, min_confidence, not any_language, max_characters)
    options = Options(beam=beam, target=target, sampling=sampling)
    with bytes_done() as show:
        report = run(
            model, text, out, config, options=options, engine=engine, force=force,
            progress=lambda done, total: show(text, done, total),
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps({"out": str(out), **report.as_dict()}, ensure_ascii=False))
        return
    typer.echo(f"lines      {report.lines:,} read, {report.written:,} pairs written: {out}")
    if report.dropped:
        typer.echo("dropped    " + ", ".join(f"{count:,} {why}" for why, count in sorted(report.dropped.items())))
