import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.texts import any_text

from regard.translate.sentences import SentencePart, shorten, split, whole

PIECES = [*".!?…。！？ \n\t\u2028\"'”)", "Mr", "A", "b", "3", "한", "中", "\u3000", "e\u0301", "z.B", ", "]
punctuated = st.lists(st.one_of(st.sampled_from(PIECES), any_text), max_size=20).map("".join)


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?", "Four…", "Five."],
        ['He said "stop!" and went.', '"Stop."', "(He went.)", "Then he slept."],
        ["Mr. Smith met Dr. J. R. Jones at 5 p.m. in Washington.", "They left."],
        ["Pi is 3.14.", "Version 2.0.1 is out.", "See example.com for more."],
        ["Am 3. Oktober feierten sie, z. B. in Berlin.", "Es war 1990.", "Der 2. Tag war kalt."],
        ["Das kostet ca. 5 Euro bzw. 6 Dollar.", "Ja."],
        ["안녕하세요.", "저는 학생입니다.", "반갑습니다!", "왜요?", "“정말?”", "네."],
        ["Wait... what?", "Really?!", "Yes!!!", "No."],
        ["¿Qué?", "¡No!", "«Oui.»", "D'accord."],
        ["iPhone sales, e.g. in Korea, fell.", "Apple said so."],
        ["« Vraiment ? » demanda-t-il.", "« Oui. »", "Il partit."],
        ["2024. 3. 15. 회의가 열렸다.", "모두 왔다."],
        ["Es kostet 50 Tsd. Euro, siehe Abb. 3 und Kap. 4 dort.", "Er wohnt in der Hauptstr. 5 in Bonn."],
        ["See pp. 12-14, Eq. 3 and Sec. 3.2 there.", "MM. Dupont et Durand sont venus.", "They left."],
    ],
)
def test_sentences_with_spaces(sentences: list[str]) -> None:
    assert [part.text for part in split(" ".join(sentences)).parts] == sentences


def test_sentences_without_spaces() -> None:
    assert [part.text for part in split("你好。「再见！」他说？好").parts] == ["你好。", "「再见！」", "他说？", "好"]
    assert [part.text for part in split("３．５ドルです。「はい。」と言った。終わり").parts] == [
        "３．５ドルです。",
        "「はい。」と言った。",
        "終わり",
    ]


def test_lines_always_divide() -> None:
    text = "  a heading\n\nand a\r\nline\u2028end \n"
    assert [part.text for part in split(text).parts] == ["a heading", "and a", "line", "end"]
    assert split(text) == whole(text)
    assert [part.text for part in whole("One. Two.\nThree.").parts] == ["One. Two.", "Three."]


@given(punctuated)
def test_nothing_is_lost(text: str) -> None:
    for divided in (split(text), whole(text)):
        assert divided.joined() == text
        for part in divided.parts:
            assert part.text.strip() == part.text != ""
            assert part.after.strip() == ""


@given(punctuated, st.integers(1, 12))
def test_long_parts_are_cut_to_fit_and_nothing_is_lost(text: str, most: int) -> None:
    parts = list(shorten(SentencePart(text, " "), lambda piece: len(piece) <= most))
    assert "".join(part.text + part.after for part in parts) == text + " "
    assert all(len(part.text) <= most for part in parts)


def test_cuts_are_at_sensible_places() -> None:
    text = "when the rain had ended, we all went out"
    assert [part.text for part in shorten(SentencePart(text, ""), lambda piece: len(piece) < 30)] == [
        "when the rain had ended,",
        "we all went out",
    ]
    assert list(shorten(SentencePart("aaaa bbbb", ""), lambda piece: len(piece) < 6)) == [
        SentencePart("aaaa", " "),
        SentencePart("bbbb", ""),
    ]
    family = "👩\u200d👩\u200d👧"
    assert (
        "".join(part.text for part in shorten(SentencePart(family * 3, ""), lambda piece: len(piece) < 9)) == family * 3
    )
    accents = [part.text for part in shorten(SentencePart("e\u0301" * 8, ""), lambda piece: len(piece) <= 5)]
    assert all(piece.startswith("e") for piece in accents)


UNITS = [" ", ".", ". ", ".)", "\"' ", "。", "。」", "a", "a.", "\n", "e\u0301", "\u200d", ", ", "， "]


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    divided = split(text)
    for part in divided.parts[:1]:
        list(shorten(part, lambda piece: len(piece) < 500))
    assert divided.joined() == text
    assert time.process_time() - start < 20  # seconds of the processor; the square would take minutes


def test_marks_that_stand_apart_belong_to_the_sentence_before() -> None:
    assert [part.text for part in split("No! ? Yes. . . Then go.").parts] == ["No! ?", "Yes. . .", "Then go."]


def test_what_is_joined_is_not_cut() -> None:
    """Of three families of three characters each, the middle is inside the second."""
    family = "👩\u200d👧"
    pieces = [piece.text for piece in shorten(SentencePart(family * 3, ""), lambda text: len(text) <= 6)]
    assert pieces == [family * 2, family]


def test_an_ellipsis_ends_a_sentence_and_is_no_abbreviation() -> None:
    for text in ("Well... Then we go.", "Nun.. Dann gehen wir.", "Well…. Then we go."):
        assert len(split(text).parts) == 2, text


def test_the_space_nearest_to_the_middle_is_where_a_text_is_cut() -> None:
    pieces = [
        piece.text for piece in shorten(SentencePart("aa bb cc dd ee ff gg hh", ""), lambda text: len(text) <= 12)
    ]
    assert pieces == ["aa bb cc dd", "ee ff gg hh"]
