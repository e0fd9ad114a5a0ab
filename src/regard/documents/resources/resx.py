""".NET's messages (.resx): values of strings. Names, comments, and resources of other types stay."""

import re
from collections.abc import Iterator

from regard.documents.document import Document, Languages
from regard.documents.markup import Element, Source, escape
from regard.documents.office.walk import Walk
from regard.documents.resources.message import Spelling
from regard.documents.resources.xml_file import UNIT, document, escape_section, meaning, text_pieces
from regard.documents.segment import Piece
from regard.errors import UserError

SPELLING = Spelling(UNIT, meaning, escape)
IN_SECTION = Spelling(re.compile(".", re.DOTALL), str, escape_section)


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file."""
    source = Source(content, name)
    if source.elements()[0].name != "root":
        raise UserError(f"{name}: is not a .NET resource file, whose root is <root>; check what it is")
    return document(source, {"data": _data}, name)


def _data(walk: Walk, element: Element) -> Iterator[Piece]:
    """Yield an entry. Those with a type, and a designer's own, whose names begin with >>, are not texts."""
    given, value = element.attributes, element.first("value")
    typed = "type" in given or "mimetype" in given or given.get("name", "").startswith(">>")
    pieces = None if value is None or typed else text_pieces(walk, value, SPELLING, IN_SECTION)
    if value is None or pieces is None:
        walk.kept["entry that is no string"] += 1
        yield walk.raw(element)
        return
    yield walk.source.raw(element.start, value.inner)
    yield from pieces
    yield walk.source.raw(value.outer, element.end)
