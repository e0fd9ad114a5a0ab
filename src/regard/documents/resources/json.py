"""Reader and writer of messages in JSON (.json): strings that are values. Keys, numbers and the layout stay."""

import json
import re
from collections import Counter
from collections.abc import Iterator

from regard.documents.document import Document, Languages
from regard.documents.resources.message import Spelling, message
from regard.documents.segment import Piece
from regard.documents.text_file import decoded, document
from regard.errors import UserError

_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*+:)?', re.DOTALL)
_UNIT = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.)", re.DOTALL)
_SPACE = re.compile(r"\s*")
_LONE = re.compile("[\ud800-\udfff]")


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file."""
    text, mark, encoding = decoded(content, name)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{name}, line {error.lineno}: not valid JSON ({error.msg}); mend it first") from None
    except (RecursionError, ValueError):
        raise UserError(f"{name}: nested too deeply, or with too long a number; divide it") from None
    kept: Counter[str] = Counter()
    return document(name, _pieces(text, _spelling(text), kept), mark, encoding, kept)


def _spelling(text: str) -> Spelling:
    escaped = text.isascii() and "\\u" in text  # then the output is escaped, too

    def written(said: str) -> str:
        return json.dumps(_LONE.sub("\ufffd", said), ensure_ascii=escaped)[1:-1]

    return Spelling(_UNIT, _meaning, written)


def _meaning(unit: str) -> str:
    if not unit.startswith("\\"):
        return unit
    said = str(json.loads(f'"{unit}"'))
    return _LONE.sub("\ufffd", said)


def _pieces(text: str, spelling: Spelling, kept: Counter[str]) -> Iterator[Piece]:
    """Yield every string without a colon after it; the value of a key with @, a description in .arb, stays."""
    at = described = 0
    for found in _STRING.finditer(text):
        if found.start() < described:
            continue
        if found[2] and found[1].startswith("@"):
            begin = _SPACE.match(text, found.end())
            assert begin is not None
            described = json.JSONDecoder().raw_decode(text, begin.end())[1]
        elif not found[2]:
            yield text[at : found.start(1)]
            yield from message(found[1], spelling, kept)
            at = found.end(1)
    yield text[at:]
