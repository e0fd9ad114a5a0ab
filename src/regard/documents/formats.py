"""File formats by suffix."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TypeVar

from regard.documents import gettext, html, markdown, plain, subtitles
from regard.documents.document import Document, Languages
from regard.documents.segment import Piece
from regard.documents.text_file import decoded, document
from regard.errors import UserError

LARGEST = 64 << 20  # bytes
FORMATS: dict[str, Callable[[str], list[Piece]]] = {
    ".htm": html.pieces,
    ".html": html.pieces,
    ".markdown": markdown.pieces,
    ".md": markdown.pieces,
    ".po": gettext.pieces,
    ".srt": subtitles.srt,
    ".txt": plain.pieces,
    ".vtt": subtitles.vtt,
}

AnyPath = TypeVar("AnyPath", bound=PurePath)
_LANGUAGE = re.compile(r"[A-Za-z0-9]{1,8}(?:[-_][A-Za-z0-9]{1,8})*")


def read_content(path: Path) -> bytes:
    """Read a whole document; one of more than LARGEST bytes is a UserError."""
    with path.open("rb") as file:  # may be a pipe, or an endless device
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UserError(f"{path}: more than {LARGEST:,} bytes; divide it")
    return content


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file in one of FORMATS."""
    text, mark, encoding = decoded(content, name)
    pieces = FORMATS[PurePath(name).suffix.lower()]
    found = html.pieces(text, languages.target) if pieces is html.pieces else pieces(text)
    return document(name, found, mark, encoding, Counter())


def language_code(target: str | None) -> str | None:
    """Return a language as files and pages name it; None for anything but a code."""
    code = (target or "").strip("<>").removeprefix("2")
    return code if _LANGUAGE.fullmatch(code) else None


def beside(path: AnyPath, source: str | None, target: str | None) -> AnyPath:
    """Return the path of a file's translation: page.html -> page.de.html, and page.en.html -> page.de.html, too."""
    stem = path.stem.removesuffix(f".{source}") if source else path.stem
    return path.with_name(f"{stem or path.stem}.{target or 'translated'}{path.suffix}")
