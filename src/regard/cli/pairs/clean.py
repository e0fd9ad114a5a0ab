"""`regard clean`: drop pairs in another language, near-duplicates, and those that a model finds unlikely."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import SkipInvalid


def clean(
    files: Annotated[list[str], typer.Argument(metavar="FILE [FILE]", help="Two files by line, or one TSV or JSON.")],
    out: Annotated[Path, typer.Option(metavar="TSV", help="File for the pairs that are kept.")],
    check_language: Annotated[
        bool, typer.Option("--check-language", help="Drop pairs with a side in another language.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--from", metavar="CODE", help="Source language. [default: that of train.en]")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Target language. [default: that of train.de]")
    ] = None,
    near_duplicates: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SIMILARITY", help="Drop pairs so similar to an earlier one, such as 0.7."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Drop pairs that this model finds unlikely, both ways (dual cross-entropy)."),
    ] = None,
    back_model: Annotated[
        Path | None, typer.Option(help="The model from target to source, if --model has one direction only.")
    ] = None,
    keep: Annotated[
        float | None, typer.Option(min=0, max=1, help="With --model: the share to keep.", show_default="0.9")
    ] = None,
    skip_invalid: SkipInvalid = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Drop pairs by language, similarity and probability.

    regard clean train.en train.ko --check-language --near-duplicates 0.7 --out clean.tsv

    regard clean clean.tsv --model runs/both/model --keep 0.9 --out cleaner.tsv

    The remaining pairs stay in order. The output is written whole or not at all.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.errors import UserError
    from regard.pairs.clean import Cleaning
    from regard.pairs.clean import clean as run

    if model is None and (keep is not None or back_model is not None):
        raise UserError("--keep and --back-model go with --model, which scores the pairs; give it, or leave them out")
    if len(files) > 2:
        raise UserError(f"{len(files)} files, but a corpus has one or two; clean one corpus at a time")
    codes = _languages(files, source, target, checked=check_language)
    cleaning = Cleaning(codes, near_duplicates, model, back_model, 0.9 if keep is None else keep, skip_invalid)
    with sentences_done(0) as progress:
        report = run(files, out, cleaning, progress=progress)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **report.as_dict()}, ensure_ascii=False))
        return
    typer.echo(f"pairs      {report.read:,} read, {report.written:,} kept: {out}")
    if report.dropped:
        typer.echo("dropped    " + ", ".join(f"{count:,} {why}" for why, count in sorted(report.dropped.items())))


def _languages(files: list[str], source: str | None, target: str | None, *, checked: bool) -> tuple[str, str] | None:
    """Return the languages to check pairs by: the given ones, else those of the files' names; None if unchecked."""
    from regard.data.corpus import languages
    from regard.errors import UserError

    if not checked:
        if source or target:
            raise UserError("--from and --to are for --check-language; add it, or leave them out")
        return None
    told = languages(files) or (None, None)
    read, written = source or told[0], target or told[1]
    if read is None or written is None:
        raise UserError("--check-language needs the languages; name them with --from and --to")
    return read, written
