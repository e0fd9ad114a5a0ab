"""Messages of programs, as in resource files: each line is a text, and placeholders stay."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from regard.documents.gettext import PLACEHOLDER
from regard.documents.segment import Item, Piece, divided

_OWN = re.compile(r"\{\{[^{}\n]*\}\}|%\{[^{}\n]*\}|\$t\([^()\n]*\)|@:\([^()\n]*\)|@:[\w.]+|<[^<>\n]*/>")
_LINE = re.compile(r"[^\s](?:[^\n\r\t\f\v]*[^\s])?")
PLURAL = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_NO_TEXT = re.compile(  # addresses, file names, colours, Ruby's symbols, keys of other messages
    r"\s*(?:[a-z][a-z0-9+.-]*://\S*|mailto:\S+|[^\s@]+@[^\s@]+\.\w+|[\w.-]*(?:/[\w.-]+)+/?|[\w-]+\.[a-z][a-z0-9]{1,4}"
    r"|\#[0-9a-fA-F]{3,8}|:[a-z_]\w*[?!]?|@[\w:]+/[\w.]+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+)\s*"
)


@dataclass(frozen=True)
class Spelling:
    """A format's escapes: a pattern for one character in the file, its decoding, and the encoding of a text."""

    unit: re.Pattern[str]
    meaning: Callable[[str], str]
    written: Callable[[str], str]


@dataclass(frozen=True)
class _Read:
    """A message as it is in the file, its text, and the offsets in the file at which each character begins and ends."""

    raw: str
    text: str
    starts: list[int]
    ends: list[int]


def message(raw: str, spelling: Spelling, kept: Counter[str]) -> Iterator[Piece]:
    """Yield a message as pieces, by lines; one that is not text, or has plural forms inside it, stays."""
    read = _read(raw, spelling)
    if PLURAL.search(read.text):
        kept["message with plural or select forms"] += 1
        yield raw
    elif _NO_TEXT.fullmatch(read.text):
        kept["address, name of a file, or key"] += 1
        yield raw
    else:
        yield from _lines(read, spelling)


def inline(raw: str, spelling: Spelling) -> Iterator[Item]:
    """Yield part of a message as items: texts and placeholders."""
    read = _read(raw, spelling)
    yield from _items(replace(read, text=read.text.replace("\n", " ")), (0, len(read.text)), (0, len(raw)))


def _read(raw: str, spelling: Spelling) -> _Read:
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for found in spelling.unit.finditer(raw):
        meaning = spelling.meaning(found[0])
        texts.append(meaning)
        starts += [found.start()] * len(meaning)
        ends += [found.end()] * len(meaning)
    return _Read(raw, "".join(texts), starts, ends)


def _lines(read: _Read, spelling: Spelling) -> Iterator[Piece]:
    """Yield the texts between line ends and tabs, without the space at their ends."""
    at = 0
    for line in _LINE.finditer(read.text):
        begin, end = read.starts[line.start()], read.ends[line.end() - 1]
        yield read.raw[at:begin]
        yield from divided(list(_items(read, line.span(), (begin, end))), spelling.written)
        at = end
    yield read.raw[at:]


def _items(read: _Read, span: tuple[int, int], place: tuple[int, int]) -> Iterator[Item]:
    """Yield the items of a span of the text, which is at `place` in the file; together they are all of it."""
    items: list[tuple[int, str, str]] = [(span[0], "text", "")]
    for begin, stop, kind, name in placeholders(read.text, *span):
        items += [(begin, kind, name), (stop, "text", "")]
    ends = [begin for begin, _, _ in items[1:]] + [span[1]]
    cuts = [place[0], *(read.starts[end] if end < span[1] else place[1] for end in ends)]
    for (begin, kind, name), end, first, last in zip(items, ends, cuts, cuts[1:], strict=False):
        text = read.text[begin:end] if kind == "text" else ""
        yield Item(read.raw[first:last], kind, text, name=name)  # type: ignore[arg-type]


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
