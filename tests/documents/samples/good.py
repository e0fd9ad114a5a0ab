"""A small valid file of each format."""

from tests.documents.files import open_text, word
from tests.documents.samples.epub import book as epub
from tests.documents.samples.pptx import slide
from tests.documents.samples.resources import FILES
from tests.documents.samples.translators import MEMORY, NEW, OLD
from tests.documents.samples.xlsx import STRINGS, book, row, shared

PARAGRAPH = "<w:p><w:r><w:t>Some </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>words</w:t></w:r></w:p>"
GOOD: dict[str, bytes] = {
    "a.docx": word(PARAGRAPH * 3),
    "a.pptx": slide("<a:p><a:r><a:t>Some words</a:t></a:r></a:p>"),
    "a.xlsx": book(STRINGS, row(1, shared("A1", 0), shared("B1", 1)), row(1, shared("A1", 2)), header=True),
    "a.odt": open_text("<text:p>Some <text:span>words</text:span></text:p>"),
    "a.ods": open_text("<table:table-cell><text:p>Some words</text:p></table:table-cell>"),
    "a.epub": epub(),
    **{name: text.encode() for name, text in FILES.items()},
    "a.xlf": OLD.encode(),
    "b.xlf": NEW.encode(),
    "a.tmx": MEMORY.encode(),
}
