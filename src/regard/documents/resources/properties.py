"""Reader and writer of Java's messages (.properties): values. Keys, comments and the layout stay."""

import re
from collections import Counter
from collections.abc import Iterator

from regard.documents.document import Document, Languages
from regard.documents.resources.message import Spelling, message
from regard.documents.segment import Piece
from regard.documents.text_file import decoded, document

_LINE = re.compile(  # a key, the separator, and the value, over all its lines
    r"""^[ \t\f]*+(?![#!\r\n])((?:[^\\=:\s]|\\(?:\r\n|.))++)([ \t\f]*+[=:]?[ \t\f]*+)((?:[^\\\r\n]|\\(?:\r\n|.))*+)""",
    re.MULTILINE | re.DOTALL,
)
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\(?:\r\n|[\r\n])[ \t\f]*+|\\.|.", re.DOTALL)
_QUOTED_UNIT = re.compile(rf"''|{_UNIT.pattern}", re.DOTALL)
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_SPELT = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_FORMAT = re.compile(r"\{\d")


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file. One that is not UTF-8 is Latin-1, as it was before Java 9."""
    text, mark, encoding = decoded(content, name, "latin-1")
    escaped = text.isascii() or encoding == "latin-1"  # readable by old programs and new
    kept: Counter[str] = Counter()
    return document(name, _pieces(text, escaped, kept), mark, encoding, kept)


def _pieces(text: str, escaped: bool, kept: Counter[str]) -> Iterator[Piece]:
    at = 0
    for found in _LINE.finditer(text):
        yield text[at : found.start(3)]
        yield from message(found[3], _spelling(escaped, quoted=_FORMAT.search(found[3]) is not None), kept)
        at = found.end(3)
    yield text[at:]


def _spelling(escaped: bool, *, quoted: bool) -> Spelling:
    """Return the escapes; `quoted`: the value is a format with arguments, in which an apostrophe is doubled."""

    def written(said: str) -> str:
        said = "".join(_SPELT.get(sign, sign) for sign in (said.replace("'", "''") if quoted else said))
        return "".join(map(_code, said)) if escaped else said

    return Spelling(_QUOTED_UNIT if quoted else _UNIT, _meaning, written)


def _meaning(unit: str) -> str:
    if unit == "''":
        return "'"
    if not unit.startswith("\\") or len(unit) == 1:
        return unit
    if unit[1] in "\r\n":
        return ""
    if unit[1] == "u" and len(unit) == 6:
        sign = chr(int(unit[2:], 16))
        return sign if not "\ud800" <= sign <= "\udfff" else "\ufffd"
    return _MEANING.get(unit[1], unit[1])


def _code(sign: str) -> str:
    if sign.isascii():
        return sign
    units = sign.encode("utf-16-be", "replace")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))
