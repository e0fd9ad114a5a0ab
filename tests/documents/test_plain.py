import re

import pytest
from hypothesis import given, settings
from tests.documents.translators import Translate, every, rebuilt, same, texts, upper
from tests.support.texts import any_text

from regard.documents.plain import pieces

BLANK = re.compile(r"\n[ \t]*\n")
BOOK = """THE BOOK

It was the best of times, it was the worst of times, it
was the age of wisdom. It was the age of foolishness,
and nobody knew which it was at all.

  - one
  - two

한 줄입니다.
שורה אחת.
"""


def test_wrapped_lines_are_one_text_and_others_are_not() -> None:
    found = texts(pieces(BOOK))
    assert found[0] == "THE BOOK"
    assert found[1].startswith("It was the best of times, it was the worst of times, it was the age")
    assert found[2:] == ["- one", "- two", "한 줄입니다.", "שורה אחת."]


def test_sentences_on_lines_of_their_own_stay_there() -> None:
    """Though the first is the longer, so that the second's first word would not have fitted there."""
    for lines in (
        ["The first of these two sentences is somewhat longer than it.", "The second is short."],
        ["이 문장은 두 문장 가운데 첫째 문장이며 둘째 문장보다 조금 더 길게 쓰여 있는 문장이다.", "둘째는 짧다."],
    ):
        assert texts(pieces("\n".join(lines) + "\n")) == lines


def test_items_of_a_list_stay_apart() -> None:
    for first, second in (("1. ", "2. "), ("- ", "- "), ("> ", "> "), ("a) ", "b) ")):
        lines = [f"{first}Install the package with the usual command", f"{second}Start the server"]
        assert len(texts(pieces("\n".join(lines) + "\n"))) == 2


def test_lines_are_wrapped_again() -> None:
    assert rebuilt(pieces(BOOK), upper) == BOOK.upper()
    windows = BOOK.replace("\n", "\r\n")
    assert rebuilt(pieces(windows), upper) == windows.upper()


@every
@settings(deadline=None)
@given(text=any_text)
def test_nothing_is_lost(translate: Translate, text: str) -> None:
    found = rebuilt(pieces(text), translate)
    assert len(BLANK.split(found)) == len(BLANK.split(text))
    if translate is same:
        assert found == text


@pytest.mark.parametrize("text", [" " * 200_000, " \t" * 100_000 + "\n x", "\r" * 200_000, "x\n" + "\n" * 200_000])
def test_space_without_end_takes_no_time(text: str) -> None:
    assert rebuilt(pieces(text), same) == text


def test_lines_that_end_in_any_way() -> None:
    for text in ("x" * 50 + "\r\x85y", "x" * 50 + "\r\u2028\r\x0b" + "y" * 50):
        assert rebuilt(pieces(text), same) == text
