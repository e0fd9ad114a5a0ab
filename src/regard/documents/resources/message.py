"""Messages of programs, as in resource files: each line is a text, and placeholders stay."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.documents.gettext import PLACEHOLDER
from regard.documents.segment import Item, Piece, divided

_OWN = re.compile(r"\{\{[^{}\n]*\}\}|%\{[^{}\n]*\}|\$t\([^()\n]*\)|@:\([^()\n]*\)|@:[\w.]+|<[^<>\n]*/>")
_ICU = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_NO_TEXT = re.compile(  # addresses, file names, colours, keys of other messages
    r"\s*(?:[a-z][a-z0-9+.-]*://\S*|mailto:\S+|[^\s@]+@[^\s@]+\.\w+|[\w.-]*(?:/[\w.-]+)+/?|[\w-]+\.[a-z][a-z0-9]{1,4}"
    r"|\#[0-9a-fA-F]{3,8}|@[\w:]+/[\w.]+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+)\s*"
)


@dataclass(frozen=True)
class Spelling:
    """A format's escapes: a pattern for one character in the file, its decoding, and the encoding of a text."""

    unit: re.Pattern[str]
    meaning: Callable[[str], str]
    written: Callable[[str], str]


def message(raw: str, spelling: Spelling, kept: Counter[str]) -> Iterator[Piece]:
    """Yield a message as pieces, by lines; one that is not text, or has plural forms inside it, stays."""
    text, places = _read(raw, spelling)
    if _ICU.search(text):
        kept["message with plural or select forms"] += 1
        yield raw
    elif _NO_TEXT.fullmatch(text):
        kept["address, name of a file, or key"] += 1
        yield raw
    else:
        yield from _lines(raw, text, places, spelling)


def _read(raw: str, spelling: Spelling) -> tuple[str, list[int]]:
    """Return a message's text, and the offset in the file of each character of it; the last is the end."""
    texts: list[str] = []
    places: list[int] = []
    for found in spelling.unit.finditer(raw):
        meaning = spelling.meaning(found[0])
        texts.append(meaning)
        places += [found.start()] * len(meaning)
    return "".join(texts), [*places, len(raw)]


def _lines(raw: str, text: str, places: list[int], spelling: Spelling) -> Iterator[Piece]:
    at = 0
    for line in re.finditer(r"[^\n]+", text):
        begin = places[line.start()]
        yield raw[at:begin]
        yield from divided(list(_items(raw, text, places, line.start(), line.end())), spelling.written)
        at = places[line.end()]
    yield raw[at:]


def _items(raw: str, text: str, places: list[int], start: int, end: int) -> Iterator[Item]:
    at = start
    for begin, stop, kind, name in placeholders(text, start, end):
        yield Item(raw[places[at] : places[begin]], "text", text[at:begin])
        yield Item(raw[places[begin] : places[stop]], kind, name=name)  # type: ignore[arg-type]
        at = stop
    yield Item(raw[places[at] : places[end]], "text", text[at:end])


def placeholders(text: str, start: int, end: int) -> Iterator[tuple[int, int, str, str]]:
    """Yield the positions of placeholders in a text, the kind of mark of each, and the name of a tag."""
    own = [found.span() for found in _OWN.finditer(text, start, end)]
    starts = [begin for begin, _ in own]
    found = [(begin, stop, "word", "") for begin, stop in own]
    for one in PLACEHOLDER.finditer(text, start, end):
        before = bisect_left(starts, one.end()) - 1
        if before < 0 or own[before][1] <= one.start():
            kind = "word" if not one["tag"] else "close" if one["close"] else "open"
            found.append((*one.span(), kind, one["tag"] or ""))
    return iter(sorted(found))
