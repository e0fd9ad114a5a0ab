"""Brackets counted as EVALB counts them."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.random_trees import trees

from regard.evaluate.parse_report import read_pairs, summary
from regard.evaluate.parseval import Counts, Totals, compare
from regard.text.trees import Tree, read_parses, walk

Pair = tuple[Tree | None, Tree | None]
DELETED = ("TOP", "-NONE-", ",", ":", "``", "''", ".")


def tree(text: str) -> Tree | None:
    return next(read_parses([text], "here"))


def score(gold: str, test: str) -> Counts:
    return compare(tree(gold), tree(test))


def same(one: str, other: str) -> bool:
    return one == other or {one, other} == {"ADVP", "PRT"}


def spans(text: str) -> tuple[list[tuple[str, str]], list[list[Any]], int]:
    """Words with tags; brackets as first word, word after the last, label, open ones included; all words but traces."""
    words: list[tuple[str, str]] = []
    brackets: list[list[Any]] = []
    stack: list[int] = []
    length = 0
    for part in re.finditer(r"\(([^() ]*) +([^()]*)\)|\(([^() ]*)|(\))", text):
        tag, word, label, close = part.groups()
        if word is not None:
            length += tag != "-NONE-"
            if tag not in DELETED:
                words.append((word, tag))
        elif close:
            brackets[stack.pop()][1] = len(words)
        else:
            stack.append(len(brackets))
            brackets.append([len(words), -1, label])
    kept = []
    for start, end, label in brackets:
        cut = re.sub("[-=].*", "", label, flags=re.DOTALL)
        if start != end and cut not in DELETED:
            kept.append([start, end, cut])
    return words, kept, length


def slowly(gold: str, test: str) -> Counts:
    """Every bracket of one tree beside every one of the other."""
    (words1, gold_brackets, length), (words2, test_brackets, _) = spans(gold), spans(test)
    if not words2:
        return Counts(2, length=length)
    if [word for word, _ in words1] != [word for word, _ in words2]:
        return Counts(1, length=length)
    taken: set[int] = set()
    for start, end, label in gold_brackets:
        for number, (start2, end2, label2) in enumerate(test_brackets):
            if number not in taken and (start, end) == (start2, end2) and same(label, label2):
                taken.add(number)
                break
    crossing = sum(
        any(a < start < b < end or start < a < end < b for a, b, _ in gold_brackets) for start, end, _ in test_brackets
    )
    tags = sum(same(one, other) for (_, one), (_, other) in zip(words1, words2, strict=True))
    return Counts(0, len(taken), len(gold_brackets), len(test_brackets), crossing, len(words1), tags, length)


@st.composite
def over_the_same_words(draw: st.DrawFn) -> tuple[str, str]:
    """Two trees over the same words, with labels, tags and brackets of their own."""
    count = draw(st.integers(1, 8))
    pair = []
    for _ in range(2):
        tags = draw(
            st.lists(st.sampled_from(["N", "N", "V", "ADVP", "PRT", ",", "-NONE-", ""]), min_size=count, max_size=count)
        )
        parts = [f"({tag} {number})" for number, tag in enumerate(tags)]
        for _ in range(draw(st.integers(0, 12))):
            start = draw(st.integers(0, len(parts) - 1))
            end = draw(st.integers(start, len(parts)))
            label = draw(st.sampled_from(["S", "NP", "NP-1", "ADVP", "PRT=2", "TOP", "", "-X", ":", "ROOT"]))
            space = " " if start < end or draw(st.integers(0, 9)) == 0 else ""
            parts[start:end] = [f"({label}{space}{' '.join(parts[start:end])})"]
        pair.append(f"(S {' '.join(parts)})")
    return pair[0], pair[1]


@settings(deadline=None, max_examples=300)
@given(over_the_same_words())
def test_equals_counting_slowly(pair: tuple[str, str]) -> None:
    assert score(*pair) == slowly(*pair)


@settings(deadline=None)
@given(trees, trees)
def test_any_two_trees(one: Tree, other: Tree) -> None:
    assert compare(one, other).status in (0, 1, 2)
    itself = compare(one, one)
    assert itself.status in (0, 2)
    assert itself.matched == itself.gold == itself.test and itself.tags == itself.words and itself.crossing == 0


@pytest.mark.parametrize(
    ("gold", "test", "expected"),
    [
        # function tags are cut at a hyphen and at an equals sign; tags of words are not
        ("(TOP (S (NP-SBJ (A a)) (VP=1 (B b))))", "(TOP (S (NP (A a)) (VP (B b))))", Counts(0, 3, 3, 3, 0, 2, 2, 2)),
        ("(S (A-1 a))", "(S (A a))", Counts(0, 1, 1, 1, 0, 1, 0, 1)),
        # ADVP is PRT, for tags as well
        ("(S (ADVP (ADVP a)))", "(S (PRT (PRT a)))", Counts(0, 2, 2, 2, 0, 1, 1, 1)),
        # a bracket matches one bracket only
        ("(S (NP (NP (A a))))", "(S (NP (A a)))", Counts(0, 2, 3, 2, 0, 1, 1, 1)),
        ("(S (NP (A a)))", "(S (NP (NP (A a))))", Counts(0, 2, 2, 3, 0, 1, 1, 1)),
        ("(S (ADVP (PRT (A a))))", "(S (PRT (X (A a))))", Counts(0, 2, 3, 3, 0, 1, 1, 1)),
        # TOP is not counted; ROOT is, and a root without a label
        ("(TOP (S (A a)))", "(S (A a))", Counts(0, 1, 1, 1, 0, 1, 1, 1)),
        ("(ROOT (S (A a)))", "(S (A a))", Counts(0, 1, 2, 1, 0, 1, 1, 1)),
        ("( (S (A a)))", "((S (A a)))", Counts(0, 2, 2, 2, 0, 1, 1, 1)),
        # punctuation and traces are no words, and constituents of nothing else no brackets; length counts punctuation
        ("(S (NP (-NONE- *)) (A a) (X (, ,)) (. .))", "(S (A a) (. !))", Counts(0, 1, 1, 1, 0, 1, 1, 3)),
        # two brackets of the parse cross the same one, and one crosses two
        ("(S (X (A a) (B b)) (C c) (D d))", "(S (A a) (Y (Z (B b) (C c)) (D d)))", Counts(0, 1, 2, 3, 2, 4, 4, 4)),
        ("(S (X (X (A a) (B b))) (C c))", "(S (A a) (Y (B b) (C c)))", Counts(0, 1, 3, 2, 1, 3, 3, 3)),
        # as they were written: a label with = or -, an alternative, a bracket, a punctuation mark; ADVP|PRT is neither
        ("(S (NP=2 (A a)) (B b))", "(S (NP-SBJ-1 (A a)) (B b))", Counts(0, 2, 2, 2, 0, 2, 2, 2)),
        ("(S (ADVP|PRT (A a)) (B b))", "(S (PRT (A a)) (B b))", Counts(0, 1, 2, 2, 0, 2, 2, 2)),
        ("(S (-LRB- (A a)) (B b))", "(S (-NONE- (A a)) (B b))", Counts(0, 2, 2, 2, 0, 2, 2, 2)),
        ("(S (, (A a)) (B b))", "(S (TOP-1 (A a)) (B b))", Counts(0, 1, 1, 1, 0, 2, 2, 2)),
        ("(S (-LRB- -LRB-) (A a))", "(S (-RRB- -LRB-) (A a))", Counts(0, 1, 1, 1, 0, 2, 1, 2)),
        # punctuation in a chain of its own has no brackets, and moves none; its words may differ, and their number
        ("(S (A a) (PRN (X (: --))) (B b))", "(S (VP (A a) (, ;) (, ;)) (B b))", Counts(0, 1, 1, 2, 0, 2, 2, 3)),
        ("(S (NP (A a) (. .)) (B b))", "(S (NP (A a)) (X (. .)) (B b))", Counts(0, 2, 2, 2, 0, 2, 2, 3)),
        # a trace with another tag is a word more, and with a deleted one still none
        ("(S (-NONE- *) (A a))", "(S (NN *) (A a))", Counts(1, length=1)),
        ("(S (-NONE- *) (A a))", "(S (. *) (A a))", Counts(0, 1, 1, 1, 0, 1, 1, 1)),
        # several trees of a sentence; a sentence without brackets is a complete match
        ("(A (X a)) (B (Y b))", "(A (X a)) (C (Y b))", Counts(0, 1, 2, 2, 0, 2, 2, 2)),
        ("(X a)", "(Y a)", Counts(0, 0, 0, 0, 0, 1, 0, 1)),
        # a word without a tag is a word, and so is a tag and a space without a word
        ("(S (A a))", "(S ( a))", Counts(0, 1, 1, 1, 0, 1, 0, 1)),
        ("(S (NP ( a)))", "(S (NP (A a)))", Counts(0, 2, 2, 2, 0, 1, 0, 1)),
        ("(S (NP (-NONE- *)) (A a))", "(S (NP) (A a))", Counts(0, 1, 1, 1, 0, 1, 1, 1)),
        ("(S (NP (-NONE- *)) (A a))", "(S (NP ) (A a))", Counts(1, length=1)),
        ("(S (NP ) (A a))", "(S (NP ) (A a))", Counts(0, 1, 1, 1, 0, 2, 2, 2)),
        ("(S (A a))", "( )", Counts(1, length=1)),
        ("(S (A a))", "(TOP )", Counts(2, length=1)),
        # what EVALB leaves out: other words, and no words
        ("(S (A a))", "(S (A b))", Counts(1, length=1)),
        ("(S (A a))", "(S (A a) (B b))", Counts(1, length=1)),
        ("(S (A a) (. .))", "(S (A a) (B .))", Counts(1, length=2)),
        ("(S (A a))", "(S (, a))", Counts(2, length=1)),
        ("(S (A a))", "()", Counts(2, length=1)),
        ("(S (A a))", "(())", Counts(2, length=1)),
        ("(S (A a))", "", Counts(2, length=1)),
        ("", "(S (A a))", Counts(1)),
        ("", "", Counts(2)),
    ],
)  # fmt: skip
def test_rules(gold: str, test: str, expected: Counts) -> None:
    assert score(gold, test) == expected
    assert slowly(gold, test) == expected


def test_the_time_is_nearly_linear() -> None:
    """A million pairs of brackets, each over each, would not come to an end here."""
    deep = 20_000
    left = "(X " * deep + "(A a)" + " (A a))" * deep
    right = "(X (A a) " * deep + "(A a)" + ")" * deep
    assert score(left, right) == Counts(0, 1, deep, deep, deep - 1, deep + 1, deep + 1, deep + 1)


def test_totals_of_nothing() -> None:
    assert set(Totals().figures().values()) == {0}


def test_figures() -> None:
    totals = Totals()
    for one in (
        Counts(0, 3, 4, 5, 3, 6, 5, 7),
        Counts(0, 2, 2, 2, 0, 2, 2, 2),
        Counts(1),
        Counts(2),
    ):
        totals.add(one)
    figures = totals.figures()
    recall, precision = 100 * 5 / 6, 100 * 5 / 7
    assert figures["recall"] == pytest.approx(recall) and figures["precision"] == pytest.approx(precision)
    assert figures["f1"] == pytest.approx(2 * recall * precision / (recall + precision))
    assert figures["tagging"] == pytest.approx(100 * 7 / 8) and figures["crossing"] == pytest.approx(3 / 2)
    assert [figures[name] for name in ("complete", "no_crossing", "two_or_less")] == [50, 50, 50]
    assert [figures[name] for name in ("sentences", "errors", "skipped", "valid")] == [4, 1, 1, 2]


def test_two_crossings_are_two_or_less() -> None:
    totals = Totals()
    for crossing in (0, 1, 2, 3):
        totals.add(Counts(0, 1, 4, 4, crossing, 5, 5, 5))
    assert (totals.figures()["no_crossing"], totals.figures()["two_or_less"]) == (25, 75)


@pytest.fixture(scope="module")
def printed(corpora: Path) -> str:
    """What EVALB says of the pairs."""
    return (corpora / "evalb" / "cases.evalb.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pairs(corpora: Path) -> list[Pair]:
    return list(read_pairs(str(corpora / "evalb" / "cases.gold"), str(corpora / "evalb" / "cases.test")))


class TestEvalb:
    def test_each_sentence(self, printed: str, pairs: list[Pair]) -> None:
        rows = [line.split() for line in printed.split("=\n")[1].splitlines()[:-1]]
        assert len(rows) == len(pairs) == 400
        for row, pair in zip(rows, pairs, strict=True):
            found = compare(*pair)
            assert [str(value) for value in (found.length, found.status, *found[1:7])] == [
                row[1],
                row[2],
                *row[5:11],
            ], row

    def test_the_summary(self, printed: str, pairs: list[Pair]) -> None:
        names = ["sentences", "errors", "skipped", "valid", "recall", "precision", "f1", "complete", "crossing"]
        names += ["no_crossing", "two_or_less", "tagging"]
        figures = summary(compare(*pair) for pair in pairs)
        _, everything, short = printed.split("\n-- ")
        for section, found in ((everything, figures), (short, figures["up_to_40"])):
            values = re.findall(r"= +([\d.]+)", section.partition("\n")[2])
            assert [
                f"{found[name]:.2f}" if "." in value else str(found[name])
                for name, value in zip(names, values, strict=True)
            ] == values

    def test_counting_slowly_agrees(self, pairs: list[Pair]) -> None:
        for gold, test in pairs:
            assert slowly(str(gold or ""), str(test or "")) == compare(gold, test)

    def test_there_are_brackets_to_count(self, pairs: list[Pair]) -> None:
        assert sum(1 for gold, _ in pairs if gold for kind, _ in walk(gold) if kind == "open") > 6000
