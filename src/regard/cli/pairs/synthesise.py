"""`regard synthesise`: make training pairs from text in one language; the same command resumes it."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.terminal.options import Beam, Engine, SamplingOptions, Target


def synthesise(
    *,
    model: Annotated[Path, typer.Option(help="The model that translates: its folder, or a bundled one's name.")],
    text: Annotated[str, typer.Option(metavar="FILE", help="Text, a sentence a line; plain, .gz, .xz or .zst.")],
    out: Annotated[Path, typer.Option(metavar="TSV", help="Where the pairs go: source TAB target.")],
    kind: Annotated[
        Literal["back", "forward"],
        typer.Option(help="back: the translation is the source of a pair. forward: it is the target; to distil."),
    ] = "back",
    target: Target = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Drop pairs that a calibrated model is less sure of.")
    ] = None,
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Do not check which language lines and translations are in.")
    ] = False,
    max_characters: Annotated[int, typer.Option(min=1, help="Drop longer lines.")] = 1000,
    beam: Beam = None,
    sampling: SamplingOptions,
    engine: Engine = "auto",
    force: Annotated[bool, typer.Option("--force", help="Start over, and replace what --out holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Make training pairs from text in one language: back-translation, forward translation, distillation.

    regard synthesise --model runs/back/model --text mono.ko --out bt.tsv

    The same command resumes a run that was stopped or killed; no line is lost or doubled. Memory does not grow with the
    text. Lines that are blank, long or in another language are dropped and counted, and so are translations that repeat
    themselves, copy their source, are too short or below --min-confidence. --sample gives more varied sources (Edunov
    et al., 2018). Then prepare the pairs with a tag of their own: regard prepare --train pairs.tsv --tag '<real>'
    --train bt.tsv --tag '<bt>' ...
    """
    from regard.cli.terminal.progress import bytes_done
    from regard.pairs.synthesise import Synthesis
    from regard.pairs.synthesise import synthesise as run
    from regard.translate.translator import Options

    config = Synthesis(kind, min_confidence, not any_language, max_characters)
    options = Options(beam=beam, target=target, sampling=sampling.sampling())
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
