"""Texts inside a file, and their untranslated marks: every format is read into these, and written from them.

A file becomes pieces: strings that stay as they are, byte for byte, and segments. Joined with the segments' own texts,
they are the file again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from regard.documents.placement import Mark, Pairs, places, unsure

SPACE = re.compile(r"[ \t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")  # without no-break spaces
BLANK = " \t\n\r\f"
_CLINGING = ",.;:!?)]}…"  # characters without a space before them


@dataclass(frozen=True)
class Item:
    """A span of a file: text, or a mark in it.

    `word` is a mark that represents a word, such as %s; `break` one that ends a line and replaces a space.
    """

    raw: str
    kind: Literal["text", "open", "close", "point", "word", "break"]
    text: str = ""
    """The text that a reader sees."""
    name: str = ""
    """The name that an opening mark shares with its closing one; of a word, that of its tag."""
    optional: bool = False
    """True if the mark is left out where its words are unknown."""


@dataclass(frozen=True)
class Segment:
    """A text to translate."""

    text: str
    original: str
    """The text in the file."""
    marks: tuple[Mark, ...]
    written: Callable[[Sequence[str | Mark]], str]
    """A function that encodes texts with marks between them in the format."""
    finished: Callable[[str], str] = str
    """A function of the text in the file, translated or not: it puts translated attributes into tags."""

    @property
    def aligned(self) -> bool:
        """Return whether the segment needs a word alignment."""
        return any(mark.kind != "break" for mark in self.marks)


Piece = str | Segment


@dataclass(frozen=True)
class Translated:
    """The translation of a segment's text."""

    text: str
    pairs: Pairs | None = None
    """Aligned words as (source, target) numbers from 0 of what str.split gives; None if unknown."""
    remarks: tuple[str, ...] = ()
    """The reason why it is not to be trusted, or was left untranslated."""
    languages: tuple[str, ...] = ()
    """The languages of sentences that were left as they are, because they are not in the source language."""


_checkpoint: ContextVar[Callable[[], None]] = ContextVar("checkpoint", default=lambda: None)


@contextmanager
def checkpoints(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` at every text that is read from a document or written into it, so that it can cancel the work."""
    before = _checkpoint.set(check)
    try:
        yield
    finally:
        _checkpoint.reset(before)


def segments(pieces: Iterable[Piece]) -> list[Segment]:
    return [piece for piece in pieces if isinstance(piece, Segment)]


def seen(pieces: Iterable[Piece]) -> str:
    """Return the text of a document that a reader sees, one segment a line."""
    return "\n".join(segment.text for segment in segments(pieces))


def rebuild(pieces: Sequence[Piece], translations: Iterable[Translated]) -> str:
    """Return the file with a translation for every segment."""
    following = iter(translations)
    return "".join(piece if isinstance(piece, str) else _rewritten(piece, next(following)) for piece in pieces)


def divided(items: Sequence[Item], written: Callable[[str], str]) -> Iterator[Piece]:
    """Yield consecutive items as pieces. Items without letters, and what surrounds the text, are kept as they are."""
    _checkpoint.get()()
    items = _adjoined(items)
    seen = [number for number, item in enumerate(items) if item.kind == "text" and item.text.strip()]
    if not any(character.isalpha() for item in items if item.kind == "text" for character in item.text):
        yield "".join(item.raw for item in items)
        return
    partners = partners_of(items)
    start, stop = around(seen[0], seen[-1], len(items), partners)
    left, right = "", ""
    middle = list(items[start:stop])
    if middle[0].kind == "text":
        left, middle[0] = _without_edge(middle[0], left=True)
    if middle[-1].kind == "text":
        right, middle[-1] = _without_edge(middle[-1], left=False)
    yield "".join(item.raw for item in items[:start]) + left
    partners = {here - start: there - start for here, there in partners.items()}
    text, marks = joined(middle, partners)
    yield Segment(text, "".join(item.raw for item in middle), marks, in_order(written))
    yield right + "".join(item.raw for item in items[stop:])


def _adjoined(items: Sequence[Item]) -> Sequence[Item]:
    """Return items in which words without anything between them are one: %d%%"""
    found: list[Item] = []
    for item in items:
        if item.kind == "word" and found and found[-1].kind == "word" and not item.name and not found[-1].name:
            found[-1] = Item(found[-1].raw + item.raw, "word")
        elif item.raw or item.kind != "text":
            found.append(item)
    return found or items


def in_order(written: Callable[[str], str]) -> Callable[[Sequence[str | Mark]], str]:
    """Return a function that encodes each text with `written`, and keeps the marks unchanged."""
    return lambda parts: "".join(written(part) if isinstance(part, str) else part.raw for part in parts)


def around(first: int, last: int, count: int, partners: dict[int, int]) -> tuple[int, int]:
    """Return the range from the first to the last text, with the adjacent marks whose partners are inside."""
    inside = range(first, last + 1)
    start, stop = 0, count
    while start < first and partners.get(start) not in inside:
        start += 1
    while stop - 1 > last and partners.get(stop - 1) not in inside:
        stop -= 1
    return start, stop


def partners_of(items: Sequence[Item]) -> dict[int, int]:
    """Return the partner of each opening and closing item."""
    waiting: dict[str, list[int]] = {}
    partners: dict[int, int] = {}
    for number, item in enumerate(items):
        if item.kind == "open":
            waiting.setdefault(item.name, []).append(number)
        elif item.kind == "close" and waiting.get(item.name):
            other = waiting[item.name].pop()
            partners |= {number: other, other: number}
    return partners


def _without_edge(item: Item, *, left: bool) -> tuple[str, Item]:
    """Return the space at one end of a text, as in the file, and the text without it."""
    if left:
        space = item.raw[: len(item.raw) - len(item.raw.lstrip(BLANK))]
        return space, Item(item.raw[len(space) :], "text", item.text[len(space) :])
    space = item.raw[len(item.raw.rstrip(BLANK)) :]
    return space, Item(item.raw.removesuffix(space), "text", item.text[: len(item.text) - len(space)])


def joined(items: Sequence[Item], partners: dict[int, int]) -> tuple[str, tuple[Mark, ...]]:
    """Return the text of items, with single spaces, and the marks with their positions in it."""
    texts: list[str] = []
    length = 0
    spaced = True  # whether the text ends with a space, or has not begun
    ends: list[int] = []  # of each item, in the text
    for item in items:
        if item.kind == "break":
            text = "" if spaced else " "
        else:
            text = SPACE.sub(" ", item.text)
            text = text[1:] if spaced and text[:1] == " " else text
        if item.kind == "text" and spaced and texts and _clings(text) and _after_word(items, ends):
            texts[-1] = texts[-1].removesuffix(" ")
            length -= 1
            for number in range(len(ends) - 1, -1, -1):
                if ends[number] <= length:
                    break
                ends[number] = length
        if text:
            texts.append(text)
            length += len(text)
            spaced = text.endswith(" ")
        ends.append(length)
    whole = "".join(texts).removesuffix(" ")
    ends = [min(end, len(whole)) for end in ends]
    marks = []
    for number, item in enumerate(items):
        if item.kind != "text":
            other = ends[partners[number]] if number in partners else ends[number]
            start, end = sorted((ends[number], other))
            spaces, at = _spaces(items, number), ends[number]
            leading = item.kind in ("point", "word") and spaces == (True, False) and whole[at - 1 : at] in ("", " ")
            leads = leading and at < len(whole)
            marks.append(Mark(item.raw, item.kind, start, end, spaces, leads, item.optional))
    return whole, tuple(marks)


def _clings(text: str) -> bool:
    """Return whether a text takes no space before it, like a comma, but unlike .txt, which begins a word."""
    return text[:1] in tuple(_CLINGING) and not text[1:2].isalnum()


def _after_word(items: Sequence[Item], ends: list[int]) -> bool:
    """Return whether a word was removed just before, and left the space before it."""
    number = len(ends) - 1
    return number > 0 and items[number].kind == "word" and ends[number] > 0


def _spaces(items: Sequence[Item], number: int) -> tuple[bool, bool]:
    """Return whether there is a space before an item, and one after; points at the same place have the same."""
    first = last = number
    while items[number].kind == "point" and first and items[first - 1].kind == "point":
        first -= 1
    while items[number].kind == "point" and last + 1 < len(items) and items[last + 1].kind == "point":
        last += 1
    before = items[first - 1].text if first else ""
    after = items[last + 1].text if last + 1 < len(items) else ""
    return before[-1:].isspace(), after[:1].isspace()


def formatting_lost(segment: Segment, translated: Translated) -> bool:
    """Return whether a translation leaves out its segment's optional marks, since their words are unknown."""
    return any(mark.optional for mark in segment.marks) and unsure(
        segment.text, [mark for mark in segment.marks if mark.optional], _cleaned(translated.text), translated.pairs
    )


def _cleaned(text: str) -> str:
    return SPACE.sub(" ", text).strip(" ")


def _rewritten(segment: Segment, translated: Translated) -> str:
    """Return a translation encoded for the file, with the marks; the original if the translation is empty or equal."""
    _checkpoint.get()()
    text = _cleaned(translated.text)
    if text in ("", segment.text):
        return segment.finished(segment.original)
    marks: Sequence[Mark] = segment.marks
    if formatting_lost(segment, translated):
        marks = [mark for mark in marks if not mark.optional]
    return segment.finished(segment.written(with_marks(segment.text, marks, text, translated.pairs)))


def with_marks(source: str, marks: Sequence[Mark], text: str, pairs: Pairs | None) -> list[str | Mark]:
    """Return a translation and its marks in order, with a space beside a word where the source has one."""
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    parts: list[str | Mark] = []
    due = False  # a space after a mark, unless the next text takes none
    at = 0
    for mark, place in zip(marks, places(source, marks, text, pairs), strict=True):
        between = text[at:place]
        at = place
        if between:
            parts.append(_spaced(between, due))
            due = False
        if mark.kind == "break":
            if begin < place < end and parts and _raw(parts[-1]) != mark.raw:
                if isinstance(last := parts[-1], str):
                    parts[-1] = last.rstrip(" ")
                parts.append(mark)
                at += text.startswith(" ", place)
            continue
        if mark.kind == "word":
            before = next((raw for part in reversed(parts) if (raw := _raw(part))), " ")[-1]
            if before != " " and (mark.spaces[0] or due):
                parts.append(" ")
            due = mark.spaces[1]
        parts.append(mark)
    if rest := text[at:]:
        parts.append(_spaced(rest, due))
    return parts


def _raw(part: str | Mark) -> str:
    return part if isinstance(part, str) else part.raw


def _spaced(text: str, due: bool) -> str:
    return f" {text}" if due and text[0] not in _CLINGING + " " else text
