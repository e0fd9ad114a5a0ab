"""Conversion between a paragraph of runs, as in word processors and slides, and segments.

An editor splits a paragraph into runs, each with its formatting, and often in the middle of a word. Here its content is
a sequence of atoms; runs that look alike are joined, and a run that differs from the predominant formatting becomes a
pair of marks. A translation is written as new runs; without one, the file's own bytes stay.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.documents.markup import escape
from regard.documents.placement import Mark
from regard.documents.segment import BLANK, Item, Piece, Segment, around, joined, partners_of


@dataclass(frozen=True, slots=True)
class Run:
    """A formatting: its opening, its closing, and a key that is equal for runs that look alike."""

    key: str
    opening: str
    closing: str
    optional: bool = True
    """True if it may be lost; a link may not."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A span of a paragraph's content, and the runs that are open where it begins and where it ends.

    `syntax` are the tags of runs, which are written anew where they are needed; a `divider` is a tab or a line break.
    """

    raw: str
    kind: Literal["text", "open", "close", "point", "word", "divider", "syntax"]
    before: Run | None = None
    after: Run | None = None
    text: str = ""
    tag: str = ""
    """The element that contains a text, as the file spells it."""
    name: str = ""
    """The name that an opening atom shares with its closing one; of others, the element's name."""
    value: str = ""
    """A relevant attribute or content of an element: the kind or the code of a field."""


def pieces_of(atoms: Sequence[Atom]) -> Iterator[Piece]:
    """Yield a paragraph's content as pieces. Dividers end a text."""
    group: list[Atom] = []
    for atom in atoms:
        if atom.kind == "divider":
            yield from _group(group)
            yield atom.raw
            group = []
        else:
            group.append(atom)
    yield from _group(group)


def _raw(atoms: Sequence[Atom]) -> str:
    return "".join(atom.raw for atom in atoms)


def _group(atoms: Sequence[Atom]) -> Iterator[Piece]:
    seen = [number for number, atom in enumerate(atoms) if atom.kind == "text" and atom.text.strip()]
    if not any(character.isalpha() for number in seen for character in atoms[number].text):
        yield _raw(atoms)
        return
    partners = partners_of([_item(atom, number) for number, atom in enumerate(atoms)])
    start, stop = around(seen[0], seen[-1], len(atoms), partners)
    while start and atoms[start - 1].kind == "syntax" and atoms[start].before is not None:
        start -= 1  # includes the whole run, so that none is left empty
    while stop < len(atoms) and atoms[stop].kind == "syntax" and atoms[stop - 1].after is not None:
        stop += 1
    yield _raw(atoms[:start])
    yield _segment(atoms[start:stop])
    yield _raw(atoms[stop:])


def _item(atom: Atom, number: int) -> Item:
    if atom.kind in ("syntax", "divider"):
        return Item("", "text")
    return Item(str(number), atom.kind, atom.text, atom.name)  # type: ignore[arg-type]


def _segment(atoms: Sequence[Atom]) -> Segment:
    texts = [atom for atom in atoms if atom.kind == "text"]
    weights: Counter[str] = Counter()
    for atom in _outside(atoms) or [atom for atom in texts if atom.before is None or atom.before.optional] or texts:
        weights[_key(atom.before)] += len(atom.text.strip())
    most = weights.most_common(1)[0][0]
    base = next(atom.before for atom in texts if _key(atom.before) == most)
    items, formats = _marked(atoms, base)
    text, marks = joined(items, partners_of(items))
    first, last = texts[0].text, texts[-1].text
    lead, trail = first[: len(first) - len(first.lstrip(BLANK))], last[len(last.rstrip(BLANK)) :]
    writer = _Writer(atoms, base, formats)
    return Segment(text, _raw(atoms), marks, lambda parts: writer.written([lead, *parts, trail]))


def _outside(atoms: Sequence[Atom]) -> list[Atom]:
    """Return the texts that are not in a link or the like, whose formatting is not that of the sentence."""
    found: list[Atom] = []
    depth = 0
    for atom in atoms:
        depth += (atom.kind == "open") - (atom.kind == "close")
        if depth == 0 and atom.kind == "text" and atom.text.strip() and (atom.before is None or atom.before.optional):
            found.append(atom)
    return found


def _key(run: Run | None) -> str:
    return run.key if run is not None else ""


def _same(one: Run | None, other: Run | None) -> bool:
    """Return whether two runs look alike and are closed alike."""
    if one is None or other is None:
        return one is other
    return one.key == other.key and one.closing == other.closing


def _marked(atoms: Sequence[Atom], base: Run | None) -> tuple[list[Item], list[Run | None]]:
    """Return items for all atoms but syntax, with marks around every span that is not formatted like `base`."""
    items: list[Item] = []
    formats: list[Run | None] = []
    stretch, end, depth = _key(base), 0, 0

    def leave() -> None:
        nonlocal stretch
        if stretch != _key(base):
            opening = next(item for item in reversed(items) if item.name == f"format {len(formats) - 1}")
            items.insert(end, Item("-", "close", name=opening.name, optional=opening.optional))
        stretch = _key(base)

    for number, atom in enumerate(atoms):
        if atom.kind == "syntax":
            continue
        if atom.kind == "text":
            if atom.text.strip() and _key(atom.before) != stretch:
                leave()
                stretch = _key(atom.before)
                if stretch != _key(base):
                    optional = depth == 0 and (atom.before is None or atom.before.optional)
                    items.append(Item(f"+{len(formats)}", "open", name=f"format {len(formats)}", optional=optional))
                    formats.append(atom.before)
            items.append(Item("", "text", atom.text))
            end = len(items) if atom.text.strip() else end
            continue
        if atom.kind in ("open", "close"):
            leave()
            depth += 1 if atom.kind == "open" else -1
        items.append(_item(atom, number))
    leave()
    return items, formats


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writer of a translation as runs."""

    atoms: Sequence[Atom]
    base: Run | None
    formats: Sequence[Run | None]

    def written(self, parts: Sequence[str | Mark]) -> str:
        out: list[str] = []
        text: list[str] = []
        state, current = self.atoms[0].before, self.base
        tag = next((atom.tag for atom in self.atoms if atom.kind == "text" and atom.tag), "")

        def go(run: Run | None) -> None:
            """Close and open runs so that this one is open."""
            nonlocal state
            if text:
                out.append(spelt("".join(text), tag))
                text.clear()
            if not _same(state, run):
                out.append(state.closing if state is not None else "")
                out.append(run.opening if run is not None else "")
                state = run

        def say(words: str) -> None:
            if _key(state) != _key(current):
                go(current)
            text.append(words)

        for part in parts:
            if isinstance(part, str):
                if part:
                    say(part)
            elif part.raw.startswith("+"):
                current = self.formats[int(part.raw[1:])]
            elif part.raw == "-":
                current = self.base
            else:
                atom = self.atoms[int(part.raw)]
                go(atom.before)
                out.append(atom.raw)
                state = atom.after
        go(self.atoms[-1].after)
        return "".join(out)


def spelt(text: str, tag: str) -> str:
    """Return a text in its element, or bare."""
    if not tag:
        return escape(text)
    kept = ' xml:space="preserve"' if text != text.strip() and not tag.startswith("a:") else ""
    return f"<{tag}{kept}>{escape(text)}</{tag}>"
