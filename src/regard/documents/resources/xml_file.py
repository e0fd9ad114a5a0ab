"""Messages and encodings of resource files that are XML."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator

from regard.documents.document import Document
from regard.documents.markup import Element, Source, Text
from regard.documents.office.walk import Dialect, Walk
from regard.documents.segment import Piece

UNIT = re.compile(r"&#?\w+;|.", re.DOTALL)
CDATA = "<![CDATA["

Taken = Callable[[Walk, Element], Iterator[Piece]]


def meaning(unit: str) -> str:
    return html.unescape(unit) if unit.startswith("&") else unit


def document(source: Source, special: dict[str, Taken], name: str) -> Document:
    """Return a document whose messages are in some elements."""
    kept: Counter[str] = Counter()
    part = Walk(source, Dialect(blocks=frozenset(), special=special), kept).part(name)
    return Document([part], lambda texts: source.encoded(texts[0]), kept)


def plain(walk: Walk, element: Element) -> str | None:
    """Return the raw content of an element without children; None for one with children or with CDATA."""
    raw = walk.source.raw(element.inner, element.outer)
    simple = all(isinstance(child, Text) for child in element.children) and CDATA not in raw
    return raw if simple else None
