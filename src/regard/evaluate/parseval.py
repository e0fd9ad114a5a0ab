"""PARSEVAL scores of parses: labelled brackets shared with the gold tree, counted as EVALB counts them.

The figures of Table 4 are from EVALB (Sekine and Collins) with its parameters COLLINS.prm, and these are its rules. A
bracket is a label, the number of its first word and that of the word after its last. Traces and punctuation are not
words; a word without a tag is one, and so is a tag and a space without a word, as in (NP ). A bracket without words,
and TOP, are not counted; function tags are cut off; ADVP and PRT are equal. A root without a label, as in ( (S …)), is
counted, as in EVALB.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.text.trees import ROOT, TRACE, Tree, walk

_DELETED = frozenset([ROOT, TRACE, ",", ":", "``", "''", "."])
_SAME = {"PRT": "ADVP"}
_FUNCTION = re.compile("[-=]")


class Counts(NamedTuple):
    """The counts of one sentence."""

    status: int
    """0 if it was scored, 1 if the two trees have different words, 2 if the parse has none."""
    matched: int = 0
    gold: int = 0
    test: int = 0
    """Brackets in both trees, in the gold tree, and in the parse."""
    crossing: int = 0
    """Brackets of the parse that overlap with one of the gold tree without one containing the other."""
    words: int = 0
    tags: int = 0
    """Number of words, and of words with the correct tag."""
    length: int = 0
    """Words of the gold tree with its punctuation."""


class Bracket(NamedTuple):
    start: int
    end: int
    label: str


@dataclass
class Brackets:
    """A tree as EVALB sees it; brackets in the order of their opening."""

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    length: int = 0


def brackets(tree: Tree | None) -> Brackets:
    """Return the words, tags and brackets of a tree that count."""
    seen = Brackets()
    places: list[int] = []  # indices in `found` of the open brackets
    found: list[Bracket] = []
    for kind, part in walk(tree) if tree is not None else ():
        if part.word is not None:
            seen.length += part.label != TRACE
            if part.label not in _DELETED:
                seen.words.append(part.word)
                seen.tags.append(_SAME.get(part.label, part.label))
        elif kind == "open":
            label = _FUNCTION.split(part.label, maxsplit=1)[0]
            places.append(len(found))
            found.append(Bracket(len(seen.words), 0, _SAME.get(label, label)))
        else:
            place = places.pop()
            found[place] = found[place]._replace(end=len(seen.words))
    seen.brackets = [one for one in found if one.start < one.end and one.label not in _DELETED]
    return seen


def compare(gold: Tree | None, test: Tree | None) -> Counts:
    """Score a parse against the gold tree. None is no tree at all."""
    right, parse = brackets(gold), brackets(test)
    if not parse.words:
        return Counts(2, length=right.length)
    if right.words != parse.words:
        return Counts(1, length=right.length)
    return Counts(
        status=0,
        matched=(Counter(right.brackets) & Counter(parse.brackets)).total(),
        gold=len(right.brackets),
        test=len(parse.brackets),
        crossing=_crossing(right, parse),
        words=len(right.words),
        tags=sum(one == other for one, other in zip(right.tags, parse.tags, strict=True)),
        length=right.length,
    )


def _crossing(right: Brackets, parse: Brackets) -> int:
    """Count crossing brackets; a bracket that crosses any crosses the smallest one around its beginning or its end."""
    around = _smallest_around(right)
    return sum(around[one.start].end < one.end or around[one.end].start > one.start for one in parse.brackets)


def _smallest_around(right: Brackets) -> list[Bracket]:
    """Return, for each position between two words, the smallest bracket with words before it and after it."""
    everything = Bracket(-1, len(right.words) + 1, "")
    around: list[Bracket] = []
    open_ = [everything]
    opening = iter([*right.brackets, everything._replace(start=len(right.words) + 1)])
    following = next(opening)
    for place in range(len(right.words) + 1):
        while open_[-1].end <= place:
            open_.pop()
        around.append(open_[-1])
        while following.start == place:
            open_.append(following)
            following = next(opening)
    return around


@dataclass
class Totals:
    """Sums over sentences; one that was not scored is only counted."""

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    matched: int = 0
    gold: int = 0
    test: int = 0
    words: int = 0
    tags: int = 0
    crossings: int = 0
    complete: int = 0
    no_crossing: int = 0
    two_or_less: int = 0

    def add(self, one: Counts) -> None:
        self.sentences += 1
        self.errors += one.status == 1
        self.skipped += one.status == 2
        if one.status != 0:
            return
        self.matched += one.matched
        self.gold += one.gold
        self.test += one.test
        self.words += one.words
        self.tags += one.tags
        self.crossings += one.crossing
        self.complete += one.matched == one.gold == one.test
        self.no_crossing += one.crossing == 0
        self.two_or_less += one.crossing <= 2

    def figures(self) -> dict[str, float]:
        """Return percentages, except `crossing`, which is per sentence; then the counts behind them."""
        valid = self.sentences - self.errors - self.skipped
        return {
            "recall": _percent(self.matched, self.gold),
            "precision": _percent(self.matched, self.test),
            "f1": _percent(2 * self.matched, self.gold + self.test),
            "complete": _percent(self.complete, valid),
            "crossing": _percent(self.crossings, valid) / 100,
            "no_crossing": _percent(self.no_crossing, valid),
            "two_or_less": _percent(self.two_or_less, valid),
            "tagging": _percent(self.tags, self.words),
            "sentences": self.sentences,
            "errors": self.errors,
            "skipped": self.skipped,
            "valid": valid,
            "matched": self.matched,
            "gold": self.gold,
            "test": self.test,
            "words": self.words,
            "tags": self.tags,
        }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
