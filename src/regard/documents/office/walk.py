"""An XML part of an office document <-> pieces, by a table of what its elements are."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from regard.documents.document import Part
from regard.documents.markup import Element, Node, Other, Source, Text, escape_attribute
from regard.documents.office.runs import Atom, Run, pieces_of
from regard.documents.segment import Item, Piece, Segment, divided

_TAG_NAME = re.compile(r"<([^\s/>]+)")
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)\s*=\s*(["'])(.*?)\2""", re.DOTALL)


def _not(_: Element) -> bool:
    return False


@dataclass(frozen=True)
class Dialect:
    """What the elements of a format are, by name."""

    blocks: frozenset[str]
    """Paragraphs: the elements that hold runs."""
    runs: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    """The elements that characters stand in; none if they stand in paragraphs and runs themselves."""
    properties: frozenset[str] = frozenset()
    """What follows a start tag and belongs to it."""
    wrappers: frozenset[str] = frozenset()
    """What encloses runs: links, insertions."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What stands for a word and is not translated, and what a report calls it."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """What is left as it is, with everything in it, and what a report calls it."""
    dividers: frozenset[str] = frozenset()
    noise: frozenset[str] = frozenset()
    """Traces of an editor's work, which a new run need not have."""
    characters: Mapping[str, str] = field(default_factory=dict)
    """Elements that stand for characters."""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Attributes that a reader sees, or hears: alternative texts."""
    hidden: Callable[[Element], bool] = _not
    code: Callable[[Element], bool] = _not
    """Whether a paragraph or a run is a program's text."""
    key: Callable[[str], str] = str
    """What of a run's opening those share that look alike."""
    fixed: Callable[[Element], bool] = _not
    """Whether a run's formatting may not be lost."""
    fields: Callable[[list[Atom]], list[Atom]] = list
    """What joins the atoms of a field."""
    paragraph: Callable[[str], str] = str
    """What changes a paragraph's start, with its properties, for the language that is written: its direction."""
    run: Callable[[str], str] = str
    special: Mapping[str, "Callable[[Walk, Element], Iterator[Piece]]"] = field(default_factory=dict)
    """Elements that a format takes apart in a way of its own."""
    roots: frozenset[str] = frozenset()
    """Where texts are looked for; everywhere if it names none."""

    @property
    def wanted(self) -> frozenset[str]:
        return self.roots or self.blocks | self.attributes.keys() | self.kept.keys() | self.special.keys()


class Walk:
    """Takes one part apart."""

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
        """An element with whatever is translated in it."""
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
        """An element that is no text itself, and what is translated in it."""
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
        """A paragraph; its properties go with its start tag, which the language may change."""
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
        """Where an element's start tag ends with the properties that belong to it, and the children after it."""
        head, after = element.inner, 0
        for number, child in enumerate(element.children):
            if isinstance(child, Element) and child.name in self.dialect.properties:
                head, after = child.end, number + 1
            elif not (isinstance(child, Text) and not child.text.strip() and self.dialect.texts):
                break
        return head, element.children[after:]

    def _atoms(self, nodes: Sequence[Node], run: Run | None) -> Iterator[Atom]:
        for node in nodes:
            if isinstance(node, Text):
                bare = not self.dialect.texts
                yield Atom(self.raw(node), "text" if bare else "syntax", run, run, node.text if bare else "")
            elif isinstance(node, Other):
                yield Atom(self.raw(node), "point", run, run)
            else:
                yield from self._element(node, run)

    def _element(self, element: Element, run: Run | None) -> Iterator[Atom]:
        dialect, name = self.dialect, element.name
        if name in dialect.runs:
            yield from self._run(element, run)
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

    def _mark(self, element: Element, run: Run | None) -> Atom:
        dialect, name = self.dialect, element.name
        if name in dialect.dividers:
            return Atom(self.raw(element), "divider", run, run)
        if name in dialect.words:
            self.kept[dialect.words[name]] += 1
            return Atom(self.raw(element), "word", run, run, name=name)
        value = element.attributes.get("w:fldCharType", "") or (element.text if name == "w:instrText" else "")
        return Atom(self._inside(element), "point", run, run, name=name, value=value)

    def _inside(self, element: Element) -> str:
        """An element's bytes, with a sign for what is translated in it."""
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
    """Where a start tag has the values of attributes, in order: name, quote, value."""
    return (found for found in _ATTRIBUTE.finditer(tag) if found[1] in names) if names else iter(())


def _count(element: Element) -> int:
    """How many characters an element stands for."""
    count = element.attributes.get("text:c", "1")
    return min(int(count), 100) if count.isascii() and count.isdecimal() else 1


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces with strings that follow each other in one."""
    found: list[Piece] = []
    waiting: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            waiting.append(piece)
        else:
            found += ["".join(waiting), piece]
            waiting = []
    return [*found, "".join(waiting)]
