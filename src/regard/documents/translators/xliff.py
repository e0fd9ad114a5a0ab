"""Reader and writer of XLIFF 1.2 and 2.x (.xliff, .xlf): sources without a target. Existing translations stay.

A new target is marked: state="needs-review-translation" and state-qualifier="mt-suggestion" in 1.2, state="translated"
in 2.x.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from regard.documents.document import Document, Languages
from regard.documents.markup import Element, Source
from regard.documents.office.walk import Walk
from regard.documents.resources.xml_file import document
from regard.documents.segment import Piece
from regard.documents.translators.inline import Codes, content, with_attributes
from regard.errors import UserError

OLD = Codes(
    pairs=frozenset(("x1:g", "x1:mrk")),
    opening={"x1:bx": "rid", "x1:bpt": "rid"},
    closing={"x1:ex": "rid", "x1:ept": "rid"},
    words=frozenset(("x1:x", "x1:ph", "x1:it", "x1:g", "x1:mrk")),
)
NEW = Codes(
    pairs=frozenset(("x2:pc", "x2:mrk")),
    opening={"x2:sc": "id", "x2:sm": "id"},
    closing={"x2:ec": "startRef", "x2:em": "startRef"},
    words=frozenset(("x2:ph", "x2:cp", "x2:pc", "x2:mrk")),
)
UNDONE = frozenset(("", "new", "needs-translation", "initial"))
_MACHINE = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
_ATTRIBUTE = r"""\s{}=(?:"[^"]*"|'[^']*')"""


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file."""
    source = Source(content, name)
    roots = source.elements("x1:xliff", "x2:xliff")
    if not roots:
        raise UserError(f"{name}: is not XLIFF 1.2 or 2.x, whose root is <xliff>; check what it is")
    root = roots[0].name
    language = languages.target

    def root_pieces(walk: Walk, element: Element) -> Iterator[Piece]:
        tag = walk.source.raw(element.start, element.inner)
        if root == "x2:xliff" and language is not None and "trgLang" not in element.attributes:
            tag = with_attributes(tag, {"trgLang": language})
        yield tag
        yield from _children(walk, element, translated=True, visit=visit)
        yield walk.source.raw(element.outer, element.end)

    def visit(walk: Walk, element: Element, translated: bool) -> Iterator[Piece]:
        translated = {"no": False, "yes": True}.get(element.attributes.get("translate", ""), translated)
        if element.name == "x1:trans-unit":
            yield from _unit(walk, element, translated)
        elif element.name == "x2:segment":
            yield from _segment(walk, element, translated)
        elif element.name in _CONTAINERS:
            tag = walk.source.raw(element.start, element.inner)
            if element.name == "x1:file" and language is not None and "target-language" not in element.attributes:
                tag = with_attributes(tag, {"target-language": language})
            yield tag
            yield from _children(walk, element, translated=translated, visit=visit)
            yield walk.source.raw(element.outer, element.end)
        else:
            yield walk.raw(element)

    return document(source, {root: root_pieces}, name)


_CONTAINERS = frozenset(("x1:file", "x1:body", "x1:group", "x2:file", "x2:group", "x2:unit"))


def _children(
    walk: Walk, element: Element, *, translated: bool, visit: Callable[[Walk, Element, bool], Iterator[Piece]]
) -> Iterator[Piece]:
    for child in element.children:
        if isinstance(child, Element):
            yield from visit(walk, child, translated)
        else:
            yield walk.raw(child)


def _done(target: Element | None, state: str) -> bool:
    return target is not None and bool(target.text.strip()) and state not in UNDONE - {""}


def _unit(walk: Walk, unit: Element, translated: bool) -> Iterator[Piece]:
    source, target = unit.first("x1:source"), unit.first("x1:target")
    state = target.attributes.get("state", "") if target is not None else ""
    if not translated or source is None or _done(target, state) or unit.attributes.get("approved") == "yes":
        walk.kept["unit that has a translation, or is marked"] += 1
        yield walk.raw(unit)
        return
    spelt = re.match(r"<([^\s/>]+)", walk.source.raw(source.start, source.inner))
    assert spelt is not None
    name = spelt[1].removesuffix("source") + "target"
    segmented = unit.first("x1:seg-source")
    inside = _segments(walk, segmented) if segmented is not None else list(content(walk, source, OLD))
    yield from _filled(walk, unit, target, segmented or source, name, inside, _MACHINE | _space(source))


def _segments(walk: Walk, element: Element) -> list[Piece]:
    """Return the pieces of a source that is divided into segments: <mrk mtype="seg">."""
    pieces: list[Piece] = []
    for child in element.children:
        if isinstance(child, Element) and child.name == "x1:mrk" and child.inner < child.end:
            pieces.append(walk.source.raw(child.start, child.inner))
            pieces += content(walk, child, OLD)
            pieces.append(walk.source.raw(child.outer, child.end))
        else:
            pieces.append(walk.raw(child))
    return pieces


def _segment(walk: Walk, segment: Element, translated: bool) -> Iterator[Piece]:
    source, target = segment.first("x2:source"), segment.first("x2:target")
    if not translated or source is None or _done(target, segment.attributes.get("state", "")):
        walk.kept["unit that has a translation, or is marked"] += 1
        yield walk.raw(segment)
        return
    tag = walk.source.raw(segment.start, segment.inner)
    changed = with_attributes(re.sub(_ATTRIBUTE.format("state"), "", tag), {"state": "translated"})
    spelt = re.match(r"<([^\s/>]+)", walk.source.raw(source.start, source.inner))
    assert spelt is not None
    inside = list(content(walk, source, NEW))
    name = spelt[1].removesuffix("source") + "target"
    pieces = list(_filled(walk, segment, target, source, name, inside, _space(source)))
    yield changed
    first = pieces[0]
    assert isinstance(first, str)
    yield first.removeprefix(tag)
    yield from pieces[1:]


def _space(source: Element) -> dict[str, str]:
    """Return the attribute that says whether space counts, which a target shares with its source."""
    return {name: value for name, value in source.attributes.items() if name == "xml:space"}


def _filled(
    walk: Walk,
    unit: Element,
    target: Element | None,
    after: Element,
    name: str,
    inside: Sequence[Piece],
    state: dict[str, str],
) -> Iterator[Piece]:
    """Yield a unit with its target written, in place of an empty one or after the source."""
    raw = walk.source.raw
    if target is None:
        yield raw(unit.start, after.end)
        yield with_attributes(f"<{name}>", state)
        end = after.end
    else:
        yield raw(unit.start, target.start)
        tag = raw(target.start, target.inner)
        for attribute in state:
            tag = re.sub(_ATTRIBUTE.format(attribute), "", tag)
        yield with_attributes(tag.removesuffix("/>").removesuffix(">").rstrip() + ">", state)
        end = target.end
    yield from inside
    yield f"</{name}>"
    yield raw(end, unit.end)
