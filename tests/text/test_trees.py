"""Bracketed text and trees."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.random_trees import TAGS, trees, written

from regard.data.lines import text_lines
from regard.errors import UserError
from regard.text.trees import ROOT, TRACE, Tree, cleaned, read_parses, read_trees, tags, walk, words

CAT = "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))"
DEEP = 20_000


def read(text: str) -> list[Tree]:
    return list(read_trees(text.split("\n"), "here"))


def tree(text: str) -> Tree:
    (only,) = read(text)
    return only


def layout(tree: Tree, depth: int = 0) -> str:
    """A tree over several lines, as in the files of the Penn Treebank."""
    if tree.word is not None:
        return f"({tree.label} {tree.word})"
    inside = "".join(f"\n{'  ' * (depth + 1)}{layout(child, depth + 1)}" for child in tree.children)
    return f"({tree.label}{inside} )"


def test_a_tree() -> None:
    cat = Tree("S", (Tree("NP", (Tree("DT", (), "The"), Tree("NN", (), "cat"))), Tree("VP", (Tree("VBD", (), "sat"),))))
    assert tree("(S (NP (DT The) (NN cat)) (VP (VBD sat)))") == cat
    assert str(tree(CAT)) == CAT and repr(cat) == f"<Tree {cat}>"
    assert words(tree(CAT)) == ["The", "cat", "sat", "."] and tags(tree(CAT)) == ["DT", "NN", "VBD", "."]
    assert " ".join(kind for kind, _ in walk(cat)) == "open open word word close open word close close"


@settings(deadline=None)
@given(trees)
def test_what_is_written_is_read_again(made: Tree) -> None:
    assert tree(str(made)) == made
    assert hash(tree(str(made))) == hash(made)


@settings(deadline=None)
@given(st.lists(trees, max_size=4), st.booleans())
def test_over_lines_and_after_names(made: list[Tree], named: bool) -> None:
    laid = "\n\n".join(("문서 1\t" if named else "") + layout(one) for one in made)
    assert read(laid) == made
    assert read(" ".join(map(str, made))) == made
    assert read("\r\n".join(f"id\t{one}" for one in made)) == made


@settings(deadline=None)
@given(trees, trees)
def test_trees_are_equal_when_they_are_written_alike(one: Tree, other: Tree) -> None:
    assert (one == other) == (str(one) == str(other))
    assert one != str(one)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("( (S (X a)))", "((S (X a)))"),
        ("(\n(S\n(X\na)))", "( (S (X a)))"),
        ("(S\t(X  a )\t)", "(S (X a))"),
        ("(\nS (X a))", "(S (X a))"),
        ("(NN Xpd\n  TTD)", "(NN Xpd TTD)"),
        ("(-LRB- -LRB-)", "(-LRB- -LRB-)"),
        ("( NN cat )", "(NN cat)"),
    ],
)
def test_spaces_do_not_matter(text: str, same: str) -> None:
    assert tree(text) == tree(same)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(S ( cat) (NN ))", Tree("S", (Tree("", (), "cat"), Tree("NN", (), "")))),
        ("(S (NN) ())", Tree("S", (Tree("NN"), Tree("")))),
        ("( )", Tree("", (), "")),
    ],
)
def test_a_missing_tag_or_word_is_not_a_constituent_of_nothing(text: str, same: Tree) -> None:
    assert tree(text) == same and str(same) == text


def test_only_ascii_spaces_part_words() -> None:
    assert words(tree("(S (X a\u00a0b) (Y \u3000))")) == ["a\u00a0b", "\u3000"]


def test_brackets_in_words_are_escaped() -> None:
    assert str(Tree("NN", (), "f(x)")) == "(NN f-LRB-x-RRB-)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{CAT}\n(S (NP (DT The)", "here, line 2, column 1: the tree from here does not end"),
        (f"{CAT}\n\n(S (X a)))", "here, line 3, column 10: this bracket closes what was not opened"),
        (")", "here, line 1, column 1: this bracket closes"),
        ("문서\t)", "here, line 1, column 4: this bracket closes"),
        ("cat", "here, line 1, column 1: a word beside a bracket, outside of a tree"),
        (f"{CAT} cat", "here, line 1, column 49: a word beside a bracket, outside of a tree"),
        ("(S (X a)\n b)", "here, line 2, column 2: a word beside a bracket, in the tree from line 1, column 1"),
        ("(VP will (VP go))", "here, line 1, column 10: a word beside a bracket, in the tree from line 1, column 1"),
        ("id\t(S (X a)\nid\t(S (X b))", "line 2, column 1: a word beside a bracket, in the tree from line 1, column 4"),
        ("( " * DEEP, "here, line 1, column 1: the tree from here does not end"),
    ],
)  # fmt: skip
def test_a_broken_bracket_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read(text)


@settings(deadline=None)
@given(st.text(st.sampled_from("()ab \t\n-가ש👩\u0301"), max_size=40))
def test_any_text_is_trees_or_a_mistake_with_its_place(text: str) -> None:
    try:
        found = read(text)
    except UserError as mistake:
        assert re.match(r"here, line \d+, column \d+: ", str(mistake))
    else:
        assert sum(str(one).count("(") for one in found) == text.count("(") == text.count(")")


def test_reading_is_lazy() -> None:
    def lines() -> Iterator[str]:
        yield from [CAT, CAT]
        pytest.fail("read beyond what was asked for")

    found = read_trees(lines(), "here")
    assert next(found) == next(found)


def test_depth_has_no_limit() -> None:
    deep = "(A " * DEEP + "(N x)" + " (N y))" * DEEP
    assert str(tree(deep)) == deep and cleaned(tree(deep)) == tree(deep)
    assert str(cleaned(tree("( " * DEEP + "(N x)" + ")" * DEEP))) == "(N x)"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (CAT, CAT),
        ("( (S (NP-SBJ-1 (DT The)) (VP=2 (VBD sat) (S (NP (-NONE- *-1))))))", "(S (NP (DT The)) (VP (VBD sat)))"),
        ("(TOP (S (X a)))", "(S (X a))"),
        ("(ROOT (S (X a)))", "(S (X a))"),
        ("(ROOT (S (X a)) (S (X b)))", "(TOP (S (X a)) (S (X b)))"),
        ("(TOP-1 (S (X a)) (S (X b)))", "(TOP (S (X a)) (S (X b)))"),
        ("( (S (X a)) (S (X b)))", "(TOP (S (X a)) (S (X b)))"),
        ("(((S (X a))))", "(S (X a))"),
        ("(S ( (NP (X a)) (Y b)))", "(S (NP (X a)) (Y b))"),
        ("( (TOP (S (X a))))", "(S (X a))"),
        ("(PRN (-LRB- -LRB-) (NN-1 x) (-RRB- -RRB-))", "(PRN (-LRB- -LRB-) (NN-1 x) (-RRB- -RRB-))"),
        ("(-X-1 (A a))", "(-X (A a))"),
        ("(S (S (TOP (X a))))", "(S (S (TOP (X a))))"),
        ("( (X a))", "(X a)"),
        ("(S (NP (-NONE- *)) (VP))", None),
        ("(S (NP ) ( a) (VP (VBD )))", "(S (XX a))"),
        ("()", None),
        ("(-NONE- *)", None),
    ],
)
def test_what_a_parser_learns(text: str, clean: str | None) -> None:
    found = cleaned(tree(text))
    assert (None if found is None else str(found)) == clean


@settings(deadline=None)
@given(trees)
def test_cleaned(made: Tree) -> None:
    clean = cleaned(made)
    said = [word for word, tag in zip(words(made), tags(made), strict=True) if tag != TRACE]
    if clean is None:
        assert said == []
        return
    assert words(clean) == said
    assert cleaned(clean) == clean
    for kind, part in walk(clean):
        if kind == "open":
            assert part.children and part.label and not re.search("[-=]", part.label[1:])


class TestParses:
    def parses(self, lines: Iterable[str]) -> list[str | None]:
        return [None if one is None else str(one) for one in read_parses(lines, "here")]

    def test_a_blank_line_is_a_sentence(self) -> None:
        assert self.parses(["", CAT, "  ", "id\t", f"id\t{CAT}", ""]) == [None, CAT, None, None, CAT, None]
        assert self.parses(["", ""]) == [None, None]
        assert self.parses([]) == []

    def test_a_blank_line_between_trees_over_lines_is_none(self) -> None:
        laid = layout(tree(CAT)).split("\n")
        assert self.parses(["", *laid, "", *laid, CAT, ""]) == [CAT, CAT, CAT]
        assert self.parses([CAT, *laid, "", CAT, ""]) == [CAT, CAT, CAT]

    def test_what_is_neither(self) -> None:
        message = "here, line 3, column 1: this tree goes on over lines, .* the blank line 2 may stand for a sentence"
        with pytest.raises(UserError, match=message):
            self.parses([CAT, "", *layout(tree(CAT)).split("\n")])

    def test_trees_on_one_line_are_one_sentence(self) -> None:
        assert self.parses(["(A (X a)) (B (X b))", "()"]) == [f"({ROOT} (A (X a)) (B (X b)))", "()"]

    def test_mistakes(self) -> None:
        with pytest.raises(UserError, match="here, line 2, column 1: the tree from here does not end"):
            self.parses([CAT, "(S (X a)"])
        with pytest.raises(UserError, match="here, line 2, column 2: this bracket closes"):
            self.parses([CAT, " )"])

    @settings(deadline=None)
    @given(st.lists(st.none() | trees))
    def test_any(self, made: list[Tree | None]) -> None:
        assert list(read_parses(("" if one is None else str(one) for one in made), "here")) == made


@pytest.mark.parametrize("split", [pytest.param("train", marks=pytest.mark.slow), "dev", "test"])
def test_every_tree_of_a_treebank(corpora: Path, split: str) -> None:
    name = str(corpora / "craft" / f"craft.{split}.trees.gz")
    found = list(read_trees(text_lines(name), name))
    for one, line in zip(found, text_lines(name), strict=True):
        assert str(one).replace("( ", "(", 1) == line.split("\t")[1]
        assert cleaned(one) is not None
    assert {tag for one in found[:500] for tag in tags(one)} & set(TAGS)


@settings(deadline=None, max_examples=30)
@given(st.lists(written, min_size=1))
def test_words_are_what_was_written(made: list[str]) -> None:
    text = "(S " + " ".join(f"(X {word})" for word in made) + ")"
    assert words(tree(text)) == made
