"""Conversion between the inline codes of a translator's segment and marks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from regard.documents.markup import Element, Other, Text, escape
from regard.documents.office.walk import Walk
from regard.documents.resources.message import PLURAL, Spelling, inline
from regard.documents.resources.xml_file import CDATA, UNIT, meaning
from regard.documents.segment import Item, Piece, divided

SPELLING = Spelling(UNIT, meaning, escape)


@dataclass(frozen=True)
class Codes:
    """The roles of the elements inside a segment, by name."""

    pairs: frozenset[str]
    """Elements that contain text."""
    opening: Mapping[str, str] = field(default_factory=dict)
    """Elements that represent the beginning of something, and the attribute that its end names."""
    closing: Mapping[str, str] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    """Elements that represent a word; others are between words."""


def content(walk: Walk, element: Element, codes: Codes) -> Iterator[Piece]:
    """Yield a segment's text with its codes, and with placeholders such as %s; one with plural forms stays."""
    if PLURAL.search(element.text):
        walk.kept["message with plural or select forms"] += 1
        yield walk.source.raw(element.inner, element.outer)
        return
    yield from divided(list(_items(walk, element, codes)), escape)


def _items(walk: Walk, element: Element, codes: Codes) -> Iterator[Item]:
    for child in element.children:
        raw = walk.raw(child)
        if isinstance(child, Text):
            yield from [Item(raw, "text", child.text)] if CDATA in raw else inline(raw, SPELLING)
        elif isinstance(child, Other):
            yield Item(raw, "point")
        elif child.name in codes.pairs and child.inner < child.end and _translated(child):
            pair = f"{child.name} {child.start}"
            yield Item(walk.source.raw(child.start, child.inner), "open", name=pair)
            yield from _items(walk, child, codes)
            yield Item(walk.source.raw(child.outer, child.end), "close", name=pair)
        else:
            yield _code(raw, child, codes)


def _translated(element: Element) -> bool:
    return element.attributes.get("translate") != "no" and element.attributes.get("mtype") != "protected"


def _code(raw: str, element: Element, codes: Codes) -> Item:
    for kind, names in (("open", codes.opening), ("close", codes.closing)):
        if element.name in names:
            given = element.attributes
            name = given.get(names[element.name]) or given.get("id", "")
            return Item(raw, kind, name=name)  # type: ignore[arg-type]
    return Item(raw, "word" if element.name in codes.words else "point")


def with_attributes(tag: str, given: Mapping[str, str]) -> str:
    """Return a start tag with the attributes added that it lacks."""
    end = "/>" if tag.endswith("/>") else ">"
    return tag.removesuffix(end).rstrip() + "".join(f' {name}="{value}"' for name, value in given.items()) + end
