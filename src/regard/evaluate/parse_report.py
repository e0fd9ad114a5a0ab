"""Scores of the parses in a file against the gold trees in another: by sentence, in total, and for short sentences."""

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from regard.data.lines import STANDARD_INPUT, shown, text_lines
from regard.errors import UserError
from regard.evaluate.parseval import Counts, Totals, compare
from regard.text.trees import Tree, read_parses

LONGEST = 40
"""The most words, with punctuation, of a short sentence."""
SHORT = f"up_to_{LONGEST}"

ROWS = {
    "f1": "F1",
    "recall": "recall",
    "precision": "precision",
    "complete": "complete match",
    "crossing": "crossings per sentence",
    "no_crossing": "no crossing",
    "two_or_less": "two crossings or less",
    "tagging": "tagging accuracy",
}
COUNTS = {"sentences": "sentences", "errors": "other words", "skipped": "no parse", "valid": "measured"}

_END = Tree("")


def read_pairs(gold: str, parses: str) -> Iterator[tuple[Tree | None, Tree | None]]:
    """Yield the gold tree and the parse of each sentence from two files; None where there is none."""
    if gold == parses == STANDARD_INPUT:
        raise UserError("standard input (-) is named twice, but can be read only once; put one of the two into a file")
    right, found = (read_parses(text_lines(name), shown(name)) for name in (gold, parses))
    counts = [0, 0]
    for one, other in zip_longest(right, found, fillvalue=_END):
        counts[0] += one is not _END
        counts[1] += other is not _END
        if counts[0] == counts[1]:
            yield one, other
    if counts[0] != counts[1]:
        raise UserError(
            f"{shown(gold)} has {counts[0]} trees and {shown(parses)} has {counts[1]}, but each belongs to one of the "
            "other; where a parser has found no tree, write a blank line"
        )


def measured(gold: str, parses: str, warn: Callable[[str], None]) -> Iterator[Counts]:
    """Yield the counts of each sentence of two files."""
    warned = False
    for right, parse in read_pairs(gold, parses):
        roots = [tree.label for tree in (right, parse) if tree is not None and tree.children]
        if not warned and len(roots) == 2 and "" in roots and any(roots):
            bare, other = (gold, parses) if roots[1] else (parses, gold)
            warn(
                f"{shown(bare)} has trees with a root without a label, {shown(other)} has not; it is counted as a "
                "bracket that does not match, as EVALB does; write (TOP (S …)) for ( (S …)), which is not counted"
            )
            warned = True
        yield compare(right, parse)


def summary(sentences: Iterable[Counts]) -> dict[str, Any]:
    """Return the figures of all sentences and, under `up_to_40`, those of the short ones, which EVALB gives as well."""
    everything, short = Totals(), Totals()
    for one in sentences:
        everything.add(one)
        if one.length <= LONGEST:
            short.add(one)
    return everything.figures() | {SHORT: short.figures()}


def table(figures: dict[str, Any]) -> str:
    """Format a summary as a table."""
    lines = [f"{'':<24}{'all':>9}  up to {LONGEST} words"]
    for rows, form in ((ROWS, ".2f"), (COUNTS, ",")):
        lines += [
            f"{title:<24}{figures[name]:>9{form}}{figures[SHORT][name]:>16{form}}" for name, title in rows.items()
        ]
    return "\n".join(lines)
