"""Reader and writer of workbooks (.xlsx): cells, comments, headers and footers, drawings, charts.

Formulas and their results, sheet names and hidden sheets stay, and so do the headers of tables, which formulas refer
to.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html import unescape

from regard.documents.document import Document, Languages, Part
from regard.documents.language import right_to_left
from regard.documents.markup import Element, Source, Text, escape
from regard.documents.office.ooxml import Change, assembled, checked, drawing, related, theme_changes, types, walked
from regard.documents.office.walk import LINE_BREAK, Dialect, Walk
from regard.documents.package import Package
from regard.documents.segment import Item, Piece, divided

CELLS = Dialect(
    blocks=frozenset(("s:si", "s:is", "s:text")),
    runs=frozenset(("s:r",)),
    texts=frozenset(("s:t",)),
    properties=frozenset(("s:rPr",)),
    lines=True,
)
COMMENTS = Dialect(blocks=frozenset(("tc:text",)), lines=True)
_LINES = frozenset(f"s:{which}{what}" for which in ("odd", "even", "first") for what in ("Header", "Footer"))
_CODE = re.compile(
    r"""&(?:(?P<part>[LCR])|(?P<word>[PNDTFAZG])|"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|[BIUSXYEOH&])"""
)
_CHARACTER = re.compile(r"&[^;&]*;|.", re.DOTALL)
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_LINE = re.compile(r"<((?:\w+:)?((?:odd|even|first)(?:Header|Footer)))>([^<]*)</\1>")
LONGEST_LINE = 255  # characters of a header or footer; Excel calls a file with more damaged
_VIEW = re.compile(r"(<(?:\w+:)?sheetView\b)((?:\s[^>]*?)?)(/?>)")


@dataclass
class Sheet:
    """The path of a worksheet, and the cells that name the columns of tables."""

    part: str
    hidden: bool = False
    headers: set[tuple[int, int]] = field(default_factory=set)
    """Cells by row and column, from 1."""


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a workbook."""
    package = checked(Package(content, name))
    kinds = types(package)
    kept: Counter[str] = Counter()
    found = sheets(package, kinds)
    parts = cell_parts(package, kinds, found, kept)
    parts += [walked(package, part, CELLS, kept) for part, kind in kinds.items() if kind == "comments"]
    shapes = drawing(languages.target)
    parts += [walked(package, part, shapes, kept) for part, kind in kinds.items() if kind in ("drawing", "chart")]
    parts += [
        walked(package, part, COMMENTS, kept) for part, kind in kinds.items() if kind.endswith("threadedcomments")
    ]
    changes = theme_changes(package, kinds, languages.target)
    turned = right_to_left(languages.target)
    changes |= {
        sheet.part: _sheet(package, sheet.part, languages.target) for sheet in found if turned or not sheet.hidden
    }
    return assembled(package, parts, changes, kept)


def cell_parts(
    package: Package, kinds: dict[str, str], found: list[Sheet], kept: Counter[str]
) -> list[tuple[Source, Part]]:
    """Return the shared strings, if there are any, and the visible sheets."""
    shared = replace(CELLS, special={"s:si": _shared(untouched(package, found), kept)})
    parts = [walked(package, part, shared, kept) for part, kind in kinds.items() if kind == "sharedStrings"]
    for sheet in found:
        if not sheet.hidden:
            own = replace(CELLS, special={"s:c": _cell(sheet), **dict.fromkeys(_LINES, _line)})
            parts.append(walked(package, sheet.part, own, kept))
    return parts


def _cell(sheet: Sheet) -> Callable[[Walk, Element], Iterator[Piece]]:
    """Return a function for cells with inline strings. Results of formulas stay, and so do the headers of tables."""
    arrays: deque[tuple[tuple[int, int], tuple[int, int]]] = deque(maxlen=100)  # the cells that a formula fills

    def pieces(walk: Walk, element: Element) -> Iterator[Piece]:
        formula = element.first("s:f")
        if formula is not None:
            first, last = corners(formula.attributes.get("ref", ""))
            if formula.attributes.get("t") == "array" and first and last and first != last:
                arrays.append((first, last))
            walk.kept["formula"] += 1
            yield walk.raw(element)
        elif element.attributes.get("t") != "str" and element.first("s:is") is None:
            yield walk.raw(element)
        elif cell(element.attributes.get("r", "")) in sheet.headers:
            walk.kept["table header"] += 1
            yield walk.raw(element)
        elif element.attributes.get("t") != "str":
            yield from walk.content(element)
        elif any(_between(cell(element.attributes.get("r", "")), *array) for array in arrays):
            yield walk.raw(element)
        else:
            yield from _value(walk, element)

    return pieces


def _between(place: tuple[int, int] | None, first: tuple[int, int], last: tuple[int, int]) -> bool:
    return place is not None and first[0] <= place[0] <= last[0] and first[1] <= place[1] <= last[1]


def _value(walk: Walk, element: Element) -> Iterator[Piece]:
    """Yield a cell whose text is its value, as some programs write it."""
    value = element.first("s:v")
    if value is None:
        yield walk.raw(element)
        return
    yield walk.source.raw(element.start, value.inner)
    raw = walk.source.raw(value.inner, value.outer)
    parts = LINE_BREAK.split(raw) if all(isinstance(child, Text) for child in value.children) else [raw]
    if len(parts) == 1 or "<" in raw:
        yield from divided([Item(raw, "text", value.text)], escape)
    else:
        for number, part in enumerate(parts):
            yield from [part] if number % 2 else divided([Item(part, "text", unescape(part))], escape)
    yield walk.source.raw(value.outer, element.end)


def _sheet(package: Package, part: str, target: str | None) -> Change:
    """Return a function for a translated sheet: its direction; a header that is too long for Excel is as it was."""

    def changed(text: str) -> str:
        lines = [line for line in _LINE.finditer(text) if len(unescape(line[3])) > LONGEST_LINE]
        if lines:
            given = Source(package.read(part), f"{package.name}, {part}").content.decode()
            before = {line[2]: line[0] for line in _LINE.finditer(given)}
            for line in lines:
                text = text.replace(line[0], before.get(line[2], line[0]))
        return _from_the_right(text) if right_to_left(target) else text

    return changed


def _from_the_right(text: str) -> str:
    def view(found: re.Match[str]) -> str:
        given = re.sub(r"""\srightToLeft=(?:"[^"]*"|'[^']*')""", "", found[2])
        return f'{found[1]}{given} rightToLeft="1"{found[3]}'

    return _VIEW.sub(view, text)


def sheets(package: Package, kinds: dict[str, str]) -> list[Sheet]:
    book = next(
        (part for part, kind in kinds.items() if kind in ("main", "sheet") and part.endswith("workbook.xml")), ""
    )
    names: dict[str, str] = {}
    hidden = set()
    if book:
        places = related(package, book)
        for one in Source(package.read(book), f"{package.name}, {book}").elements("s:sheet"):
            if (place := places.get(one.attributes.get("r:id", ""))) is not None:
                names[place[1]] = one.attributes.get("name", "")
                if one.attributes.get("state", "visible") != "visible":
                    hidden.add(place[1])
    found = [part for part, kind in kinds.items() if kind == "worksheet"]
    pivoted = _pivoted(package, kinds)
    return [
        Sheet(part, part in hidden, _headers(package, part) | pivoted.get(names.get(part), set())) for part in found
    ]


def cell(reference: str) -> tuple[int, int] | None:
    """Return a cell's row and column, from 1: B3 -> (3, 2)."""
    found = _REFERENCE.fullmatch(reference)
    return (int(found[2]), column_number(found[1])) if found else None


def column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def column_letters(number: int) -> str:
    letters = ""
    while number:
        number, last = divmod(number - 1, 26)
        letters = chr(ord("A") + last) + letters
    return letters


def _headers(package: Package, part: str) -> set[tuple[int, int]]:
    found = set()
    for kind, place in related(package, part).values():
        if kind != "table" or place not in package:
            continue
        for table in Source(package.read(place), f"{package.name}, {place}").elements("s:table"):
            if table.attributes.get("headerRowCount", "1") != "0":
                found |= _first_row(table.attributes.get("ref", ""))
    return found


def _pivoted(package: Package, kinds: dict[str, str]) -> dict[str | None, set[tuple[int, int]]]:
    """Return the cells that name the fields of pivot tables, by sheet; a refresh drops a field whose name changed."""
    found: dict[str | None, set[tuple[int, int]]] = {}
    for part in (part for part, kind in kinds.items() if kind == "pivotCacheDefinition"):
        for one in Source(package.read(part), f"{package.name}, {part}").elements("s:worksheetSource"):
            found.setdefault(one.attributes.get("sheet"), set()).update(_first_row(one.attributes.get("ref", "")))
    return found


def _first_row(reference: str) -> set[tuple[int, int]]:
    first, last = corners(reference)
    return {(first[0], column) for column in range(first[1], min(last[1], 16_384) + 1)} if first and last else set()


def corners(reference: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the first and the last cell of a range: A1:B3."""
    begin, _, end = reference.partition(":")
    return cell(begin), cell(end or begin)


def shared_number(element: Element) -> int | None:
    """Return the index of the shared string that a cell shows."""
    value = element.first("s:v") if element.attributes.get("t") == "s" else None
    digits = value.text.strip() if value is not None else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None


def untouched(package: Package, found: list[Sheet]) -> dict[int, str]:
    """Return the shared strings that stay, with the reason."""
    headers: set[int] = set()
    hidden: set[int] = set()
    shown: set[int] = set()
    if not any(sheet.hidden or sheet.headers for sheet in found):
        return {}
    for sheet in found:

        def taken(element: Element, sheet: Sheet = sheet) -> None:
            number = shared_number(element)
            if number is None:
                return
            if cell(element.attributes.get("r", "")) in sheet.headers:
                headers.add(number)
            (hidden if sheet.hidden else shown).add(number)

        Source(package.read(sheet.part), f"{package.name}, {sheet.part}").each("s:c".__eq__, taken)
    return {**dict.fromkeys(hidden - shown, "hidden sheet's cell"), **dict.fromkeys(headers, "table header")}


def _shared(stay: dict[int, str], kept: Counter[str]) -> Callable[[Walk, Element], Iterator[Piece]]:
    """Return a function for shared strings, which are numbered from 0."""
    count = -1

    def pieces(walk: Walk, element: Element) -> Iterator[Piece]:
        nonlocal count
        count += 1
        if count in stay:
            kept[stay[count]] += 1
            yield walk.raw(element)
        else:
            yield from walk.block(element)

    return pieces


def _line(walk: Walk, element: Element) -> Iterator[Piece]:
    """Yield a header or footer, whose codes begin with &."""
    text = element.text
    yield walk.source.raw(element.start, element.inner)
    spelt = _CHARACTER.findall(walk.source.raw(element.inner, element.outer))  # each character as the file has it
    if "".join(map(unescape, spelt)) != text:
        spelt = list(map(escape, text))

    def said(start: int, end: int) -> Item:
        return Item("".join(spelt[start:end]), "text", text[start:end])

    items: list[Item] = []
    at = 0
    for found in _CODE.finditer(text):
        items.append(said(at, found.start()))
        at = found.end()
        code = "".join(spelt[found.start() : at])
        if found["part"]:
            yield from [*divided(items, _written), code]
            items = []
        else:
            items.append(Item(code, "word" if found["word"] else "point"))
    items.append(said(at, len(text)))
    yield from divided(items, _written)
    yield walk.source.raw(element.outer, element.end)


def _written(text: str) -> str:
    return escape(text.replace("&", "&&"))
