"""XML with the position of everything in it, so that all that is not text stays byte for byte.

It is parsed by expat, a complete XML parser that reports the position of each tag; no tree is serialised again.
Entities cannot be declared, nothing is fetched, and depth is limited.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape as _escape
from xml.parsers.expat import ExpatError, ParserCreate

from regard.errors import UserError

DEEPEST = 128  # far more than any office program nests
SPACES = {  # namespaces by the prefix that our tables use, whatever prefix the file uses
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://purl.oclc.org/ooxml/drawingml/main": "a",
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp",
    "http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing": "wp",
    "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing": "xdr",
    "http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing": "xdr",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "p",
    "http://purl.oclc.org/ooxml/presentationml/main": "p",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "s",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "s",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "tc",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rels",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "urn:schemas-microsoft-com:vml": "v",
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text",
    "urn:oasis:names:tc:opendocument:xmlns:table:1.0": "table",
    "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0": "draw",
    "urn:oasis:names:tc:opendocument:xmlns:style:1.0": "style",
    "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0": "fo",
    "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0": "svg",
    "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0": "presentation",
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0": "manifest",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
    "urn:oasis:names:tc:opendocument:xmlns:container": "container",
    "urn:oasis:names:tc:xliff:document:1.2": "x1",
    "urn:oasis:names:tc:xliff:document:2.0": "x2",
    "urn:oasis:names:tc:xliff:document:2.1": "x2",
    "urn:oasis:names:tc:xliff:document:2.2": "x2",
    "http://www.idpf.org/2007/opf": "opf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
    "http://www.w3.org/2001/04/xmlenc#": "enc",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
_ENCODING = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def without_invalid(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _INVALID.sub("", text)


def escape(text: str) -> str:
    """Escape a text for use between tags."""
    return _escape(without_invalid(text), quote=False)


def escape_attribute(text: str) -> str:
    return _escape(without_invalid(text), quote=True)


@dataclass(slots=True)
class Text:
    """Characters between tags."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Other:
    """A comment, a processing instruction, or a reference to an entity declared elsewhere."""

    start: int
    end: int


@dataclass(slots=True)
class Element:
    """An element, with the offsets at which its start tag begins, its content begins, its content ends, and it ends."""

    name: str
    attributes: dict[str, str]
    start: int
    inner: int = 0
    outer: int = 0
    end: int = 0
    children: list["Element | Text | Other"] = field(default_factory=list)

    def elements(self) -> Iterator["Element"]:
        return (child for child in self.children if isinstance(child, Element))

    def first(self, *names: str) -> "Element | None":
        return next((child for child in self.elements() if child.name in names), None)

    def descendants(self) -> Iterator["Element"]:
        for child in self.elements():
            yield child
            yield from child.descendants()

    @property
    def text(self) -> str:
        """Return all characters inside."""
        return "".join(child.text for child in self.children if isinstance(child, Text | Element))


Node = Element | Text | Other


class Source:
    """An XML text in UTF-8, with the encoding of its file."""

    def __init__(self, content: bytes, where: str) -> None:
        self.where = where
        self.encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
        if self.encoding is None:
            declared = _ENCODING.match(content)
            self.encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        try:
            self.content = content.decode(self.encoding).encode()
        except (UnicodeError, LookupError):
            raise UserError(f"{where}: is not text in {self.encoding}, as it says; convert it to UTF-8") from None

    def encoded(self, text: str) -> bytes:
        """Encode a text in the file's encoding; a character that it lacks becomes a character reference."""
        assert self.encoding is not None
        return text.encode(self.encoding, "xmlcharrefreplace")

    def raw(self, start: int, end: int) -> str:
        return self.content[start:end].decode()

    def each(self, wanted: Callable[[str], bool], taken: Callable[[Element], None]) -> None:
        """Call `taken` with the outermost elements of wanted names, in order, each with its content."""
        _Reader(self, wanted, taken)

    def elements(self, *names: str) -> list[Element]:
        """Return the outermost elements of these names; without names, the root."""
        found: list[Element] = []
        self.each(lambda name: not names or name in names, found.append)
        return found


class _Reader:
    """Reader of a source in one pass; only wanted elements are in memory."""

    def __init__(self, source: Source, wanted: Callable[[str], bool], taken: Callable[[Element], None]) -> None:
        self._wanted, self._taken = wanted, taken
        self._source = source
        self._names: dict[str, str] = {}
        self._open: list[Element] = []
        self._depth = 0
        self._pending: list[tuple[Element | Other, str]] = []  # their tags end where the next event begins
        self._text: Text | None = None
        parser = self._parser = ParserCreate("utf-8", "}")
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.StartCdataSectionHandler = self._cdata
        parser.EndCdataSectionHandler = self._at
        parser.DefaultHandler = self._other
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(source.content, True)
        except ExpatError as error:
            raise UserError(
                f"{source.where}, line {error.lineno}: is not well-formed XML ({error}); save the file anew"
            ) from None
        if self._pending:
            self._settle(len(source.content))

    def _settle(self, at: int) -> None:
        for element, place in self._pending:
            setattr(element, place, at)
        *_, (element, place) = self._pending
        self._pending.clear()
        if place == "end" and not self._open and isinstance(element, Element):
            self._taken(element)

    def _at(self) -> int:
        """Return where this event begins, which is where the tag before it ends."""
        at = self._parser.CurrentByteIndex
        if self._pending:
            self._settle(at)
        return at

    def _close_text(self, at: int) -> None:
        if self._text is not None:
            self._text.end = at
            self._text = None

    def _start(self, name: str, attributes: list[str]) -> None:
        at = self._at()
        self._close_text(at)
        self._depth += 1
        if self._depth > DEEPEST:
            raise UserError(f"{self._source.where}: has elements more than {DEEPEST} deep; do not trust it")
        short = self._short(name)
        if not self._open and not self._wanted(short):
            return
        given = {self._short(attributes[i]): attributes[i + 1] for i in range(0, len(attributes), 2)}
        element = Element(short, given, at)
        if self._open:
            self._open[-1].children.append(element)
        self._open.append(element)
        self._pending.append((element, "inner"))

    def _end(self, name: str) -> None:
        at = self._parser.CurrentByteIndex
        self._depth -= 1
        if self._pending and self._open and self._open[-1].start == at:  # <x/>
            element = self._open.pop()
            self._pending += [(element, "outer"), (element, "end")]
            return
        self._at()
        self._close_text(at)
        if self._open:
            element = self._open.pop()
            element.outer = at
            self._pending.append((element, "end"))

    def _characters(self, data: str) -> None:
        at = self._at()
        if not self._open:
            return
        if self._text is None:
            self._text = Text(at, at, data)
            self._open[-1].children.append(self._text)
        else:
            self._text.text += data

    def _cdata(self) -> None:
        at = self._at()
        if self._open and self._text is None:
            self._text = Text(at, at, "")
            self._open[-1].children.append(self._text)

    def _other(self, *_: str) -> None:
        at = self._at()
        self._close_text(at)
        if self._open:
            other = Other(at, at)
            self._open[-1].children.append(other)
            self._pending.append((other, "end"))

    def _doctype(self, _: str, __: str | None, ___: str | None, internal: int) -> None:
        self._at()
        if internal:
            raise UserError(f"{self._source.where}: declares entities of its own, which is rejected; write them out")

    def _short(self, name: str) -> str:
        found = self._names.get(name)
        if found is None:
            space, _, local = name.rpartition("}")
            found = self._names[name] = f"{SPACES[space]}:{local}" if space in SPACES else name
        return found
