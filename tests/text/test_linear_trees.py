"""Trees as symbols, and any symbols as a tree."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.random_trees import trees

from regard.data.lines import text_lines
from regard.text.linear_trees import linearise, restore
from regard.text.trees import WORD, Tree, cleaned, read_trees, tags, walk, words

CAT = "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"
SYMBOLS = "(S (NP DT NN )NP (VP VBD )VP )S"
DEEP = 20_000


def tree(text: str) -> Tree:
    (only,) = read_trees([text], "here")
    return only


def untagged(tree: Tree) -> Tree:
    (only,) = read_trees([_untagged(tree)], "here")
    return only


def _untagged(tree: Tree) -> str:
    if tree.word is not None:
        return str(Tree(WORD, (), tree.word))
    return f"({tree.label} {' '.join(map(_untagged, tree.children))})"


def test_symbols() -> None:
    assert " ".join(linearise(tree(CAT), True)) == SYMBOLS
    assert " ".join(linearise(tree(CAT), False)) == "(S (NP XX XX )NP (VP XX )VP )S"
    assert restore(SYMBOLS.split(), ["The", "cat", "sat"]) == (tree(CAT), False)


@settings(deadline=None)
@given(trees)
def test_there_and_back(made: Tree) -> None:
    assert restore(linearise(made, True), words(made)) == (made, False)
    assert restore(linearise(made, False), words(made)) == (untagged(made), False)


@pytest.mark.parametrize(
    ("symbols", "repaired"),
    [
        ("(S (NP A B )S", "(S (NP (A a) (B b)))"),  # an inner bracket is not closed
        ("(S (NP A B", "(S (NP (A a) (B b)))"),  # none is
        ("(S (NP A )VP B )NP )S", "(S (NP (A a) (B b)))"),  # one is closed that is not open
        ("(S (NP A B )NP )S )S )NP", "(S (NP (A a) (B b)))"),
        ("(S (NP )NP A (VP (NP )NP )VP B )S (X )X", "(S (A a) (B b))"),  # constituents without words
        ("(S A B C D )S", "(S (A a) (B b))"),  # tags without words
        ("(S (NP A )NP )S", "(TOP (S (NP (A a))) (XX b))"),  # words without tags, where all is closed
        ("(S (NP A", "(S (NP (A a) (XX b)))"),  # and where it is not
        ("(S A )S (S B )S", "(TOP (S (A a)) (S (B b)))"),  # two roots
        ("A B", "(TOP (A a) (B b))"),  # none
        ("", "(TOP (XX a) (XX b))"),
        (")S )S", "(TOP (XX a) (XX b))"),
        ("(S (S (S", "(S (S (S (XX a) (XX b))))"),
        ("(NP (S (NP A )S B )NP", "(NP (S (NP (A a))) (B b))"),
    ],
)
def test_repair(symbols: str, repaired: str) -> None:
    assert restore(symbols.split(), ["a", "b"]) == (tree(repaired), True)


def test_one_word_may_be_a_tree() -> None:
    assert restore(["NN"], ["cat"]) == (tree("(NN cat)"), False)
    assert restore([], ["cat"]) == (tree("(XX cat)"), True)


def test_without_words_there_is_nothing() -> None:
    assert restore(["(S", "NN", ")S"], []) == (Tree("TOP"), True)


symbols = st.lists(
    st.sampled_from(["(S", ")S", "(NP", ")NP", "(VP", ")VP", "NN", "DT", "XX", "(", ")", "", "가", "👩"])
)


@settings(deadline=None, max_examples=500)
@given(symbols, st.lists(st.sampled_from(["a", "-LRB-", "(", ")S", "철수", "e\u0301", "שלום", "👩", "Xpd TTD"])))
def test_any_symbols_are_one_tree_over_exactly_the_words(made: list[str], given_words: list[str]) -> None:
    found, repaired = restore(made, given_words)
    assert words(found) == given_words
    assert restore(made, given_words) == (found, repaired)
    assert restore(linearise(found, True), given_words)[0] == found
    assert all(part.children for kind, part in walk(found) if kind == "open" and given_words)
    if not repaired:
        assert linearise(found, True) == made
    tagged = [symbol for symbol in made if not symbol.startswith(("(", ")"))][: len(given_words)]
    assert tags(found) == tagged + [WORD] * (len(given_words) - len(tagged))


def test_depth_has_no_limit() -> None:
    deep = tree("(A " * DEEP + "(XX x)" + ")" * DEEP)
    assert restore(linearise(deep, True), ["x"]) == (deep, False)
    assert restore(["(A"] * DEEP, ["x"]) == (deep, True)


@pytest.mark.parametrize("split", [pytest.param("train", marks=pytest.mark.slow), "dev", "test"])
def test_every_tree_of_a_treebank(corpora: Path, split: str) -> None:
    name = str(corpora / "craft" / f"craft.{split}.trees.gz")
    count = 0
    for one in read_trees(text_lines(name), name):
        clean = cleaned(one)
        assert clean is not None
        assert restore(linearise(clean, True), words(clean)) == (clean, False)
        count += 1
    assert count == {"train": 24_696, "dev": 1_752, "test": 1_737}[split]
