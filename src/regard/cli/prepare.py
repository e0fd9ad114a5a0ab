"""`regard prepare`: encode text pairs as token ids on disk."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.prepare_options import CorpusOptions, FilterOptions, VocabularyOptions, given_values
from regard.cli.terminal.options import SkipInvalid

if TYPE_CHECKING:
    from regard.config.data import CorpusConfig, PrepareConfig


def prepare(
    *,
    texts: CorpusOptions,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to make.")] = None,
    tokens: VocabularyOptions,
    filters: FilterOptions,
    skip_invalid: SkipInvalid = False,
    cores: Annotated[int | None, typer.Option(min=1, help="Processes to use.", show_default="all")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace prepared data that is at --out already.")] = False,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Prepare nothing; compare a folder with its checksums.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Make training data: normalise, filter, learn subwords, encode.

    regard prepare --train train.en train.de --out DIR

    regard prepare --task denoise --text mono.ko mono.en --vocabulary 8000 --out DIR

    regard prepare --task parsing --train trees.mrg --valid dev.mrg --vocabulary 8000 --out DIR

    regard prepare --task labels --train texts.tsv --valid dev.tsv --out DIR

    --train and --valid take the words that follow them, up to the next option. The folder is made whole or not at all.
    """
    from regard.cli.terminal.progress import PhaseProgress
    from regard.errors import UserError

    if check is not None:
        _check(check, as_json)
        return
    tokens.check(texts.task)
    texts.check()
    training, validation = texts.configs()
    config = _config(training, texts, tokens, filters, skip_invalid=skip_invalid)
    from regard.data.prepare import prepare as run
    from regard.data.prepare_report import as_text

    if out is None:
        raise UserError("--out is missing; name the folder to make")
    with PhaseProgress() as progress:
        report = run(training, validation, out, config, cores=cores, force=force, progress=progress)
    chosen = not (tokens.vocabulary or tokens.subwords_from)
    typer.echo(report.model_dump_json() if as_json else as_text(report, bar=_bar(), chosen=chosen))


def _config(
    training: "list[CorpusConfig]",
    texts: CorpusOptions,
    tokens: VocabularyOptions,
    filters: FilterOptions,
    *,
    skip_invalid: bool,
) -> "PrepareConfig":
    """Build the config from options and defaults; languages are inferred from file names."""
    from regard.config.checked import check
    from regard.config.data import PrepareConfig
    from regard.data.corpus import languages

    told = {languages(corpus.files) for corpus in training}
    source, target = (told.pop() if len(told) == 1 else None) or (None, None)
    given = {
        "task": texts.task,
        "source_language": texts.source_language or source,
        "target_language": texts.target_language or target,
        "valid_pairs": texts.valid_pairs,
        "skip_invalid": skip_invalid,
        **tokens.values(),
    }
    by_amount = {} if texts.task == "parsing" else {"valid_pairs": None}
    return check(PrepareConfig, {**by_amount, **given_values(given), "filters": filters.values()}, "regard prepare")


def _check(directory: Path, as_json: bool) -> None:
    from regard.data.prepared import Prepared

    prepared = Prepared.open(directory, contents=True)
    pairs = sum(map(len, prepared.train))
    typer.echo(json.dumps({"whole": True, "pairs": pairs}) if as_json else f"{directory}: whole, {pairs:,} pairs")


def _bar() -> str:
    """Return the character of a histogram's bars that the terminal can show."""
    return "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"
