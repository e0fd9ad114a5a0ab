"""A small valid file of each format."""

from tests.documents.files import open_text, word
from tests.documents.samples.epub import book as epub
from tests.documents.samples.pptx import slide
from tests.documents.samples.resources import FILES
from tests.documents.samples.translators import MEMORY, NEW, OLD
from tests.documents.samples.xlsx import STRINGS, book, row, shared

PARAGRAPH = "<w:p><w:r><w:t>Some </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>words</w:t></w:r></w:p>"
PLAIN = {
    "a.html": '<p title="A tip">Some <b>words</b> &amp; more</p><script>code()</script><img alt="A tree">',
    "a.md": "# Some words {#id}\n\n* more [words](http://x.org) and `code`\n\n| a | b |\n|---|---|\n| one | two |\n",
    "a.txt": "Some words.\n\n  More words. שלום 안녕 e\u0301 👩\u200d👧\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>Some words</i>\nand more\n\n",
    "a.vtt": "WEBVTT\n\nNOTE no words\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>Some words\n",
    "a.po": '# note\nmsgid ""\nmsgstr "Language: en\\n"\n\nmsgid "%d word"\nmsgid_plural "%d words"\nmsgstr[0] ""\n'
    'msgstr[1] ""\n\nmsgctxt "menu"\nmsgid "Some "\n"words"\nmsgstr ""\n',
}
GOOD: dict[str, bytes] = {
    "a.docx": word(PARAGRAPH * 3),
    "a.pptx": slide("<a:p><a:r><a:t>Some words</a:t></a:r></a:p>"),
    "a.xlsx": book(STRINGS, row(1, shared("A1", 0), shared("B1", 1)), row(1, shared("A1", 2)), header=True),
    "a.odt": open_text("<text:p>Some <text:span>words</text:span></text:p>"),
    "a.ods": open_text("<table:table-cell><text:p>Some words</text:p></table:table-cell>"),
    "a.odp": open_text("<draw:page><draw:frame><text:p>Some words</text:p></draw:frame></draw:page>"),
    "a.epub": epub(),
    **{name: text.encode() for name, text in FILES.items()},
    "a.xlf": OLD.encode(),
    "b.xlf": NEW.encode(),
    "a.tmx": MEMORY.encode(),
    **{name: text.encode() for name, text in PLAIN.items()},
}
