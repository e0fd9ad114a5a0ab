"""Lossless splitting of any text into sentences: concatenating the parts gives the same text.

Leaving two sentences together costs little, cutting one in two spoils its translation: in doubt, there is no cut. Time
is linear in the length of the text, whatever the text.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
ENDS = ".!?…‼⁇⁈⁉।॥؟۔։።"  # followed by a space
FULL_WIDTH_ENDS = "。！？｡．"  # with or without a space
CLOSERS = "\"'”’»›)]}」』）】〉》"
# Words that end with a full stop and seldom end a sentence, in lower case.
ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof st sr jr vs cf approx dept est inc ltd co corp gen col sgt capt lt maj rev hon pres gov sen rep
    vol ed eds al fig figs no nos nr ca bzw evtl ggf hr hrn fr abs art bd str jh jhd geb gest usw inkl exkl max min tel
    vgl sog etc jan feb mar apr jun jul aug sep sept oct okt nov dec dez mon tue wed thu fri sat sun mme mlle sra dra ud
    uds av ave blvd rd mt ft mio mrd mill
    """.split()  # noqa: SIM905
)

_SPACE = re.compile(r"\s+")
_BREAK = re.compile(f"(?<!\\s)[^\\S{BREAKS}]*+[{BREAKS}]\\s*+")
# A possible boundary between sentences.
_MAYBE = re.compile(f"(?<=[{re.escape(ENDS + FULL_WIDTH_ENDS + CLOSERS)}])\\s++|{_BREAK.pattern}")
_FULL_WIDTH = re.compile(  # not before figures, as in ３．５, nor before what follows a quotation
    f"(?<![{FULL_WIDTH_ENDS}])[{FULL_WIDTH_ENDS}]++[{re.escape(CLOSERS)}]*+(?=[^\\s\\d])(?!(?<=[{re.escape(CLOSERS)}])と)"
)
# A text without a match has no boundary.
_MARK = re.compile(
    f"[{re.escape(ENDS + FULL_WIDTH_ENDS + CLOSERS)}{BREAKS}](?:(?=\\s)|(?<=[{FULL_WIDTH_ENDS}{BREAKS}]))"
)
_CLAUSE_END = re.compile(r"[,;:–—،؛]\s+|[、，；：]\s*")
_WORD = re.compile(r"[^\s\"'“‘«(\[{„‚/]{1,12}$")  # the end of it, if it is short
_ONE_LINE = dict.fromkeys(map(ord, BREAKS), " ")
VOWELS = frozenset("aeiouy")
LOOK_BACK = 32  # characters; a longer run of closing marks does not close a sentence


@dataclass(frozen=True)
class SentencePart:
    """A sentence or a part of one, and the text between it and the next."""

    text: str
    after: str


@dataclass(frozen=True)
class SplitText:
    """A split text: before + Σ (text + after) is the text again. No part's text is empty or begins with space."""

    before: str
    parts: tuple[SentencePart, ...]

    def joined(self) -> str:
        return self.before + "".join(part.text + part.after for part in self.parts)


def split(text: str) -> SplitText:
    """Split a text into sentences."""
    return _cut(text, _boundaries(text))


def whole(text: str) -> SplitText:
    """Return a text as one part, split at line breaks only."""
    return _cut(text, (found.span() for found in _BREAK.finditer(text)))


def rejoined(taken: SplitText, spans: Sequence[tuple[int, int]]) -> SplitText:
    """Return a split text without the boundaries inside of spans."""
    parts: list[SentencePart] = []
    at = len(taken.before)
    inside = False  # whether the last boundary is in a span
    for part in taken.parts:
        if inside:
            last = parts.pop()
            part = SentencePart(last.text + last.after + part.text, part.after)  # noqa: PLW2901
            at -= len(last.text) + len(last.after)
        parts.append(part)
        end = at + len(part.text)
        inside = any(start < end < stop for start, stop in spans)
        at = end + len(part.after)
    return SplitText(taken.before, tuple(parts))


def one_line(text: str) -> str:
    """Replace every character that some reader treats as the end of a line by a space."""
    return text.translate(_ONE_LINE)


def shorten(part: SentencePart, fits: Callable[[str], bool]) -> Iterator[SentencePart]:
    """Split a part into pieces that fit: after clauses, else at spaces, else anywhere, as near the middle as possible.

    A single character that does not fit is left as it is.
    """
    waiting = [part]
    while waiting:
        here = waiting.pop()
        if len(here.text) <= 1 or fits(here.text):
            yield here
            continue
        start, end = _middle(here.text)
        waiting += [SentencePart(here.text[end:], here.after), SentencePart(here.text[:start], here.text[start:end])]


def _cut(text: str, spans: Iterator[tuple[int, int]]) -> SplitText:
    """Return the parts between spans, which are in order and may be empty; space at the two ends is not a part."""
    begin = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if begin >= end:
        return SplitText(text, ())
    parts, at = [], begin
    for start, stop in spans:
        if at < start and stop < end:
            parts.append(SentencePart(text[at:start], text[start:stop]))
            at = stop
    return SplitText(text[:begin], (*parts, SentencePart(text[at:end], text[end:])))


def _boundaries(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentence boundaries in order: the space between two, or the empty span after a full-width stop."""
    if _MARK.search(text) is None:  # true of most lines, and fast to check
        return iter(())
    spans = [found.span() for found in _MAYBE.finditer(text) if _divides(text, *found.span())]
    spans += [(found.end(), found.end()) for found in _FULL_WIDTH.finditer(text)]
    return iter(sorted(spans))


def _breaks(space: str) -> bool:
    return any(character in BREAKS for character in space)


def _divides(text: str, start: int, stop: int) -> bool:
    """Return whether a sentence ends before the space from start to stop, and another begins after it."""
    if start == 0 or stop == len(text):
        return False
    if _breaks(text[start:stop]):
        return True
    before = text[max(0, start - LOOK_BACK) : start].rstrip(f"{CLOSERS} \u00a0\u202f")
    if not before or before[-1] not in ENDS + FULL_WIDTH_ENDS:
        return False
    following = text[stop : stop + LOOK_BACK].lstrip("\"'“‘«‹([{„‚¿¡—–-「『 ")[:1]
    closes = text[stop] in "»›" and not text[stop + 1 : stop + 2].isalnum()  # « Oui. » has spaces inside
    if following.islower() or following in ENDS or closes:
        return False
    return before[-1] != "." or not _abbreviated(before[:-1], following)


def _abbreviated(before: str, following: str) -> bool:
    """Return whether a full stop after this more likely belongs to the word than ends the sentence."""
    if before.endswith((".", "…")):
        return False  # an ellipsis
    found = _WORD.search(before)
    if found is None:
        return False
    word = found.group()
    if word.isdecimal():
        return len(word) <= 3 or following.isdecimal()  # am 3. Oktober; 2024. 3. 15.
    if any(map(str.isdecimal, word)):
        return False
    latin, lower = word.isascii() and word.isalpha(), word.lower()
    initial = len(word) == 1 and lower != word.upper()
    consonants = latin and VOWELS.isdisjoint(lower)  # Tsd., bzgl., MM.
    numbered = following.isdecimal() and (lower.endswith("str") or (latin and len(word) <= 4))  # Kap. 4, Hauptstr. 5
    return initial or consonants or numbered or lower in ABBREVIATIONS or "." in word  # p.m., z.B., U.S.


def _middle(text: str) -> tuple[int, int]:
    """Return the best place to cut a text: a span of space, or an empty one."""
    low, high = len(text) // 4, len(text) - len(text) // 4
    for pattern in (_CLAUSE_END, _SPACE):
        spans = [_space_of(found.group(), found.start()) for found in pattern.finditer(text, low, high)]
        spans = [(start, end) for start, end in spans if start > 0 and end < len(text)]
        if spans:
            return min(spans, key=lambda span: abs(sum(span) - len(text)))
    at = len(text) // 2
    while at < min(high, len(text) - 1) and _clings(text, at):
        at += 1
    return at, at


def _space_of(clause_end: str, start: int) -> tuple[int, int]:
    """Return the span of the space at the end of a match."""
    kept = len(clause_end.rstrip())
    return start + kept, start + len(clause_end)


def _clings(text: str, at: int) -> bool:
    """Return whether this character belongs to the one before: a mark, a joiner, or one after a joiner."""
    return unicodedata.category(text[at]) in ("Mn", "Mc", "Me", "Cf") or text[at - 1] == "\u200d"
