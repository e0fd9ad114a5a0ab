"""Reader and writer of subtitles, SubRip (.srt) and WebVTT (.vtt). Numbers, times, settings and notes stay.

A cue is translated as a whole and keeps its number of lines; a line that begins with a dash is another speaker's.
"""

import re
from collections.abc import Callable, Iterator

from regard.documents.html import escape, unescape
from regard.documents.segment import Item, Piece, divided

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TAG = re.compile(r"<(/?)([a-zA-Z]*+)[^<>\n]*+>|\{\\[^{}\n]*\}")
_SPEAKER = re.compile(r"\s*(?:<[^<>\n]*+>|\{\\[^{}\n]*+\})*+\s*[-–—]\s*")
ARROW = "-->"


def srt(text: str) -> list[Piece]:
    return list(_pieces(text, str, _without_signs, blank_ends=False))


def vtt(text: str) -> list[Piece]:
    return list(_pieces(text, unescape, escape, blank_ends=True))


def _without_signs(text: str) -> str:
    """Remove what would be read as a time or a tag, which SubRip cannot escape."""
    return _TAG.sub("", text.replace(ARROW, "→"))


def _pieces(
    text: str, read: Callable[[str], str], written: Callable[[str], str], *, blank_ends: bool
) -> Iterator[Piece]:
    """Yield cues; a blank line ends one if `blank_ends`, else only the next number or time, as in SubRip."""
    said: list[str] = []
    within = False  # a cue
    lines = _LINE.findall(text)
    for line, after in zip(lines, [*lines[1:], ""], strict=False):
        begins = ARROW in line or (line.strip().isdecimal() and ARROW in after)
        if within and line.strip() and not begins:
            said.append(line)
            continue
        yield from _cue(said, read, written)
        said = []
        within = ARROW in line or (within and not begins and not blank_ends)
        yield line
    yield from _cue(said, read, written)


def _cue(lines: list[str], read: Callable[[str], str], written: Callable[[str], str]) -> Iterator[Piece]:
    items: list[Item] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if (dash := _SPEAKER.match(text)) and text[dash.end() :]:
            yield from divided(items, written)
            yield dash[0]
            items, text = [], text[dash.end() :]
        items += _items(text, read)
        if end := line[len(line.rstrip("\r\n")) :]:
            items.append(Item(end, "break"))
    yield from divided(items, written)


def _items(line: str, read: Callable[[str], str]) -> Iterator[Item]:
    at = 0
    for tag in _TAG.finditer(line):
        yield Item(line[at : tag.start()], "text", read(line[at : tag.start()]))
        name = tag[2] or ""
        yield Item(tag[0], "point" if not name else "close" if tag[1] else "open", name=name.lower())
        at = tag.end()
    yield Item(line[at:], "text", read(line[at:]))
