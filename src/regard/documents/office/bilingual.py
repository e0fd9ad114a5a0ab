"""Bilingual documents: in .docx a table with a row for each paragraph, in .xlsx additional columns.

A table of a .docx has its translation below it, because two do not fit side by side.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.documents.document import Document, Languages
from regard.documents.markup import Element, Node, Source, escape
from regard.documents.office import docx, xlsx
from regard.documents.office.ooxml import checked, types
from regard.documents.package import Package
from regard.errors import UserError

ONCE = frozenset(  # elements that must be unique in a document, so that a copy of a paragraph omits them
    """
    w:bookmarkStart w:bookmarkEnd w:commentRangeStart w:commentRangeEnd w:commentReference w:footnoteReference
    w:endnoteReference w:drawing w:pict w:object mc:AlternateContent w:fldChar w:instrText w:permStart w:permEnd w:del
    w:moveFrom w:sectPr w:sdtPr w:pPrChange w:rPrChange
    """.split()  # noqa: SIM905
)
TABLE = (
    '<w:tbl><w:tblPr><w:tblW w:w="5000" w:type="pct"/><w:tblBorders>'
    + "".join(f'<w:{side} w:val="single" w:sz="4" w:space="0" w:color="BFBFBF"/>' for side in ("insideH", "insideV"))
    + '</w:tblBorders><w:tblLayout w:type="fixed"/></w:tblPr>'
    '<w:tblGrid><w:gridCol w:w="4600"/><w:gridCol w:w="4600"/></w:tblGrid>'
)
MOST_COLUMNS = 16_384
NO_NUMBER = '<w:numPr><w:numId w:val="0"/></w:numPr>'  # a copy would count, too
_BEFORE_NUMBER = frozenset("w:pStyle w:keepNext w:keepLines w:pageBreakBefore w:framePr w:widowControl".split())  # noqa: SIM905


def document(content: bytes, name: str, languages: Languages) -> Document:
    """Read a .docx whose body will have two columns; headers, footers and notes are translated in place."""
    opened = docx.read(content, name, languages)
    package = Package(content, name)
    body = next((part for part, kind in types(package).items() if kind == "main"), "")
    source = Source(package.read(body), f"{name}, {body}")
    if b"xmlns:w=" not in source.content:
        raise UserError(f"{name}: was made in an unusual way; save it anew in Word or LibreOffice, or omit --bilingual")

    numbered = _numbered(package)

    def whole(texts: Sequence[str]) -> bytes:
        done = Package(opened.whole(texts), name)
        other = Source(done.read(body), f"{name}, {body}")
        return done.written({body: source.encoded(_beside(source, other, numbered))})

    return Document(opened.parts, whole, opened.kept)


def _numbered(package: Package) -> set[str]:
    """Return the ids of the styles that number their paragraphs, or give them bullets."""
    based: dict[str, str] = {}
    found: set[str] = set()

    def taken(style: Element) -> None:
        own, parent = style.attributes.get("w:styleId", ""), style.first("w:basedOn")
        properties = style.first("w:pPr")
        if properties is not None and properties.first("w:numPr") is not None:
            found.add(own)
        elif parent is not None:
            based[own] = parent.attributes.get("w:val", "")

    for part in (part for part, kind in types(package).items() if kind == "styles"):
        Source(package.read(part), f"{package.name}, {part}").each("w:style".__eq__, taken)
    while more := {own for own, parent in based.items() if parent in found} - found:
        found |= more
    return found


def _beside(source: Source, other: Source, numbered: set[str]) -> str:
    """Return the body with a table of two columns wherever the translation differs."""
    here, there = source.elements("w:body")[0], other.elements("w:body")[0]
    out = [other.raw(0, there.inner)]
    rows: list[str] = []
    open_fields = 0
    for one, two in zip(here.elements(), there.elements(), strict=True):
        ours, theirs = source.raw(one.start, one.end), other.raw(two.start, two.end)
        fields = _fields(one)
        whole = open_fields == 0 == fields
        open_fields += fields
        if ours != theirs and whole and one.name == "w:p" and "<w:sectPr" not in ours:
            rows.append(
                f"<w:tr><w:tc><w:tcPr/>{_copy(source, one, numbered)}</w:tc><w:tc><w:tcPr/>{theirs}</w:tc></w:tr>"
            )
            continue
        out += _table(rows)
        rows = []
        if ours != theirs and whole and one.name == "w:tbl":  # too wide for half a page
            out += [_copy(source, one, numbered), "<w:p/>"]
        out.append(theirs)
    out += [*_table(rows), other.raw(there.outer, len(other.content))]
    return "".join(out)


def _table(rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield f"{TABLE}{''.join(rows)}</w:tbl><w:p/>"


def _fields(element: Element) -> int:
    """Return how many more fields begin in an element than end."""
    kinds = [one.attributes.get("w:fldCharType") for one in element.descendants() if one.name == "w:fldChar"]
    return kinds.count("begin") - kinds.count("end")


def _copy(source: Source, node: Node, numbered: set[str]) -> str:
    """Return a copy of an element without what must be unique in a document, and without numbers."""
    if not isinstance(node, Element):
        return source.raw(node.start, node.end)
    if node.name in ONCE:
        return ""
    if node.name == "w:pPr":
        return _unnumbered(source, node, numbered)
    inside = "".join(_copy(source, child, numbered) for child in node.children)
    return source.raw(node.start, node.inner) + inside + source.raw(node.outer, node.end)


def _unnumbered(source: Source, properties: Element, numbered: set[str]) -> str:
    """Return a copy of a paragraph's properties that takes its number away."""
    style, own = properties.first("w:pStyle"), properties.first("w:numPr")
    counts = own is not None or (style is not None and style.attributes.get("w:val") in numbered)
    before = [one for one in properties.elements() if one.name in _BEFORE_NUMBER]
    after = [one for one in properties.elements() if one.name not in _BEFORE_NUMBER | {"w:numPr"}]
    copies = ["".join(_copy(source, one, numbered) for one in some) for some in (before, after)]
    start, end = source.raw(properties.start, properties.inner), source.raw(properties.outer, properties.end)
    return start + (NO_NUMBER if counts else "").join(copies) + end


def workbook(content: bytes, name: str, languages: Languages) -> Document:
    """Read a .xlsx whose sheets will have an additional column for every column with texts, to the right of all."""
    package = checked(Package(content, name))
    kinds = types(package)
    kept: Counter[str] = Counter()
    parts = xlsx.cell_parts(package, kinds, xlsx.sheets(package, kinds), kept)

    def whole(texts: Sequence[str]) -> bytes:
        new: dict[int, str] = {}
        changed = {}
        for (source, part), text in zip(parts, texts, strict=True):
            other = Source(source.encoded(text), source.where)
            if kinds[part.name] == "sharedStrings":
                pairs = enumerate(zip(_said(source), _said(other), strict=True))
                new = {number: two for number, (one, two) in pairs if one != two}
            else:
                changed[part.name] = source.encoded(_widened(source, other, new))
        return package.written(changed)

    return Document([part for _, part in parts], whole, kept)


def _said(source: Source) -> list[str]:
    """Return the text of each shared string, without phonetic readings."""
    found: list[str] = []
    source.each("s:si".__eq__, lambda one: found.append("".join(_texts(one))))
    return found


def _texts(element: Element) -> Iterator[str]:
    for child in element.elements():
        if child.name == "s:t":
            yield child.text
        elif child.name == "s:r":
            yield from _texts(child)


@dataclass
class _Row:
    start: int
    inner: int
    outer: int
    number: int
    cells: list[tuple[int, str, str]] = field(default_factory=list)
    """Column, translation and style of cells that have a translation."""


def _inline(source: Source) -> dict[tuple[int, int], str]:
    """Return the text of the cells with inline strings."""
    found: dict[tuple[int, int], str] = {}

    def taken(element: Element) -> None:
        place, said = xlsx.cell(element.attributes.get("r", "")), element.first("s:is")
        if place is not None and said is not None:
            found[place] = "".join(_texts(said))

    source.each("s:c".__eq__, taken)
    return found


def _rows(source: Source, other: Source, new: dict[int, str]) -> tuple[list[_Row], int]:
    """Return the rows of a sheet with their translations, and its number of columns."""
    rows: list[_Row] = []
    widest = 0
    before = _inline(source)
    after = {place: text for place, text in _inline(other).items() if text != before[place]}

    def taken(element: Element) -> None:
        nonlocal widest
        row = _Row(element.start, element.inner, element.outer, len(rows))
        for cell in element.elements():
            place = xlsx.cell(cell.attributes.get("r", ""))
            if cell.name != "s:c" or place is None:
                continue
            row.number, widest = place[0], max(widest, place[1])
            shared = xlsx.shared_number(cell)
            said = after.get(place) if shared is None else new.get(shared)
            if said is not None:
                row.cells.append((place[1], said, cell.attributes.get("s", "")))
        rows.append(row)

    source.each("s:row".__eq__, taken)
    return rows, widest


def _widened(source: Source, other: Source, new: dict[int, str]) -> str:
    """Return a sheet with translations to the right of all its columns."""
    rows, widest = _rows(source, other, new)
    columns = sorted({column for row in rows for column, _, _ in row.cells})
    if widest + len(columns) > MOST_COLUMNS:
        raise UserError(f"{source.where}: has no room for more columns; omit --bilingual")
    beside = {column: xlsx.column_letters(widest + 1 + number) for number, column in enumerate(columns)}
    out: list[str] = []
    at = 0
    for row in rows:
        if row.cells:
            tag = source.raw(row.start, row.inner)
            out += [source.raw(at, row.start), re.sub(r"""\sspans=(?:"[^"]*"|'[^']*')""", "", tag)]
            out.append(source.raw(row.inner, row.outer))
            prefix = tag[1 : tag.index("row")]
            out += [_cell(prefix, f"{beside[column]}{row.number}", style, said) for column, said, style in row.cells]
            at = row.outer
    out.append(source.raw(at, len(source.content)))
    return re.sub(r"<(?:\w+:)?dimension\b[^>]*/>", "", "".join(out), count=1)


def _cell(prefix: str, place: str, style: str, text: str) -> str:
    look = f' s="{style}"' if style.isdecimal() else ""
    return (
        f'<{prefix}c r="{place}"{look} t="inlineStr"><{prefix}is><{prefix}t xml:space="preserve">{escape(text)}'
        f"</{prefix}t></{prefix}is></{prefix}c>"
    )
