"""Translation of documents, shared by the command, the server and Python."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from regard.documents import formats
from regard.documents.document import Document, Languages, Translate
from regard.documents.office import bilingual, docx, epub, odf, pptx, xlsx
from regard.documents.placement import unsure
from regard.documents.resources import android, json, properties, resx, strings, yaml
from regard.documents.segment import Segment, Translated, formatting_lost
from regard.documents.translators import tmx, xliff
from regard.errors import UserError

LARGEST = formats.LARGEST
MOST_TOLD = 1000  # most texts of each kind that a report quotes

Reader = Callable[[bytes, str, Languages], Document]


READERS: dict[str, Reader] = {
    **dict.fromkeys(formats.FORMATS, formats.read),
    ".docx": docx.read,
    ".epub": epub.read,
    ".json": json.read,
    ".odp": odf.read,
    ".ods": odf.read,
    ".odt": odf.read,
    ".pptx": pptx.read,
    ".properties": properties.read,
    ".resx": resx.read,
    ".strings": strings.read,
    ".tmx": tmx.read,
    ".xlf": xliff.read,
    ".xliff": xliff.read,
    ".xlsx": xlsx.read,
    ".xml": android.read,
    ".yaml": yaml.read,
    ".yml": yaml.read,
}
INSTEAD = {  # unsupported formats, with what to do instead
    ".pdf": "a PDF has no paragraphs to translate, only signs at places; "
    "translate the document that it was made from, or open it in LibreOffice or Word and save it as .docx",
    ".doc": "save it as .docx in Word or LibreOffice first",
    ".ppt": "save it as .pptx in PowerPoint or LibreOffice first",
    ".xls": "save it as .xlsx in Excel or LibreOffice first",
    ".rtf": "save it as .docx in Word or LibreOffice first",
    ".docm": "save it as .docx, without macros, first",
    ".pptm": "save it as .pptx, without macros, first",
    ".xlsm": "save it as .xlsx, without macros, first",
    ".mobi": "convert it to .epub first, with Calibre for one",
    ".azw3": "convert it to .epub first, with Calibre for one",
    ".pages": "export it as .docx first",
    ".key": "export it as .pptx first",
    ".numbers": "export it as .xlsx first",
    ".csv": "open it in a spreadsheet and save it as .xlsx, or send its lines through a pipe",
}
_FORMATS = f"Formats: {' '.join(READERS)}; --lines reads any text file as lines"
BILINGUAL: dict[str, Reader] = {".docx": bilingual.document, ".xlsx": bilingual.workbook}


@dataclass(frozen=True)
class Unsure:
    """A text whose formatting or tags may be at the wrong words."""

    text: str
    translation: str
    lost: bool
    """True if formatting inside the text was left out, so that all of it looks alike."""


@dataclass(frozen=True)
class Doubtful:
    """A text whose translation is not to be trusted, or that was left untranslated."""

    text: str
    translation: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class DocumentReport:
    """Statistics of a translated document."""

    format: str
    texts: int
    translated: int
    unchanged: tuple[str, ...]
    """Texts whose translation equals the source."""
    kept: dict[str, int]
    """The untranslated parts, by kind."""
    unsure: tuple[Unsure, ...]
    doubtful: tuple[Doubtful, ...] = ()
    other_languages: dict[str, int] = field(default_factory=dict)
    """The texts with sentences that were left as they are, by the language that those are in."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def figures(self) -> dict[str, Any]:
        """Return the report without the texts that it quotes."""
        lists = {name: len(getattr(self, name)) for name in ("unsure", "doubtful")}
        whole = {name: getattr(self, name) for name in ("texts", "translated", "kept", "other_languages")}
        return whole | lists


@dataclass(frozen=True)
class Result:
    """A translated document."""

    content: bytes
    report: DocumentReport


@dataclass(frozen=True)
class Opened:
    """A document that can be translated, with its properties."""

    name: str
    document: Document
    format: str
    segments: Sequence[Segment] = field(default=())

    @property
    def seen(self) -> str:
        """Return the text that a reader sees, one segment a line."""
        return "\n".join(segment.text for segment in self.segments)

    def translate(self, translate: Translate) -> Result:
        return self.rebuilt(translate(self.segments))

    def rebuilt(self, translations: Sequence[Translated]) -> Result:
        """Return the document with a translation for every segment, and its report."""
        content = self.document.rebuilt(translations)
        return Result(content, _report(self.format, self.segments, translations, self.document.kept))


def is_document(name: str) -> bool:
    return PurePath(name).suffix.lower() in READERS


def known(name: str) -> bool:
    """Return whether a file is a document, including those that are rejected with what to do instead."""
    return PurePath(name).suffix.lower() in READERS | INSTEAD


def open_document(
    content: bytes, name: str, *, source: str | None = None, target: str | None = None, bilingual: bool = False
) -> Opened:
    """Read a file by its suffix. `bilingual`: the translation will be beside its source."""
    suffix = PurePath(name).suffix.lower()
    if suffix in INSTEAD:
        raise UserError(f"{name}: {suffix} can't be translated; {INSTEAD[suffix]}. {_FORMATS}")
    if suffix not in READERS:
        raise UserError(f"{name}: not a format that can be translated. {_FORMATS}")
    if bilingual and suffix not in BILINGUAL:
        raise UserError(f"{name}: --bilingual is for {' and '.join(BILINGUAL)}; leave it out")
    if len(content) > LARGEST:
        raise UserError(f"{name}: {len(content):,} bytes, but a file may have {LARGEST:,}; divide it")
    reader = (BILINGUAL if bilingual else READERS)[suffix]
    document = reader(content, name, Languages(source, target))
    return Opened(name, document, suffix, document.segments)


def translate_document(
    content: bytes,
    name: str,
    translate: Translate,
    *,
    source: str | None = None,
    target: str | None = None,
    bilingual: bool = False,
) -> Result:
    """Translate a file's content; everything that is not text stays byte for byte."""
    return open_document(content, name, source=source, target=target, bilingual=bilingual).translate(translate)


def _report(
    format_: str, segments: Sequence[Segment], translations: Sequence[Translated], kept: Counter[str]
) -> DocumentReport:
    unchanged: list[str] = []
    doubtful: list[Unsure] = []
    remarked = [
        Doubtful(segment.text, one.text, one.remarks)
        for segment, one in zip(segments, translations, strict=True)
        if one.remarks
    ]
    same = 0
    for segment, one in zip(segments, translations, strict=True):
        if one.text.strip() in ("", segment.text):
            same += 1
            unchanged.append(segment.text)
        elif segment.aligned and unsure(segment.text, segment.marks, one.text, one.pairs):
            doubtful.append(Unsure(segment.text, one.text, formatting_lost(segment, one)))
    return DocumentReport(
        format_,
        len(segments),
        len(segments) - same,
        tuple(dict.fromkeys(unchanged))[:MOST_TOLD],
        dict(sorted(kept.items())),
        tuple(doubtful[:MOST_TOLD]),
        tuple(remarked[:MOST_TOLD]),
        dict(sorted(Counter(language for one in translations for language in one.languages).items())),
    )
