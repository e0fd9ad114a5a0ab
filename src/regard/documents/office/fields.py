"""Fields of word processors: page numbers, dates, cross-references.

They stay unchanged, because the program computes them anew; but the text of a table of contents or a link is
translated.
"""

from collections import Counter
from dataclasses import dataclass, replace

from regard.documents.office.runs import Atom

SHOWN = frozenset(("TOC", "HYPERLINK", "INDEX"))


@dataclass(slots=True)
class _Field:
    code: str = ""
    shown: bool = False
    opened: int | None = None
    """The index of the atom of this paragraph that opens it."""


class Fields:
    """Joiner of the atoms of fields, which begin and end anywhere, also in another paragraph.

    `ended`: all of them have an end. Otherwise none is longer than its paragraph, so that the rest is translated.
    """

    def __init__(self, kept: Counter[str], *, ended: bool = True) -> None:
        self._ended = ended
        self._open: list[_Field] = []
        self._kept = kept

    def __call__(self, atoms: list[Atom]) -> list[Atom]:
        found: list[Atom] = []
        held: list[Atom] = []
        if not self._ended:
            self._open.clear()
        for field in self._open:
            field.opened = None
        for atom in atoms:
            before = self._visible()
            ended = self._step(atom)
            if before and self._visible():
                found.append(atom)
                if ended is not None and ended.opened is not None:
                    pair = f"field {ended.opened}"
                    found[ended.opened] = replace(found[ended.opened], kind="open", name=pair)
                    found[-1] = replace(atom, kind="close", name=pair)
                continue
            held.append(atom)
            if self._visible():
                if ended is None:
                    self._open[-1].opened = len(found)
                else:
                    self._kept["field"] += 1
                found.append(_one(held, "word" if ended is not None else "point"))
                held = []
        return [*found, _one(held, "point")] if held else found

    def _visible(self) -> bool:
        return all(field.shown for field in self._open)

    def _step(self, atom: Atom) -> _Field | None:
        """Update the state for an atom, and return the field that it ends."""
        if atom.value == "begin":
            self._open.append(_Field())
        elif self._open and atom.name == "w:instrText":
            self._open[-1].code += atom.value
        elif self._open and atom.value == "separate":
            self._open[-1].shown = self._open[-1].code.split()[:1] != [] and self._open[-1].code.split()[0] in SHOWN
        elif self._open and atom.value == "end":
            return self._open.pop()
        return None


def _one(atoms: list[Atom], kind: str) -> Atom:
    raw = "".join(atom.raw for atom in atoms)
    return Atom(raw, kind, atoms[0].before, atoms[-1].after)  # type: ignore[arg-type]
