"""Placement of the source's marks in a translation: tags, placeholders, line breaks.

Their order stays, so that what was well nested is well nested. Each has a preferred place: by the alignment of the
words, or without one in proportion. Dynamic programming finds the places that are nearest to the preferred ones and
leave no element empty that contained words.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Pairs = tuple[tuple[int, int], ...]
MOST_WORK = 200_000  # marks times places; above this, the text is not a sentence, and proportion is used
EMPTY = 1000.0  # cost of an element that has lost all its words, in characters of distance
WRONG_SIDE = 3.0
QUOTES = "\"'“‘„‚«‹"  # marks that open in one language, or at one place, and close in another
OPENERS = "([{\"'“‘«‹„‚¿¡「『（【〈《"

_WORD = re.compile(r"\S+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")  # kana and ideographs


@dataclass(frozen=True)
class Mark:
    """A mark between the words, and the part of the text that it encloses."""

    raw: str
    kind: Literal["open", "close", "point", "word", "break"]
    start: int
    end: int
    spaces: tuple[bool, bool] = (False, False)
    """True if there was a space before it, and one after."""
    leading: bool = False
    """True if it is at the beginning of a word, like the first of %s/%s, and not at the end of one."""
    optional: bool = False
    """True if it is formatting, which may be left out where its words are unknown."""

    @property
    def at(self) -> int:
        return self.start if self.kind == "open" else self.end

    @property
    def side(self) -> Literal["start", "end"] | None:
        """Return the side of a word that the mark belongs to; a point attached to the next word only is its start."""
        if self.kind == "break":
            return None
        return "start" if self.kind == "open" or self.leading else "end"


@dataclass(frozen=True)
class Word:
    """A word between spaces: start ≤ core_start ≤ core_end ≤ end; the core has no punctuation at its ends."""

    start: int
    core_start: int
    core_end: int
    end: int


def word_spans(text: str) -> list[Word]:
    return [_word(text, *found.span()) for found in _WORD.finditer(text)]


def places(source: str, marks: Sequence[Mark], target: str, pairs: Pairs | None) -> list[int]:
    """Return the offset in the target of each mark, in order."""
    candidates = _candidates(target)
    if not marks or len(marks) * len(candidates) > MOST_WORK:
        return _in_proportion(source, marks, target, candidates)
    if _UNSPACED.search(source) or _UNSPACED.search(target):
        pairs = None  # words that are whole sentences carry no information
    wishes = _wishes(source, marks, target, pairs)
    theirs, ours = word_spans(source), word_spans(target)
    inner = [_inside_words(source, theirs, mark.at, target, ours) for mark in marks]
    wishes = [min(found or [wish], key=lambda at: abs(at - wish)) for found, wish in zip(inner, wishes, strict=True)]
    alike = {(at, side) for found in inner for at in found for side in ("start", "end")}
    return _nearest(source, marks, wishes, target, sorted({*candidates, *alike}))


def unsure(source: str, marks: Sequence[Mark], target: str, pairs: Pairs | None) -> bool:
    """Return whether the alignment leaves open which target words some element belongs to."""
    spans = {(mark.start, mark.end) for mark in marks if mark.kind == "open" and source[mark.start : mark.end].strip()}
    if not spans or source == target:
        return False
    if pairs is None or _UNSPACED.search(source) or _UNSPACED.search(target):
        return True
    theirs, count = word_spans(source), len(word_spans(target))
    if len(spans) * count > MOST_WORK:
        return True
    starts, ends = [word.start for word in theirs], [word.end for word in theirs]
    origin = {there: here for here, there in pairs if there < count}
    for start, end in spans:
        inside = range(bisect_left(ends, start + 1), bisect_left(starts, end))
        chosen = [origin.get(number, -1) in inside for number in range(count)]
        found = _best_run(chosen)
        if found is None or 2 * sum(chosen[found[0] : found[1] + 1]) <= sum(chosen):
            return True
    return False


def _word(text: str, start: int, end: int) -> Word:
    core_start, core_end = start, end
    while core_start < end and not text[core_start].isalnum():
        core_start += 1
    if core_start == end:  # nothing but punctuation; a word may have been removed from it
        opening = text[start : end - len(text[start:end].lstrip(OPENERS))]
        inner = start + len(opening) - sum(sign in QUOTES for sign in opening) // 2  # of '' and „“ the second closes
        return Word(start, inner, inner, end)
    while not text[core_end - 1].isalnum() and not _clings(text, core_end - 1):
        core_end -= 1
    return Word(start, core_start, core_end, end)


def _clings(text: str, at: int) -> bool:
    """Return whether a character belongs to the one before: a combining mark, or a joiner."""
    return unicodedata.category(text[at]) in ("Mn", "Mc", "Me", "Cf")


def _candidates(text: str) -> list[tuple[int, str]]:
    """Return the offsets at which a mark may be placed, in order, with the side of a word that each is."""
    found = {(0, "end"), (0, "start"), (len(text), "start"), (len(text), "end")}
    for word in word_spans(text):
        found |= {(word.start, "start"), (word.core_start, "start"), (word.core_end, "end"), (word.end, "end")}
    for ideograph in _UNSPACED.finditer(text):
        at = ideograph.start()
        found |= {(at, "start"), (at, "end")}
        if at + 1 < len(text) and not _clings(text, at + 1):
            found |= {(at + 1, "start"), (at + 1, "end")}
    return sorted(found)


def _in_proportion(source: str, marks: Sequence[Mark], target: str, candidates: Sequence[tuple[int, str]]) -> list[int]:
    offsets = sorted({offset for offset, _ in candidates})
    return [offsets[bisect_left(offsets, _scaled(mark.at, source, target))] for mark in marks]


def _inside_words(source: str, theirs: Sequence[Word], at: int, target: str, ours: Sequence[Word]) -> list[int]:
    """Return where the target has the context of a mark in a word: H<sub>2</sub>O, 10<sup>6</sup>, so.<sup>1</sup>"""
    number = bisect_left(theirs, at, key=lambda word: word.end)
    if number == len(theirs) or not theirs[number].start < at < theirs[number].end:
        return []
    word = theirs[number]
    lettered = word.core_start < word.core_end
    if lettered and not word.core_start < at < word.core_end:
        return []
    before, after = source[word.start : at], source[at : word.end]
    found = []
    for one in ours:
        text = target[one.start : one.end]
        if text == before + after or (lettered and not after[0].isalpha() and text.endswith(after)):
            found.append(one.end - len(after))
        elif lettered and text.startswith(before) and len(text) > len(before) and not text[len(before)].isalpha():
            found.append(one.start + len(before))
    return [place for place in found if not _clings(target, place)]


def _scaled(at: int, source: str, target: str) -> int:
    return at * len(target) // max(1, len(source))


def _wishes(source: str, marks: Sequence[Mark], target: str, pairs: Pairs | None) -> list[int]:
    """Return the preferred place of each mark, independently of the others."""
    theirs, ours = word_spans(source), word_spans(target)
    origin = dict.fromkeys(range(len(ours)), -1)
    origin |= {there: here for here, there in pairs or () if here < len(theirs) and there < len(ours)}
    starts, ends = [word.start for word in theirs], [word.end for word in theirs]

    def wish(mark: Mark) -> int:
        inside = range(bisect_left(ends, mark.start + 1), bisect_left(starts, mark.end))
        if pairs is None or mark.kind == "break":
            return _scaled(mark.at, source, target)
        if mark.kind in ("open", "close") and mark.start < mark.end and inside:
            found = _best_run([origin[number] in inside for number in range(len(ours))])
            if found is None:
                return _scaled(mark.at, source, target)
            if mark.kind == "open":
                return _like_start(theirs[inside[0]], mark.at, ours[found[0]])
            return _like_end(theirs[inside[-1]], mark.at, ours[found[1]])
        following = bisect_left(starts, mark.at)
        starting = following == 0 or (mark.side == "start" and following < len(theirs))
        here = [there for there, number in origin.items() if number == (following if starting else following - 1)]
        if not here:
            return _scaled(mark.at, source, target)
        return ours[here[0]].start if starting else _like_end(theirs[following - 1], mark.at, ours[here[-1]])

    return [wish(mark) for mark in marks]


def _best_run(chosen: Sequence[bool]) -> tuple[int, int] | None:
    """Return the first and last of the consecutive words with most that are chosen and fewest that are not."""
    best, found, total, begin = 0, None, 0, 0
    for number, one in enumerate(chosen):
        if total <= 0:
            total, begin = 0, number
        total += 1 if one else -1
        if total > best:
            best, found = total, (begin, number)
    return found


def _like_start(source: Word, at: int, target: Word) -> int:
    return target.start if at < source.core_start else target.core_start


def _like_end(source: Word, at: int, target: Word) -> int:
    return target.end if at > source.core_end else target.core_end


def _nearest(
    source: str,
    marks: Sequence[Mark],
    wishes: Sequence[int],
    target: str,
    candidates: Sequence[tuple[int, str]],
) -> list[int]:
    """Return places in order with the least distance to the preferred ones.

    costs[j] is the least cost of the marks so far if the last is at candidate j, and came[i][j] the candidate of mark i
    - 1 then. `seen` counts the words' characters before each candidate: where it is the same, no word is between.
    """
    seen = _seen(target, [offset for offset, _ in candidates])
    costs: list[float] = []
    came: list[list[int]] = []
    at = 0
    for mark, wish in zip(marks, wishes, strict=True):
        held = bool(costs) and bool(source[at : mark.at].strip())
        at = mark.at
        least, here = _least(costs, seen, EMPTY if held else 0.0) if costs else ([0.0] * len(seen), [0] * len(seen))
        costs = [
            before + abs(offset - wish) + (WRONG_SIDE if mark.side not in (None, side) else 0.0)
            for before, (offset, side) in zip(least, candidates, strict=True)
        ]
        came.append(here)
    last = min(range(len(costs)), key=costs.__getitem__)
    chosen = [last]
    for here in came[:0:-1]:
        chosen.append(here[chosen[-1]])
    return [candidates[number][0] for number in reversed(chosen)]


def _seen(text: str, offsets: Sequence[int]) -> list[int]:
    counts, count, at = [], 0, 0
    for offset in offsets:
        count += sum(not character.isspace() for character in text[at:offset])
        at = offset
        counts.append(count)
    return counts


def _least(costs: Sequence[float], seen: Sequence[int], penalty: float) -> tuple[list[float], list[int]]:
    """Return, for every candidate, the cheapest one at or before it; a penalty applies if no word is between."""
    least, came = [], []
    apart = near = -1  # the cheapest with words between; the cheapest without
    for number in range(len(costs)):
        if number and seen[number] != seen[number - 1]:
            apart = near if apart < 0 or costs[near] < costs[apart] else apart
            near = number
        elif near < 0 or costs[number] < costs[near]:
            near = number
        choices = [(costs[near] + penalty, near)] + ([(costs[apart], apart)] if apart >= 0 else [])
        cost, where = min(choices)
        least.append(cost)
        came.append(where)
    return least, came
