"""Conversion of an XML part of an office document into pieces, by a table of its elements."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Literal

from regard.documents.document import Part
from regard.documents.markup import Element, Node, Other, Source, Text, escape_attribute
from regard.documents.office.runs import Atom, Run, pieces_of
from regard.documents.segment import Item, Piece, Segment, divided

LINE_BREAK = re.compile(r"((?:_x000[dD]_|&#(?:10|13|x0*[aAdD]);|[\r\n])+)")  # as the file has it
_TAG_NAME = re.compile(r"<([^\s/>]+)")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)\s*=\s*(["'])(.*?)\2""", re.DOTALL)


def _not(_: Element) -> bool:
    return False


@dataclass(frozen=True)
class Dialect:
    """The roles of a format's elements, by name."""

    blocks: frozenset[str]
    """Paragraphs: the elements that hold runs."""
    runs: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    """Elements that contain characters; empty if paragraphs and runs contain them directly."""
    properties: frozenset[str] = frozenset()
    """Elements that follow a start tag and belong to it."""
    wrappers: frozenset[str] = frozenset()
    """Elements around runs: links, insertions."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Elements that represent a word and are not translated, with their names in a report."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Elements that stay unchanged with all their content, with their names in a report."""
    dividers: frozenset[str] = frozenset()
    noise: frozenset[str] = frozenset()
    """Traces of editing, which a new run can omit."""
    lines: bool = False
    """True if a line break in a text is shown as one, as in the cells of workbooks."""
    characters: Mapping[str, str] = field(default_factory=dict)
    """Elements that represent characters."""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Attributes that a reader sees, or a screen reader speaks: alternative texts."""
    hidden: Callable[[Element], bool] = _not
    code: Callable[[Element], bool] = _not
    """Return whether a paragraph or a run is code."""
    inline: Callable[[Element], bool] = _not
    """Return whether an element, such as a picture, has a place in the line, like a word."""
    key: Callable[[str], str] = str
    """Return the part of a run's opening that is equal for runs that look alike."""
    fixed: Callable[[Element], bool] = _not
    """Return whether a run's formatting must not be lost."""
    fields: Callable[[list[Atom]], list[Atom]] = list
    """Join the atoms of a field."""
    paragraph: Callable[[str], str] = str
    """Adapt a paragraph's start, with its properties, to the target language: its direction."""
    run: Callable[[str], str] = str
    special: Mapping[str, "Callable[[Walk, Element], Iterator[Piece]]"] = field(default_factory=dict)
    """Functions for elements that a format reads in a way of its own."""
    roots: frozenset[str] = frozenset()
    """Elements that are searched for texts; all if empty."""

    @property
    def wanted(self) -> frozenset[str]:
        return self.roots or self.blocks | self.attributes.keys() | self.kept.keys() | self.special.keys()


class Walk:
    """Reader of one part."""

    def __init__(self, source: Source, dialect: Dialect, kept: Counter[str]) -> None:
        self.source, self.dialect, self.kept = source, dialect, kept
        self.nested: list[list[Piece]] = []
        self._interesting = dialect.blocks | dialect.attributes.keys() | dialect.special.keys()

    def part(self, name: str) -> Part:
        wanted, at = self.dialect.wanted, 0
        pieces: list[Piece] = []

        def taken(element: Element) -> None:
            nonlocal at
            pieces.append(self.source.raw(at, element.start))
            pieces.extend(self.pieces(element))
            at = element.end

        self.source.each(wanted.__contains__, taken)
        pieces.append(self.source.raw(at, len(self.source.content)))
        return Part(name, _joined(pieces), [_joined(some) for some in self.nested])

    def raw(self, node: Node) -> str:
        return self.source.raw(node.start, node.end)

    def pieces(self, element: Element) -> Iterator[Piece]:
        """Yield an element with its translatable texts."""
        if element.name in self.dialect.kept:
            self.kept[self.dialect.kept[element.name]] += 1
            yield self.raw(element)
        elif element.name in self.dialect.special:
            yield from self.dialect.special[element.name](self, element)
        elif element.name in self.dialect.blocks:
            yield from self.block(element)
        else:
            yield from self.content(element)

    def content(self, element: Element) -> Iterator[Piece]:
        """Yield an element that is not a text itself, with its translatable texts."""
        yield from self._start_tag(element)
        for child in element.children:
            if isinstance(child, Element) and self._has(child):
                yield from self.pieces(child)
            else:
                yield self.raw(child)
        yield self.source.raw(element.outer, element.end)

    def _has(self, element: Element) -> bool:
        if element.name in self.dialect.kept:
            return True
        return element.name in self._interesting or any(map(self._has, element.elements()))

    def _start_tag(self, element: Element) -> Iterator[Piece]:
        tag = self.source.raw(element.start, element.inner)
        names = [name for name in self.dialect.attributes.get(element.name, ()) if name in element.attributes]
        at = 0
        for found in attribute_values(tag, names):
            yield tag[at : found.start(3)]
            yield from divided([Item(found[3], "text", element.attributes[found[1]])], escape_attribute)
            at = found.end(3)
        yield tag[at:]

    def block(self, element: Element) -> Iterator[Piece]:
        """Yield a paragraph; its properties go with its start tag, which the language may change."""
        if element.end == element.inner:  # <p/>
            yield self.raw(element)
            return
        if self.dialect.code(element):
            self.kept["code"] += 1
            yield self.raw(element)
            return
        head, children = self._head(element)
        atoms = self.dialect.fields(list(self._atoms(children, None)))
        content = list(pieces_of(atoms))
        start = self.source.raw(element.start, head)
        yield self.dialect.paragraph(start) if any(isinstance(piece, Segment) for piece in content) else start
        yield from content
        yield self.source.raw(element.outer, element.end)

    def _head(self, element: Element) -> tuple[int, Sequence[Node]]:
        """Return where an element's start tag ends with the properties that belong to it, and the children after it."""
        head, after = element.inner, 0
        for number, child in enumerate(element.children):
            if isinstance(child, Element) and child.name in self.dialect.properties:
                head, after = child.end, number + 1
            elif not (isinstance(child, Text) and not child.text.strip() and self.dialect.texts):
                break
        return head, element.children[after:]

    def _atoms(self, nodes: Sequence[Node], run: Run | None) -> Iterator[Atom]:
        for node in nodes:
            if isinstance(node, Text) and self.dialect.texts:
                yield Atom(self.raw(node), "syntax", run, run)
            elif isinstance(node, Text):
                yield from self._lines(node, run)
            elif isinstance(node, Other):
                yield Atom(self.raw(node), "point", run, run)
            else:
                yield from self._element(node, run)

    def _element(self, element: Element, run: Run | None) -> Iterator[Atom]:
        dialect, name = self.dialect, element.name
        if name in dialect.runs:
            yield from self._run(element, run)
        elif name in dialect.texts and dialect.lines:
            yield from self._text_in_lines(element, run)
        elif name in dialect.texts:
            tag = self._tag(element)
            yield Atom(self.raw(element), "text", run, run, element.text, tag)
        elif name in dialect.wrappers:
            head, children = self._head(element)
            pair = f"{name} {element.start}"
            yield Atom(self.source.raw(element.start, head), "open", run, None, name=pair)
            yield from self._atoms(children, None)
            yield Atom(self.source.raw(element.outer, element.end), "close", None, run, name=pair)
        elif name in dialect.characters:
            yield Atom(self.raw(element), "text", run, run, dialect.characters[name] * _count(element))
        elif name in dialect.noise:
            yield Atom(self.raw(element), "syntax", run, run)
        else:
            yield self._mark(element, run)

    def _text_in_lines(self, element: Element, outer: Run | None) -> Iterator[Atom]:
        """Yield an element with characters as a run, so that its lines are texts of their own."""
        opening, closing = self.source.raw(element.start, element.inner), self.source.raw(element.outer, element.end)
        run = Run("t", opening, closing)
        if outer is not None:  # it may get a space at an end, when other words are formatted
            spaced = opening if "xml:space" in opening else f'{opening[:-1]} xml:space="preserve">'
            run = Run(outer.key, outer.opening + spaced, closing + outer.closing, outer.optional)
        yield Atom(opening, "syntax", outer, run)
        for child in element.children:
            if isinstance(child, Text):
                yield from self._lines(child, run)
            else:
                yield Atom(self.raw(child), "point", run, run)
        yield Atom(closing, "syntax", run, outer)

    def _lines(self, node: Text, run: Run | None) -> Iterator[Atom]:
        """Yield characters as texts, and their line breaks as dividers if they are shown."""
        raw = self.raw(node)
        parts = LINE_BREAK.split(raw) if self.dialect.lines else [raw]
        spelt = [unescape(part) for part in parts]
        if len(parts) == 1 or "".join("".join(spelt).split()) != "".join(node.text.split()):  # as in a CDATA section
            yield Atom(raw, "text", run, run, node.text)
            return
        for number, (part, text) in enumerate(zip(parts, spelt, strict=True)):
            if number % 2:
                yield Atom(part, "divider", run, run)
            elif part:
                yield Atom(part, "text", run, run, text)

    def _mark(self, element: Element, run: Run | None) -> Atom:
        dialect, name = self.dialect, element.name
        if name in dialect.dividers:
            return Atom(self.raw(element), "divider", run, run)
        if name in dialect.words:
            self.kept[dialect.words[name]] += 1
            return Atom(self.raw(element), "word", run, run, name=name)
        value = element.attributes.get("w:fldCharType", "") or (element.text if name == "w:instrText" else "")
        kind: Literal["word", "point"] = "word" if dialect.inline(element) else "point"
        return Atom(self._inside(element), kind, run, run, name=name, value=value)

    def _inside(self, element: Element) -> str:
        """Return an element's bytes, with placeholders for its translatable texts."""
        if not self._has(element):
            return self.raw(element)
        pieces = list(self.pieces(element))
        if not any(isinstance(piece, Segment) for piece in pieces):
            return "".join(piece for piece in pieces if isinstance(piece, str))
        self.nested.append(pieces)
        return f"\0{len(self.nested) - 1}\0"

    def _run(self, element: Element, outer: Run | None) -> Iterator[Atom]:
        if element.end == element.inner:
            yield Atom(self.raw(element), "syntax", outer, outer)
            return
        if self.dialect.hidden(element):
            self.kept["hidden text"] += 1
            yield Atom(self.raw(element), "point", outer, outer)
            return
        if self.dialect.code(element):
            self.kept["code"] += 1
            yield Atom(self.raw(element), "word", outer, outer)
            return
        head, children = self._head(element)
        opening, closing = self.source.raw(element.start, head), self.source.raw(element.outer, element.end)
        opening = self.dialect.run(opening)
        run = Run(self.dialect.key(opening), opening, closing, optional=not self.dialect.fixed(element))
        if outer is not None:
            run = Run(
                outer.key + run.key, outer.opening + opening, closing + outer.closing, run.optional and outer.optional
            )
        yield Atom(opening, "syntax", outer, run)
        yield from self._atoms(children, run)
        yield Atom(closing, "syntax", run, outer)

    def _tag(self, element: Element) -> str:
        found = _TAG_NAME.match(self.source.raw(element.start, element.inner))
        assert found is not None
        return found[1]


def attribute_values(tag: str, names: Sequence[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of attributes in a start tag, in order: name, quote, value."""
    return (found for found in _ATTRIBUTE.finditer(tag) if found[1] in names) if names else iter(())


def _count(element: Element) -> int:
    """Return the number of characters that an element represents."""
    count = element.attributes.get("text:c", "1")
    return min(int(count), 100) if count.isascii() and count.isdecimal() else 1


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Merge adjacent strings in a sequence of pieces."""
    found: list[Piece] = []
    waiting: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            waiting.append(piece)
        else:
            found += ["".join(waiting), piece]
            waiting = []
    return [*found, "".join(waiting)]
