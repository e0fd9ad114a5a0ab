import re
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.texts import any_text

from regard.text.normalise import _HIDDEN_MARKS, _STRIDE, JOINER, LONGEST_RUN, Form, normalise

FORMS: tuple[Form, ...] = ("NFC", "NFKC")
forms = st.sampled_from(FORMS)


def clean(character: str) -> str:
    """The rule for one character, from Unicode's categories and Python's own idea of a line."""
    point = ord(character)
    if unicodedata.category(character) == "Cs" or point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF:
        return "\ufffd"
    if character == "\t" or len(f"a{character}b".splitlines()) == 2:
        return " "
    return "" if unicodedata.category(character) == "Cc" or character == "\ufeff" else character


def stream_safe(text: str) -> str:
    """UAX #15, D4, word by word."""
    output, nonstarters = "", 0
    for character in text:
        decomposed = unicodedata.normalize("NFKD", character)
        starters = [index for index, part in enumerate(decomposed) if unicodedata.combining(part) == 0]
        if nonstarters + (starters[0] if starters else len(decomposed)) > 30:
            output += "\u034f"
            nonstarters = 0
        output += character
        nonstarters = len(decomposed) - starters[-1] - 1 if starters else nonstarters + len(decomposed)
    return output


def slowly(text: str, form: Form) -> str:
    text = re.sub(" +", " ", "".join(map(clean, text))).strip(" ")
    return re.sub(" +", " ", unicodedata.normalize(form, stream_safe(text))).strip(" ")


@settings(deadline=None)
@given(any_text, forms)
def test_equals_the_rules_written_out(text: str, form: Form) -> None:
    assert normalise(text, form) == slowly(text, form)


@settings(deadline=None)
@given(any_text, forms)
def test_twice_is_once(text: str, form: Form) -> None:
    once = normalise(text, form)
    assert normalise(once, form) == once


@settings(deadline=None)
@given(any_text, forms)
def test_the_result_is_one_line_of_utf8_in_the_form(text: str, form: Form) -> None:
    line = normalise(text, form)
    assert line.encode().decode() == line
    assert len(line.splitlines()) <= 1
    assert unicodedata.is_normalized(form, line)
    assert "  " not in line and line == line.strip(" ")


@settings(deadline=None)
@given(
    st.text(st.sampled_from("a\u00e9\u01d6\u0301\u0323\u0344\u0f73\u0f81\uff9e가\u1161\u0591 "), max_size=120), forms
)
def test_marks_come_in_runs_of_30_at_most(text: str, form: Form) -> None:
    line = normalise(text, form)
    assert line == slowly(text, form)
    run = 0
    for character in unicodedata.normalize("NFKD", line):
        run = run + 1 if unicodedata.combining(character) else 0
        assert run <= 30
    assert normalise(line, form) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("한글", "한글"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("Mu\u0308nchen", "München"),
        ("  a \t b\r\n", "a b"),
        ("\ufeffstart", "start"),
        ("a\0b\x1bc\x9fd", "abcd"),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei", "a b c d e f g h i"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("10\u00a0km, 10\u202fkm, 日\u3000本", "10\u00a0km, 10\u202fkm, 日\u3000本"),
        ("می\u200cخواهم 👩\u200d👧", "می\u200cخواهم 👩\u200d👧"),
        ("ﬁ ① ｶﾞ", "ﬁ ① ｶﾞ"),
    ],
)
def test_nfc_by_example(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("ﬁ ① ｶﾞ", "fi 1 ガ"), ("\u00a0a\u2003\u3000b\u00a0", "a b"), ("\u00a8", "\u0308")]
)
def test_nfkc_by_example(text: str, expected: str) -> None:
    assert normalise(text, "NFKC") == expected


def test_what_the_short_cuts_assume_of_unicode() -> None:
    hidden, longest_mark, longest_end = set(), 0, 0
    for character in map(chr, range(sys.maxunicode + 1)):
        if clean(character) != character if character.isprintable() else False:
            pytest.fail(f"U+{ord(character):X} needs cleaning though it is printable")
        if not unicodedata.combining(character) and not unicodedata.decomposition(character):
            continue
        marks = [bool(unicodedata.combining(part)) for part in unicodedata.normalize("NFKD", character)]
        if all(marks):
            longest_mark = max(longest_mark, len(marks))
            if not unicodedata.combining(character):
                hidden.add(character)
        else:
            assert not marks[0]
            longest_end = max(longest_end, marks[::-1].index(False))
        assert " " not in unicodedata.normalize("NFC", character)
    assert hidden == _HIDDEN_MARKS
    assert (31 - longest_end) // longest_mark >= _STRIDE


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    ["\u0301\u0323" * 100_000, "a" + "\u0f73" * 200_000, "\uff9e\u0301" * 100_000, " \t\0" * 70_000, "가 " * 100_000],
)
def test_time_is_linear(text: str, form: Form) -> None:
    start = time.process_time()
    normalise(text, form)
    assert time.process_time() - start < 20  # a quadratic sort of 200,000 takes minutes


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_marks_that_a_letter_brings_along_count_in_a_run(form: Form) -> None:
    """ǖ is u with two marks: 28 more may follow it, and a joiner stands before the next."""
    for following in (28, 29, 40):
        found = unicodedata.normalize("NFKD", normalise("ǖ" + "\u0323" * following, form))
        runs = re.findall("[\u0308\u0304\u0323]+", found)
        assert sum(map(len, runs)) == 2 + following
        assert max(map(len, runs)) == LONGEST_RUN == 30
        assert (JOINER in found) == (following > 28)


def test_noncharacters_end_where_letters_begin() -> None:
    assert normalise("\ufdcf \ufdd0 \ufdef \ufdf0") == "\ufdcf \ufffd \ufffd \ufdf0"
