"""Words as the Penn Treebank parts them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.normalise import normalise
from regard.text.tokenise import spelt, tokenise

CASES = {
    "The cat sat on the mat.": "The cat sat on the mat .",
    "The cat sat on the mat .": "The cat sat on the mat .",
    "Mr. Smith isn't here, is he?": "Mr. Smith is n't here , is he ?",
    "It's John's; they're dogs' toys.": "It 's John 's ; they 're dogs ' toys .",
    'He said "Go!" (twice).': "He said `` Go ! '' ( twice ) .",
    "I cannot, I'll gonna pay $1,000.50 or 5%...": "I can not , I 'll gon na pay $ 1,000.50 or 5 % ...",
    "At 3:30: AT&T & Co. -- done": "At 3:30 : AT&T & Co. -- done",
    "don’t “quote” me": "do n’t “ quote ” me",
    "O'Brien's double-strand and/or": "O'Brien 's double-strand and/or",
    "한국어 문장도 있다.": "한국어 문장도 있다 .",
    "שלום עולם, مرحبا!": "שלום עולם , مرحبا !",
    "👩‍👩‍👧 e\u0301te\u0301": "👩‍👩‍👧 e\u0301te\u0301",
    " \t\n": "",
}


@pytest.mark.parametrize(("text", "words"), CASES.items())
def test_cases(text: str, words: str) -> None:
    assert tokenise(text) == words.split()


def test_joints_are_parted_for_treebanks_that_do() -> None:
    assert tokenise("double-strand and/or -LRB- p53-/- x", joints=True) == [
        *("double", "-", "strand", "and", "/", "or", "-LRB-", "p53-/-", "x"),
    ]


@given(st.text(alphabet="abn't's.,:\"'`()[]-/ 1…“”’&$한", max_size=40), st.booleans())
def test_what_is_parted_stays_so_and_no_letter_is_lost(text: str, joints: bool) -> None:
    words = tokenise(text, joints=joints)
    assert tokenise(" ".join(words), joints=joints) == words
    unquoted = [re.sub("[`'\"]", "", "".join(parts)) for parts in (words, text.split())]
    assert unquoted[0] == unquoted[1]


def test_a_tree_and_a_plain_sentence_are_spelt_alike() -> None:
    tree = ["He", "did", "n't", "-LRB-", "``", "so", "''", "-RRB-", "."]
    assert spelt(tree) == spelt(tokenise('He didn’t ("so").')) == "He did n't ( `` so '' ) ."


@given(st.lists(st.text(min_size=1, max_size=6), max_size=8), st.sampled_from(["NFC", "NFKC"]))
def test_as_many_words_are_spelt_as_there_are(words: list[str], form: str) -> None:
    text = spelt(words, form)  # type: ignore[arg-type]
    assert len(text.split(" ")) == max(len(words), 1) and normalise(text, form) == text  # type: ignore[arg-type]
