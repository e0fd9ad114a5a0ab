"""Messages and encodings of resource files that are XML."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator

from regard.documents.document import Document
from regard.documents.markup import Element, Source, Text, without_invalid
from regard.documents.office.walk import Dialect, Walk
from regard.documents.resources.message import Spelling, message
from regard.documents.segment import Piece

UNIT = re.compile(r"&#?\w+;|.", re.DOTALL)
CDATA = "<![CDATA["
_SECTION = re.compile(r"(\s*+<!\[CDATA\[)((?:(?!\]\]>|<!\[CDATA\[).)*+)(\]\]>\s*+)", re.DOTALL)

Taken = Callable[[Walk, Element], Iterator[Piece]]


def meaning(unit: str) -> str:
    return html.unescape(unit) if unit.startswith("&") else unit


def document(source: Source, special: dict[str, Taken], name: str) -> Document:
    """Return a document whose messages are in some elements."""
    kept: Counter[str] = Counter()
    part = Walk(source, Dialect(blocks=frozenset(), special=special), kept).part(name)
    return Document([part], lambda texts: source.encoded(texts[0]), kept)


def text_pieces(walk: Walk, element: Element, spelling: Spelling, in_section: Spelling) -> list[Piece] | None:
    """Return the pieces of an element that holds a message, as it is or in a CDATA section; None for any other."""
    raw = walk.source.raw(element.inner, element.outer)
    if found := _SECTION.fullmatch(raw):
        return [found[1], *message(found[2], in_section, walk.kept), found[3]]
    simple = all(isinstance(child, Text) for child in element.children) and CDATA not in raw
    return list(message(raw, spelling, walk.kept)) if simple else None


def escape_section(text: str) -> str:
    """Escape a text for use in a CDATA section."""
    return without_invalid(text).replace("]]>", "]]]]><![CDATA[>")
