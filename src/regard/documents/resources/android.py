"""Android's messages (strings.xml): strings, arrays and plurals. Names and untranslatable entries stay."""

import re
from collections.abc import Iterator

from regard.documents.document import Document, Languages
from regard.documents.markup import Element, Other, Source, Text, escape
from regard.documents.office.walk import Walk
from regard.documents.resources.message import Spelling, inline
from regard.documents.resources.xml_file import CDATA, UNIT, document, escape_section, meaning, text_pieces
from regard.documents.segment import Item, Piece, divided
from regard.errors import UserError

_ESCAPED = r"\\u[0-9a-fA-F]{4}|\\.|[ \t\r\n]+"
_UNIT = re.compile(f"{_ESCAPED}|{UNIT.pattern}", re.DOTALL)
_MEANING = {"n": "\n", "t": " "}
_SPELT = str.maketrans({"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n"})


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file. Of all XML files, only Android's resources are read."""
    source = Source(content, name)
    root = source.elements()[0]
    if root.name != "resources":
        raise UserError(
            f"{name}: is XML, but not Android's, whose root is <resources>; "
            "of XML, .xliff, .tmx, .resx and .html are translated, too, under those names"
        )
    return document(source, {"string": _string, "string-array": _items, "plurals": _items}, name)


def _meaning(unit: str) -> str:
    """Return what a spelling shows: space in the file is one space, and quotes that are not escaped are not shown."""
    if unit == '"':
        return ""
    if unit.isspace():
        return " "
    if not unit.startswith("\\") or len(unit) == 1:
        return meaning(unit)
    if len(unit) == 6:
        sign = chr(int(unit[2:], 16))
        return sign if not "\ud800" <= sign <= "\udfff" else "\ufffd"
    return _MEANING.get(unit[1], unit[1])


def _written(text: str) -> str:
    return _escaped(escape(text.translate(_SPELT)))


def _escaped(spelt: str) -> str:
    return f"\\{spelt}" if spelt[:1] in ("@", "?") else spelt


SPELLING = Spelling(_UNIT, _meaning, _written)
IN_SECTION = Spelling(
    re.compile(f"{_ESCAPED}|.", re.DOTALL), _meaning, lambda text: _escaped(escape_section(text.translate(_SPELT)))
)


def _items(walk: Walk, element: Element) -> Iterator[Piece]:
    if element.attributes.get("translatable") == "false":
        walk.kept["entry that is marked as not translatable"] += 1
        yield walk.raw(element)
        return
    yield walk.source.raw(element.start, element.inner)
    for child in element.children:
        if isinstance(child, Element) and child.name == "item":
            yield from _string(walk, child)
        else:
            yield walk.raw(child)
    yield walk.source.raw(element.outer, element.end)


def _string(walk: Walk, element: Element) -> Iterator[Piece]:
    yield walk.source.raw(element.start, element.inner)
    inside = walk.source.raw(element.inner, element.outer)
    if element.attributes.get("translatable") == "false":
        walk.kept["entry that is marked as not translatable"] += 1
        yield inside
    elif (pieces := text_pieces(walk, element, SPELLING, IN_SECTION)) is not None:
        yield from pieces
    elif CDATA in inside:
        walk.kept["CDATA among text"] += 1
        yield inside
    else:
        yield from divided(list(_marked(walk, element)), _written)
    yield walk.source.raw(element.outer, element.end)


def _marked(walk: Walk, element: Element) -> Iterator[Item]:
    """Yield the items of a string with elements in it: <b>, and <xliff:g> around what stays."""
    for child in element.children:
        if isinstance(child, Text):
            yield from inline(walk.raw(child), SPELLING)
        elif isinstance(child, Other) or child.name == "x1:g" or child.end == child.inner:
            yield Item(walk.raw(child), "point" if isinstance(child, Other) else "word")
        else:
            pair = f"{child.name} {child.start}"
            yield Item(walk.source.raw(child.start, child.inner), "open", name=pair)
            yield from _marked(walk, child)
            yield Item(walk.source.raw(child.outer, child.end), "close", name=pair)
