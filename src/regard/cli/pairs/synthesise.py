"""`regard synthesise`: make training pairs from text in one language; the same command resumes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli.terminal.options import Beam, ClusterOptions, Engine, SamplingOptions, Target

if TYPE_CHECKING:
    from regard.pairs.synthesise import Synthesis
    from regard.translate.translator import Options


def synthesise(
    *,
    model: Annotated[Path, typer.Option(help="The model that translates: its folder, or a bundled one's name.")],
    text: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Text, a sentence a line; plain, .gz, .xz or .zst. With --cluster: a pattern of files."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(metavar="TSV", help="Where the pairs go: source TAB target. With --cluster: a folder."),
    ],
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
    bulk: ClusterOptions,
    force: Annotated[bool, typer.Option("--force", help="Start over, and replace what --out holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Make training pairs from text in one language.

    For back-translation, forward translation and distillation.

    regard synthesise --model runs/back/model --text mono.ko --out bt.tsv

    regard synthesise --cluster local --model runs/back/model --text 'mono/*.txt.zst' --out bt/

    The same command resumes a run that was stopped or killed; no line is lost or doubled. Memory does not grow with the
    text. Lines that are blank, long or in another language are dropped and counted, and so are translations that repeat
    themselves, copy their source, are too short or below --min-confidence. --sample gives more varied sources (Edunov
    et al., 2018). Then prepare the pairs with a tag of their own: regard prepare --train pairs.tsv --tag '<real>'
    --train bt.tsv --tag '<bt>' ...

    On a cluster each file of text gives a file of the same pairs: mono/1.txt.zst gives bt/1.tsv.zst. Run again, it does
    what is missing.
    """
    from regard.pairs.synthesise import Synthesis
    from regard.translate.translator import Options

    bulk.check_alone()
    config = Synthesis(kind, min_confidence, not any_language, max_characters)
    options = Options(beam=beam, target=target, sampling=sampling.sampling())
    if bulk.cluster is None:
        _one_file(model, text, out, config, options, engine=engine, force=force, as_json=as_json)
    else:
        _many_files(
            text, out, config, as_json=as_json, model=model, options=options, engine=engine, force=force,
            cluster=bulk.cluster, workers=bulk.workers, cores=bulk.cores or 1,
        )  # fmt: skip


def _one_file(
    model: Path, text: str, out: str, config: "Synthesis", options: "Options", *, as_json: bool, **settings: Any
) -> None:
    """Make the pairs of one file in this process."""
    from regard.cli.terminal.progress import bytes_done
    from regard.pairs.synthesise import synthesise as run

    with bytes_done() as show:
        report = run(
            model, text, out, config, options=options, **settings,
            progress=lambda done, total: show(text, done, total),
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps({"out": out, **report.as_dict()}, ensure_ascii=False))
        return
    _print_lines(report.lines, report.written, report.dropped, out)


def _many_files(text: str, out: str, config: "Synthesis", *, as_json: bool, **settings: Any) -> None:
    """Make the pairs of every file of a pattern on a cluster."""
    from regard.cli.terminal.cluster import check_failures, effort, watched
    from regard.pairs.synthesise_shards import synthesise_shards

    with watched() as observer:
        report = synthesise_shards(text, out, config, observer=observer, **settings)
    if as_json:
        figures = asdict(report)
        counts = {"lines": figures.pop("lines_in"), "written": figures.pop("lines_out"), "dropped": report.dropped}
        typer.echo(json.dumps({"out": out, **counts, "done": not report.failed, **figures}, ensure_ascii=False))
    else:
        _print_lines(report.lines_in, report.lines_out, report.dropped, out)
        typer.echo(f"shards     {report.shards:,}; {effort(report)}")
    check_failures(report)


def _print_lines(read: int, written: int, dropped: Mapping[str, int], out: str) -> None:
    typer.echo(f"lines      {read:,} read, {written:,} pairs written: {out}")
    if dropped:
        typer.echo("dropped    " + ", ".join(f"{count:,} {why}" for why, count in sorted(dropped.items())))
