"""Translation of documents with a model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from regard.documents.document import Translate
from regard.documents.formats import beside, language_code, read_content
from regard.documents.segment import Segment, Translated
from regard.documents.translate import DocumentReport, Result, translate_document
from regard.engines.engine import Progress
from regard.errors import UserError
from regard.files import check_place, disk_mistakes, write_bytes
from regard.text.protected.languages import name
from regard.translate.load import load
from regard.translate.sentences import SplitText, split, whole
from regard.translate.translation import Sentence, Translation
from regard.translate.translator import DEFAULTS, Options, Translator, windows


def translate_file(
    path: str | Path,
    *,
    model: str | Path | Translator,
    out: str | Path | None = None,
    options: Options = DEFAULTS,
    bilingual: bool = False,
    force: bool = False,
) -> DocumentReport:
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
    source, target = languages(translator, options)
    return translate_document(
        read_content(path),
        str(path),
        translate or (lambda found: translations(translator, found, options)),
        source=source,
        target=target,
        bilingual=bilingual,
    )


def sentence_count(segments: Sequence[Segment]) -> int:
    """Count the sentences to translate; equal ones are translated once."""
    asked = [one for segment in segments for one in _asked(segment, split(segment.text))]
    groups = ([text for text, wanted in asked if wanted == aligned] for aligned in (False, True))
    return sum(len({part.text for text in texts for part in split(text).parts}) for texts in groups)


def translations(
    translator: Translator, segments: Sequence[Segment], options: Options, progress: Progress | None = None
) -> list[Translated]:
    """Return a translation for each segment; only sentences with marks get an alignment, which takes time."""
    cut = split if options.split else whole
    divided = [cut(segment.text) for segment in segments]
    asked = [_asked(segment, parts) for segment, parts in zip(segments, divided, strict=True)]
    aligned = replace(options, alignment=True) if translator.has_weights else options
    streams = {
        wanted: _stream(
            translator,
            [text for some in asked for text, this in some if this == wanted],
            aligned if wanted else options,
            progress or (lambda _: None),
        )
        for wanted in (False, True)
    }
    found = []
    for segment, parts, some in zip(segments, divided, asked, strict=True):
        done = [next(streams[wanted]) for _, wanted in some]
        one = done[0] if len(done) == 1 else _joined(segment.text, parts, done)
        found.append(Translated(one.text, one.pairs, remarks(one), other_languages(one)))
    return found


def remarks(one: Translation) -> tuple[str, ...]:
    """Return reasons to distrust a translation: its warnings, sentences left untranslated, terms not placed."""
    kept = [
        f"left untranslated: {sentence.source}"
        if sentence.language is None
        else f"left as it is, in {name(sentence.language.language)}: {sentence.source}"
        for sentence in one.sentences
        if sentence.kept
    ]
    terms = [f"term not placed: {use.source}" for use in one.unplaced]
    return (*one.warnings, *kept, *terms)


def other_languages(one: Translation) -> tuple[str, ...]:
    """Return the languages of the sentences that were left as they are, each once."""
    found = (sentence.language.language for sentence in one.sentences if sentence.kept and sentence.language)
    return tuple(dict.fromkeys(found))


def _asked(segment: Segment, parts: SplitText) -> list[tuple[str, bool]]:
    """Return the texts to translate for a segment, each with whether it needs an alignment.

    They are its sentences if it has several and needs an alignment, else the whole segment.
    """
    if not segment.aligned or len(parts.parts) < 2:
        return [(segment.text, segment.aligned)]
    marks = [mark for mark in segment.marks if mark.kind != "break"]
    found: list[tuple[str, bool]] = []
    at = len(parts.before)
    for part in parts.parts:
        end = at + len(part.text)
        found.append((part.text, any(mark.start <= end and at <= mark.end for mark in marks)))
        at = end + len(part.after)
    return found


def _joined(text: str, parts: SplitText, done: Sequence[Translation]) -> Translation:
    """Return the translations of a text's sentences as one."""
    sentences: list[Sentence] = []
    for part, one in zip(parts.parts, done, strict=True):
        *others, last = one.sentences
        sentences += [*others, replace(last, after=last.after + part.after)]
    return Translation(text, parts.before, tuple(sentences))


def _stream(
    translator: Translator, texts: Sequence[str], options: Options, progress: Progress
) -> Iterator[Translation]:
    for window in windows(texts):
        yield from translator.window(window, options, progress)
