"""Work on uploaded documents that both APIs share, in two steps: read one, then translate it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from regard.documents.formats import beside
from regard.documents.package import unpacked_bytes
from regard.documents.translate import Opened, Result, known, open_document
from regard.errors import UserError
from regard.serve.api import ask
from regard.serve.api.ask import TranslationRequest
from regard.serve.api.described import Schema, record
from regard.serve.api.fields import Upload
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.downloads import safe_name
from regard.serve.refused import Refused
from regard.serve.state import AppState

COUNT: Schema = {"type": "integer", "minimum": 0}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}
REPORT = record(
    {
        **dict.fromkeys(("texts", "translated", "unsure", "doubtful"), COUNT),
        "kept": COUNTS,
        "other_languages": COUNTS,
    }
)
NAMING = (".tmx",)  # formats that have texts in several languages, of which the source is translated


@dataclass(frozen=True)
class UploadedDocument:
    """A document to translate, as it was uploaded."""

    name: str
    content: bytes
    source: str | None
    """None to detect it."""
    target: str
    formality: str | None = None
    """The speech level to write in, where the model knows it."""


@dataclass(frozen=True)
class ParsedDocument:
    """A document divided into texts, and its languages."""

    opened: Opened
    source: str
    target: str
    formality: str | None = None

    @property
    def characters(self) -> int:
        return sum(len(segment.text) for segment in self.opened.segments)

    @property
    def name(self) -> str:
        """The file name of the translation."""
        return beside(PurePath(self.opened.name), self.source, self.target).name


def sent(file: Upload, name: str, source: str | None, target: str) -> UploadedDocument:
    """Return a document with a safe name; raise Refused if it can't be one."""
    title = safe_name(name)
    if not title:
        raise Refused(400, "Invalid request: empty file")
    if not known(title):
        raise Refused(400, "Invalid request: file format not supported")
    return UploadedDocument(title, file.content, source, target)


def read(state: AppState, document: UploadedDocument, cancellation: CancellationToken) -> ParsedDocument:
    """Parse a document and detect its language."""
    size = unpacked_bytes(document.content)
    if size > state.settings.unpacked_bytes:
        most = state.settings.unpacked_bytes
        raise Refused(413, f"{document.name}: {size} bytes when unpacked; {most} bytes are allowed")
    opened = _opened(state, document, document.source, cancellation)
    (found,) = ask.sources(state, TranslationRequest([opened.seen], document.source, document.target))
    if document.source is None and opened.format in NAMING:
        opened = _opened(state, document, found.language, cancellation)
    ask.route(state, found.language, document.target)
    return ParsedDocument(opened, found.language, document.target, document.formality)


def translate(
    state: AppState,
    document: ParsedDocument,
    cancellation: CancellationToken,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Translate a document that was read."""
    route = ask.route(state, document.source, document.target, document.formality)
    opened = document.opened
    translations = state.service.translate_segments(route, opened.segments, cancellation, progress=progress)
    try:
        with state.service.processor(cancellation):
            return opened.rebuilt(translations)
    except UserError as error:
        raise _invalid(error) from None


def _opened(state: AppState, document: UploadedDocument, source: str | None, cancellation: CancellationToken) -> Opened:
    try:
        with state.service.processor(cancellation):
            return open_document(document.content, document.name, source=source, target=document.target)
    except UserError as error:
        raise _invalid(error) from None


def _invalid(error: UserError) -> Refused:
    return Refused(400, f"Invalid request: {error}")
