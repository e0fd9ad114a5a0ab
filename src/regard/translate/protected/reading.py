"""Replacement of protected spans in the text that a model reads, and their restoration in its translation.

A span becomes a stand-in that the model copies, or it stays and is looked for afterwards, or it is taken out and placed
by the alignment of the words around it.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from regard.documents.placement import Mark, Pairs
from regard.documents.segment import Item, around, joined, partners_of, with_marks
from regard.text.protected.casing import Casing, Rank, given_back, ordinary
from regard.text.protected.reserved import PRIVATE
from regard.text.protected.sentence_end import without_added_end
from regard.text.protected.spans import Kind, Span

How = Literal["kept", "placed", "appended"]
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")
_HISSING = ("s", "ß", "x", "z")  # names that end so take an apostrophe as their genitive in German


@dataclass(frozen=True)
class Kept:
    """A protected span, and how it reached the translation."""

    text: str
    kind: Kind
    how: How
    """`kept` by the model, `placed` by alignment, or lost and `appended`."""


@dataclass(frozen=True)
class Slot:
    """A span in the text that the model reads."""

    number: int
    text: str
    """Text that the translation must contain."""
    kind: Kind
    read: str
    """Text that the model reads: the span itself, or its stand-in."""

    @property
    def pattern(self) -> str:
        """Return a regular expression of the slot in a translation."""
        word = re.escape(self.read)
        if self.read in PRIVATE:
            return word
        if self.read[0].isdigit() or self.kind == "number":
            return rf"(?<![\d{_LATIN}])(?<!\d[.,:]){word}(?![\d{_LATIN}]|[.,:]\d)"
        if self.kind == "name":
            return rf"(?<![{_LATIN}\d]){word}(?=s(?![{_LATIN}])|(?![{_LATIN}\d]))"
        return rf"(?<![{_LATIN}\d]){word}(?![{_LATIN}\d])"


@dataclass(frozen=True)
class Reading:
    """A sentence as the model reads it; empty if there is nothing to translate."""

    source: str
    text: str
    before: str = ""
    """Marks and spaces before the text that the model reads."""
    after: str = ""
    slots: tuple[Slot, ...] = ()
    marks: tuple[Mark, ...] = ()
    placed: tuple[tuple[str, Kind], ...] = ()
    """The spans that were taken out."""
    casing: Casing | None = None


@dataclass(frozen=True)
class Restored:
    """A translation with its spans."""

    text: str
    spans: tuple[Kept, ...]
    lost: tuple[int, ...]
    """Numbers of the spans that the model lost or wrote more than once."""
    origins: tuple["Chunk", ...]
    """The text in parts, each with its origin."""


@dataclass(frozen=True)
class Chunk:
    """A part of a restored text."""

    text: str
    offset: int = -1
    """Offset in the model's output; -1 for a mark."""
    whole: bool = False
    """True if it stands for one word there."""


def read(
    source: str,
    spans: Sequence[Span],
    stand_ins: Mapping[int, str],
    removed: Set[int],
    texts: Mapping[int, str],
    casing: Casing | None,
    rank: Rank,
    language: str | None,
) -> Reading:
    """Return a sentence as the model reads it: spans with a stand-in are replaced, and those of `removed` taken out.

    texts: the text of a span in the translation, where it differs from the source.
    """
    items: list[Item] = []
    slots: list[Slot] = []
    run, at, first = "", 0, True

    def ordinarily(text: str) -> str:
        nonlocal first
        changed = ordinary(text, rank, language, first=first) if casing else text
        first = first and not any(map(str.isalpha, text))
        return changed

    for number, span in enumerate(spans):
        own = source[span.start : span.end]
        run += ordinarily(source[at : span.start])
        at = span.end
        if number in removed:
            items += [Item(run, "text", run), _item(own, span.kind)]
            run = ""
            continue
        slots.append(Slot(number, texts.get(number, own), span.kind, stand_ins.get(number, own)))
        run += slots[-1].read
        first = False
    run += ordinarily(source[at:])
    items.append(Item(run, "text", run))
    placed = tuple((source[spans[n].start : spans[n].end], spans[n].kind) for n in sorted(removed))
    return _trimmed(source, items, tuple(slots), placed, casing)


def _trimmed(
    source: str,
    items: Sequence[Item],
    slots: tuple[Slot, ...],
    placed: tuple[tuple[str, Kind], ...],
    casing: Casing | None,
) -> Reading:
    """Return the reading without the marks and spaces at its ends."""
    seen = [number for number, item in enumerate(items) if item.kind == "text" and item.text.strip()]
    if not seen:
        return Reading(source, "", placed=placed)
    partners = partners_of(items)
    start, stop = around(seen[0], seen[-1], len(items), partners)
    middle = list(items[start:stop])
    left = right = ""
    if middle[0].kind == "text":
        text = middle[0].text
        left, middle[0] = text[: len(text) - len(text.lstrip())], Item(text.lstrip(), "text", text.lstrip())
    if middle[-1].kind == "text":
        text = middle[-1].text
        right, middle[-1] = text[len(text.rstrip()) :], Item(text.rstrip(), "text", text.rstrip())
    text, marks = joined(middle, {here - start: there - start for here, there in partners.items()})
    before = "".join(item.raw for item in items[:start]) + left
    after = right + "".join(item.raw for item in items[stop:])
    return Reading(source, text, before, after, slots, marks, placed, casing)


def _item(raw: str, kind: Kind) -> Item:
    """Return a span that is taken out: a tag opens or closes an element, anything else stands for a word."""
    found = _TAG.match(raw) if kind == "tag" else None
    if found is None:
        return Item(raw, "word" if kind != "tag" else "point")
    name = found[2].lower()
    if raw.endswith("/>") or name in ("br", "hr", "img", "wbr"):
        return Item(raw, "point")
    return Item(raw, "close" if found[1] else "open", name=name)


def restore(reading: Reading, written: str, pairs: Pairs | None, target: str | None) -> Restored:
    """Return a translation with its spans, its case, and no mark at the end that the source has not."""
    written = without_added_end(reading.text, written)
    parts = with_marks(reading.text, reading.marks, written, pairs) if reading.marks else [written]
    chunks = [Chunk(reading.before)]
    count: Counter[int] = Counter()
    groups = {f"s{same[0].number}": same for same in _by_text(reading.slots).values()}
    pattern = re.compile("|".join(f"(?P<{name}>{same[0].pattern})" for name, same in groups.items()) or r"(?!)")
    offset, begun = 0, False
    for part in parts:
        if isinstance(part, Mark):
            chunks.append(Chunk(part.raw))
            continue
        offset = max(offset, written.find(part.strip(), offset) - (len(part) - len(part.lstrip())))  # spaces are added
        at = 0
        for found in pattern.finditer(part):
            begun = _say(chunks, part[at : found.start()], offset + at, reading.casing, target, begun)
            same = groups[found.lastgroup or ""]
            slot = same[min(len(same) - 1, sum(count[one.number] for one in same))]
            count[slot.number] += 1
            chunks.append(Chunk(slot.text, offset + found.start(), whole=True))
            at, begun = found.end(), True
            if slot.kind == "name" and part[at : at + 1] == "s" and target == "de" and slot.text.endswith(_HISSING):
                chunks.append(Chunk("’", offset + at))
                at += 1
        begun = _say(chunks, part[at:], offset + at, reading.casing, target, begun)
        offset += len(part)
    return _finished(reading, chunks, count)


def unrestored(reading: Reading, shown: str, rank: Rank, language: str | None) -> str:
    """Return what the model writes where a translation begins with `shown`: without marks, and with its stand-ins.

    rank, language: of the translation, whose case is that of ordinary text.
    """
    text = shown.removeprefix(reading.before)
    for own, _ in reading.placed:
        text = text.replace(own, "", 1)
    slots = sorted(reading.slots, key=lambda slot: -len(slot.text))
    pattern = re.compile("|".join(re.escape(slot.text) for slot in slots) or r"(?!)")
    parts, at = [], 0
    for found in [*pattern.finditer(text), None]:
        between = text[at : found.start() if found else len(text)]
        parts.append(ordinary(between, rank, language, first=not at) if reading.casing else between)
        if found:
            parts.append(next(slot.read for slot in slots if slot.text == found.group()))
            at = found.end()
    return " ".join("".join(parts).split())


def _finished(reading: Reading, chunks: list[Chunk], count: Counter[int]) -> Restored:
    """Append lost spans, and report how each span was placed."""
    chunks += [Chunk(f" {slot.text}") for slot in reading.slots if not count[slot.number]]
    chunks.append(Chunk(reading.after))
    kept = [Kept(slot.text, slot.kind, "kept" if count[slot.number] else "appended") for slot in reading.slots]
    placed = [Kept(text, kind, "placed") for text, kind in reading.placed]
    lost = tuple(slot.number for slot in reading.slots if count[slot.number] != 1)
    return Restored("".join(chunk.text for chunk in chunks), (*kept, *placed), lost, tuple(chunks))


def _by_text(slots: Sequence[Slot]) -> dict[str, list[Slot]]:
    """Group the slots that the model reads as the same word, in order; the longest first."""
    found: dict[str, list[Slot]] = {}
    for slot in sorted(slots, key=lambda one: -len(one.read)):
        found.setdefault(slot.read, []).append(slot)
    return found


def _say(chunks: list[Chunk], text: str, offset: int, casing: Casing | None, target: str | None, begun: bool) -> bool:
    """Add a part of the model's output, in the case of the source; return whether the text has begun."""
    if text:
        chunks.append(Chunk(given_back(text, casing, target, first=not begun) if casing else text, offset))
    return begun or any(map(str.isalnum, text))


def realigned(reading: Reading, written: str, restored: Restored, pairs: Pairs) -> Pairs | None:
    """Return an alignment of what the model read and wrote as one of the words of the source and of the translation.

    None if the words of the source can't be found again.
    """
    own = restore(reading, reading.text, tuple((n, n) for n in range(len(reading.text.split()))), None)
    if len(own.text.split()) != len(reading.source.split()):
        return None
    read_words, written_words = origin_words(own, reading.text), origin_words(restored, written)
    sources: dict[int, int] = {}
    for word, origin in enumerate(read_words):
        sources.setdefault(origin, word)
    origin_of = {target: source for source, target in pairs}
    return tuple(
        (sources[source], word)
        for word, origin in enumerate(written_words)
        if (source := origin_of.get(origin, -1)) >= 0 and source in sources
    )


def origin_words(restored: Restored, written: str) -> list[int]:
    """Return, for each word of a restored text, the number of the word that it comes from; -1 for a mark's."""
    starts = [found.start() for found in re.finditer(r"\S+", written)]
    origins: list[int] = []
    for chunk in restored.origins:
        for at in range(len(chunk.text)):
            origins.append(-1 if chunk.offset < 0 else chunk.offset + (0 if chunk.whole else at))
    found = []
    for word in re.finditer(r"\S+", restored.text):
        inside = [origin for origin in origins[word.start() : word.end()] if origin >= 0]
        found.append(bisect_right(starts, inside[0]) - 1 if inside else -1)
    return found
