"""Reader and writer of Apple's messages (.strings): values. Keys, comments and the layout stay."""

import re
from collections import Counter
from collections.abc import Iterator

from regard.documents.document import Document, Languages
from regard.documents.resources.message import Spelling, message
from regard.documents.segment import Piece
from regard.documents.text_file import decoded, document
from regard.errors import UserError

_ENTRY = re.compile(
    r"""/\*.*?\*/|//[^\n]*+
    |(?P<key>"(?:[^"\\]|\\.)*+"|[\w.$-]++)\s*+=\s*+"(?P<value>(?:[^"\\]|\\.)*+)"\s*+;""",
    re.DOTALL | re.VERBOSE,
)
_UNIT = re.compile(r"\\[Uu][0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_MEANING = {"n": "\n", "t": "\t", "r": "\r"}
_SPELT = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file."""
    if content.startswith(b"bplist"):
        raise UserError(f"{name}: is in Apple's binary form; convert it with `plutil -convert xml1` or take the source")
    text, mark, encoding = _utf_16(content) or decoded(content, name)
    kept: Counter[str] = Counter()
    return document(name, _pieces(text, kept), mark, encoding, kept)


def _utf_16(content: bytes) -> tuple[str, bytes, str] | None:
    """Decode UTF-16 without a byte order mark, in which a file's first character, ASCII, has a zero byte."""
    encoding = {(True, False): "utf-16-be", (False, True): "utf-16-le"}.get(
        (content[:1] == b"\0", content[1:2] == b"\0")
    )
    if encoding is None:
        return None
    try:
        return content.decode(encoding), b"", encoding
    except UnicodeDecodeError:
        return None


def _pieces(text: str, kept: Counter[str]) -> Iterator[Piece]:
    spelling, at = Spelling(_UNIT, _meaning, lambda said: said.translate(_SPELT)), 0
    for found in _ENTRY.finditer(text):
        if found["key"]:
            yield text[at : found.start("value")]
            yield from message(found["value"], spelling, kept)
            at = found.end("value")
    yield text[at:]


def _meaning(unit: str) -> str:
    if not unit.startswith("\\") or len(unit) == 1:
        return unit
    if len(unit) == 6:
        sign = chr(int(unit[2:], 16))
        return sign if not "\ud800" <= sign <= "\udfff" else "\ufffd"
    return _MEANING.get(unit[1], unit[1])
