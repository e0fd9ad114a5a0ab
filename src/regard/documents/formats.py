"""File formats by suffix."""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TypeVar

from regard.documents import gettext, html, markdown, plain, subtitles
from regard.documents.segment import Piece
from regard.errors import UserError

LARGEST = 64 << 20  # bytes
BYTE_ORDER_MARK = "\ufeff"
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


def is_document(name: str) -> bool:
    return Path(name).suffix.lower() in FORMATS


def read_content(path: Path) -> bytes:
    """Read a whole document; one of more than LARGEST bytes is a UserError."""
    with path.open("rb") as file:  # may be a pipe, or an endless device
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UserError(f"{path}: more than {LARGEST:,} bytes; divide it")
    return content


def read(path: Path, language: str | None) -> list[Piece]:
    """Read a file into pieces, for translation into a language."""
    return taken(read_content(path), path, language)


def taken(content: bytes, path: PurePath, language: str | None) -> list[Piece]:
    """Return the pieces of a file with this name and content."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8 text; convert the file to UTF-8 first") from None
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    suffix = path.suffix.lower()
    return [mark, *(html.pieces(text, language) if FORMATS[suffix] is html.pieces else FORMATS[suffix](text))]


def language_code(target: str | None) -> str | None:
    """Return a language as files and pages name it; None for anything but a code."""
    code = (target or "").strip("<>").removeprefix("2")
    return code if _LANGUAGE.fullmatch(code) else None


def beside(path: AnyPath, source: str | None, target: str | None) -> AnyPath:
    """Return the path of a file's translation: page.html -> page.de.html, and page.en.html -> page.de.html, too."""
    stem = path.stem.removesuffix(f".{source}") if source else path.stem
    return path.with_name(f"{stem or path.stem}.{target or 'translated'}{path.suffix}")
