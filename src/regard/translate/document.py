"""Translation of documents with a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from regard.documents.document import Translate
from regard.documents.formats import beside, language_code
from regard.documents.segment import Segment, Translated
from regard.documents.translate import LARGEST, Report, Result, translate_document
from regard.errors import UserError
from regard.files import check_place, disk_mistakes, write_bytes
from regard.translate.load import load
from regard.translate.sentences import split
from regard.translate.translator import DEFAULTS, Options, Translator, windows

Progress = Callable[[int], None]


def translate_file(
    path: str | Path,
    *,
    model: str | Path | Translator,
    out: str | Path | None = None,
    options: Options = DEFAULTS,
    bilingual: bool = False,
    force: bool = False,
) -> Report:
    """Translate a file to `out`, by default beside it, and return a report."""
    translator = model if isinstance(model, Translator) else load(model)
    place = place_for(translator, Path(path), out, options, force=force)
    done = translated(translator, Path(path), options, bilingual=bilingual)
    with disk_mistakes(place):
        write_bytes(place, done.content)
    return done.report


def languages(translator: Translator, options: Options) -> tuple[str | None, str | None]:
    """Return the source and target languages of a translation, as files name them."""
    source, target = translator.saved.languages
    return language_code(source), language_code(options.target or target)


def place_for(
    translator: Translator, path: Path, out: str | Path | None, options: Options, *, force: bool = False
) -> Path:
    """Return the path of a file's translation; reject one that may not be written before any work is done."""
    place = Path(out) if out else beside(path, *languages(translator, options))
    check_place(place)
    if place.exists() and place.samefile(path):
        raise UserError(f"{place}: is the file to translate; name another with --out")
    if place.exists() and not force:
        raise UserError(f"{place}: exists already; name another with --out, or pass --force to write over it")
    return place


def translated(
    translator: Translator, path: Path, options: Options, *, bilingual: bool = False, translate: Translate | None = None
) -> Result:
    """Translate a file without writing the result."""
    size = path.stat().st_size
    if size > LARGEST:
        raise UserError(f"{path}: {size:,} bytes, but a file may have {LARGEST:,}; divide it")
    source, target = languages(translator, options)
    return translate_document(
        path.read_bytes(),
        str(path),
        translate or (lambda found: translations(translator, found, options)),
        source=source,
        target=target,
        bilingual=bilingual,
    )


def sentence_count(segments: Sequence[Segment]) -> int:
    """Count the sentences to translate; equal ones are translated once."""
    groups = ([segment.text for segment in segments if segment.aligned == wanted] for wanted in (False, True))
    return sum(len({part.text for text in texts for part in split(text).parts}) for texts in groups)


def translations(
    translator: Translator, segments: Sequence[Segment], options: Options, progress: Progress | None = None
) -> list[Translated]:
    """Return a translation for each segment; only those with marks get an alignment, which takes time."""
    aligned = replace(options, alignment=True) if translator.has_weights else options
    streams = {
        wanted: _stream(
            translator,
            [segment.text for segment in segments if segment.aligned == wanted],
            aligned if wanted else options,
            progress or (lambda _: None),
        )
        for wanted in (False, True)
    }
    return [next(streams[segment.aligned]) for segment in segments]


def _stream(translator: Translator, texts: Sequence[str], options: Options, progress: Progress) -> Iterator[Translated]:
    for window in windows(texts):
        for translation in translator.window(window, options, progress):
            yield Translated(translation.text, translation.pairs)
