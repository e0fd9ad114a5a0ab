"""Translate a document for `regard translate page.html`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.documents.segment import Segment, Translated
    from regard.translate.translator import Options, Translator

STANDARD_OUTPUT = "-"


def translate_document(
    translator: "Translator",
    path: Path,
    options: "Options",
    out: str | None,
    *,
    force: bool,
    bilingual: bool,
    report: Path | None,
) -> None:
    """Translate a file to `out`, or beside the source; the output is written atomically."""
    from regard.files import check_place, disk_mistakes, write_bytes, write_json
    from regard.translate.document import place_for, translated

    place = None if out == STANDARD_OUTPUT else place_for(translator, path, out, options, force=force)
    if report is not None:
        check_place(report)
    done = translated(
        translator,
        path,
        options,
        bilingual=bilingual,
        translate=lambda found: _translations(translator, found, options),
    )
    if report is not None:
        with disk_mistakes(report):
            write_json(report, {"file": str(path), **done.report.as_dict()})
    if place is None:
        sys.stdout.buffer.write(done.content)
        return
    with disk_mistakes(place):
        write_bytes(place, done.content)
    count, doubtful, remarked = done.report.texts, len(done.report.unsure), len(done.report.doubtful)
    typer.echo(
        f"{place}: {count:,} {'text' if count == 1 else 'texts'} of {path}"
        + (f"; {doubtful:,} with formatting whose place is unsure" if doubtful and report is not None else "")
        + (f"; {remarked:,} not to be trusted or left untranslated, which --report names" if remarked else "")
    )


def _translations(translator: "Translator", found: Sequence["Segment"], options: "Options") -> list["Translated"]:
    from regard.cli.terminal.progress import sentences_done
    from regard.translate.document import sentence_count, translations

    with sentences_done(sentence_count(found)) as progress:
        return translations(translator, found, options, progress)
