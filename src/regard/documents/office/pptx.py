"""Reader and writer of presentations (.pptx): slides, tables, notes, comments, charts, diagrams, alt texts."""

from collections import Counter

from regard.documents.document import Document, Languages
from regard.documents.office.ooxml import assembled, checked, drawing, theme_changes, types, walked
from regard.documents.office.walk import Dialect
from regard.documents.package import Package

DRAWN = frozenset(("slide", "notesSlide", "chart", "diagramData", "diagramDrawing"))
COMMENTS = Dialect(blocks=frozenset(("p:text",)))


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a presentation."""
    package = checked(Package(content, name))
    kinds = types(package)
    kept: Counter[str] = Counter()
    shapes = drawing(languages.target)
    parts = [walked(package, part, shapes, kept) for part, kind in kinds.items() if kind in DRAWN]
    parts += [walked(package, part, COMMENTS, kept) for part, kind in kinds.items() if kind == "comments"]
    return assembled(package, parts, theme_changes(package, kinds, languages.target), kept)
