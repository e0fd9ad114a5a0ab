"""Scores of a parser on the sentences of gold trees: with its search constrained to trees, and without.

EVALB identifies punctuation by its tags. A parse with other tags there has other words for it, and EVALB excludes the
sentence. So there is also F1 with the gold tags put into the parses, which scores every sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.engines.engine import Progress, quiet
from regard.evaluate.parse_report import summary, table
from regard.evaluate.parseval import compare
from regard.text.linear_trees import linearise, restore
from regard.text.trees import WORD, Tree, cleaned, tags, words
from regard.translate.parser import Parse, ParseOptions, Parser

TITLES = {"constrained": "with the constraint", "unconstrained": "without the constraint"}


@dataclass(frozen=True)
class ParserReport:
    """The parses of each mode, and their figures."""

    parses: dict[str, list[Parse]]
    figures: dict[str, dict[str, Any]]
    """The figures of `summary`, `f1_right_tags`, and two percentages.

    repaired: the search's output was not a tree over the words. too_long: nothing was searched, and the tree is flat.
    """

    def as_text(self) -> str:
        return "\n\n".join(
            f"{TITLES[name]}: {found['repaired']:.2f} % repaired, {found['too_long']:.2f} % too long, "
            f"F1 with the right tags {found['f1_right_tags']:.2f}\n{table(found)}"
            for name, found in self.figures.items()
        )


def measure_parser(
    parser: Parser, gold: Sequence[Tree], options: ParseOptions, progress: Progress = quiet
) -> ParserReport:
    """Parse the words of gold trees, and score the parses.

    The gold trees are those that a parser learns: without traces, function tags and a root that has no label.
    """
    right = [tree for tree in map(cleaned, gold) if tree is not None]
    sentences = [words(tree) for tree in right]
    parses = {
        name: parser.parse_words(sentences, replace(options, constraint=name == "constrained"), progress)
        for name in TITLES
    }
    return ParserReport(parses, {name: figures(right, found) for name, found in parses.items()})


def figures(right: Sequence[Tree], found: Sequence[Parse]) -> dict[str, Any]:
    """Score the parses of one mode against the gold trees."""
    trees = [one.tree for one in found if one.tree is not None]
    as_they_are = summary(map(compare, right, trees))
    retagged = summary(compare(tree, _with_tags(one, tags(tree))) for tree, one in zip(right, trees, strict=True))
    shares = {
        "repaired": sum(one.repaired and not one.too_long for one in found),
        "too_long": sum(one.too_long for one in found),
    }
    percentages = {name: 100 * count / max(len(found), 1) for name, count in shares.items()}
    return {**as_they_are, "f1_right_tags": retagged["f1"], **percentages}


def _with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    """Return the same constituents with these tags over the words."""
    left = iter(tags)
    symbols = [next(left) if symbol == WORD else symbol for symbol in linearise(tree, tags=False)]
    return restore(symbols, words(tree))[0]
