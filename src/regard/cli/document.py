"""A file with structure in, the same file in another language out: what `regard translate page.html` does."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.documents.segment import Segment, Translated
    from regard.translate.translator import Options, Translator

STANDARD_OUTPUT = "-"


def translate_document(translator: "Translator", path: Path, options: "Options", out: str | None, force: bool) -> None:
    """Translate a file to where `out` says, else beside it; it is there whole or not at all."""
    from regard.documents.formats import beside, language_code, read
    from regard.documents.segment import rebuild, segments
    from regard.files import disk_mistakes, write_bytes

    source, target = translator.saved.languages
    target = language_code(options.target or target)
    place = None if out == STANDARD_OUTPUT else Path(out) if out else beside(path, source, target)
    if place is not None:
        _check_place(place, path, force)
    pieces = read(path, target)
    found = segments(pieces)
    content = rebuild(pieces, _translations(translator, found, options)).encode()
    if place is None:
        sys.stdout.buffer.write(content)
    else:
        with disk_mistakes(place):
            write_bytes(place, content)
        typer.echo(f"{place}: {len(found):,} {'text' if len(found) == 1 else 'texts'} of {path}")


def _check_place(place: Path, path: Path, force: bool) -> None:
    from regard.errors import UserError
    from regard.files import check_place

    check_place(place)
    if place.exists() and place.samefile(path):
        raise UserError(f"{place}: is the file to translate; name another with --out")
    if place.exists() and not force:
        raise UserError(f"{place}: exists already; name another with --out, or pass --force to write over it")


def _translations(translator: "Translator", found: Sequence["Segment"], options: "Options") -> list["Translated"]:
    """A translation for each segment; those with marks in them need an alignment, too, which takes time."""
    from regard.cli.progress import sentences_done
    from regard.translate.sentences import split

    aligned = replace(options, alignment=True) if translator.has_weights else options
    groups = {wanted: [segment.text for segment in found if segment.aligned == wanted] for wanted in (False, True)}
    count = sum(len({part.text for text in texts for part in split(text).parts}) for texts in groups.values())
    with sentences_done(count) as progress:
        streams = {
            wanted: _stream(translator, texts, aligned if wanted else options, progress)
            for wanted, texts in groups.items()
        }
        return [next(streams[segment.aligned]) for segment in found]


def _stream(
    translator: "Translator", texts: Sequence[str], options: "Options", progress: Callable[[int], None]
) -> Iterator["Translated"]:
    from regard.documents.segment import Translated
    from regard.translate.translator import windows

    for window in windows(texts):
        for translation in translator.window(window, options, progress):
            yield Translated(translation.text, translation.pairs)
