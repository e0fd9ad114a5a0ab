"""Reader and writer of presentations (.pptx): slides, tables, notes, comments, charts, diagrams, alt texts."""

from collections import Counter

from regard.documents.document import Document, Languages
from regard.documents.language import right_to_left
from regard.documents.markup import Source
from regard.documents.office.ooxml import (
    assembled,
    checked,
    drawing,
    masters_from_the_right,
    related,
    theme_changes,
    types,
    walked,
)
from regard.documents.office.walk import Dialect
from regard.documents.package import Package

DRAWN = frozenset(("slide", "notesSlide", "chart", "diagramData", "diagramDrawing"))
MASTERS = frozenset(("main", "slideMaster", "slideLayout", "notesMaster", "slide", "notesSlide"))
COMMENTS = Dialect(blocks=frozenset(("p:text",)), lines=True)


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a presentation."""
    package = checked(Package(content, name))
    kinds = types(package)
    kept: Counter[str] = Counter()
    hidden = _hidden(package, kinds, kept)
    shown = {part: kind for part, kind in kinds.items() if part not in hidden}
    shapes = drawing(languages.target, styled=True)
    parts = [walked(package, part, shapes, kept) for part, kind in shown.items() if kind in DRAWN]
    for part in (part for part, kind in shown.items() if kind == "comments"):
        (root,) = Source(package.read(part), f"{package.name}, {part}").elements()
        parts.append(walked(package, part, COMMENTS if root.name == "p:cmLst" else shapes, kept))
    changes = theme_changes(package, kinds, languages.target)
    if right_to_left(languages.target):
        changes |= {part: masters_from_the_right for part, kind in shown.items() if kind in MASTERS}
    return assembled(package, parts, changes, kept)


def _hidden(package: Package, kinds: dict[str, str], kept: Counter[str]) -> set[str]:
    """Return the hidden slides, with the notes, charts, diagrams and comments that no other slide has."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for part in (part for part, kind in kinds.items() if kind == "slide"):
        (slide,) = Source(package.read(part), f"{package.name}, {part}").elements()
        stays = slide.attributes.get("show") in ("0", "false")
        if stays:
            kept["hidden slide"] += 1
        (hidden if stays else shown).update((part, *_reached(package, part)))
    return hidden - shown


def _reached(package: Package, slide: str) -> set[str]:
    """Return the parts that a slide refers to, and those that they refer to, but no other slide and no layout."""
    found: set[str] = set()
    ahead = [slide]
    while ahead:
        for kind, place in related(package, ahead.pop()).values():
            if kind not in ("slide", "slideLayout", "notesMaster") and place in package and place not in found:
                found.add(place)
                ahead.append(place)
    return found
