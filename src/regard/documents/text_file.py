"""Encodings of files that are text throughout."""

import codecs
from collections import Counter
from collections.abc import Iterable

from regard.documents.document import Document, Part
from regard.documents.segment import Piece
from regard.errors import UserError

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decoded(content: bytes, name: str, *others: str) -> tuple[str, bytes, str]:
    """Return a file's text, its byte order mark, and its encoding: UTF-8 or, with a mark, UTF-16, or one of others."""
    mark, encoding = next(((mark, name) for mark, name in MARKS if content.startswith(mark)), (b"", "utf-8"))
    for attempt in (encoding, *([] if mark else others)):
        try:
            return content[len(mark) :].decode(attempt), mark, attempt
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
    raise UserError(f"{name}, line {line}: not UTF-8 text; convert the file to UTF-8 first")


def document(name: str, pieces: Iterable[Piece], mark: bytes, encoding: str, kept: Counter[str]) -> Document:
    part = Part(name, list(pieces))
    return Document([part], lambda texts: mark + texts[0].encode(encoding, "replace"), kept)
