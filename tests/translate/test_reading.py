from collections.abc import Mapping

from regard.text.protected.spans import find_spans
from regard.translate.reading import Reading, read, realigned, restore

RANKS: dict[str, int] = {}


def made(text: str, stand_ins: Mapping[int, str], removed: frozenset[int] = frozenset()) -> Reading:
    return read(text, find_spans(text), stand_ins, removed, {}, None, RANKS.get, "en")


def test_stand_ins_are_replaced_by_their_spans() -> None:
    reading = made("See https://a.org/1 and b@c.org.", {0: "Tom", 1: "Boston"})
    assert reading.text == "See Tom and Boston."
    found = restore(reading, "Siehe Boston und Tom.", None, "de")
    assert found.text == "Siehe b@c.org und https://a.org/1." and found.lost == ()
    assert [span.how for span in found.spans] == ["kept", "kept"]


def test_what_is_lost_is_appended_and_reported() -> None:
    reading = made("See https://a.org/1 now.", {0: "Tom"})
    found = restore(reading, "Siehe jetzt Tomate.", None, "de")
    assert found.text == "Siehe jetzt Tomate. https://a.org/1"
    assert [span.how for span in found.spans] == ["appended"] and found.lost == (0,)


def test_a_stand_in_that_comes_twice_is_a_loss() -> None:
    reading = made("See https://a.org/1 now.", {0: "Tom"})
    assert restore(reading, "Tom siehe Tom.", None, "de").lost == (0,)


def test_a_number_is_looked_for_as_it_is() -> None:
    reading = made("I have 12 books.", {})
    assert restore(reading, "Ich habe 12 Bücher.", None, "de").lost == ()
    for wrong in ("Ich habe 120 Bücher.", "Ich habe 3.12 Bücher.", "Ich habe zwölf Bücher."):
        assert restore(reading, wrong, None, "de").lost == (0,)


def test_marks_at_the_ends_stay_there() -> None:
    reading = made("🎉 Good morning, 친구 👩‍👩‍👧", {}, frozenset((0, 1)))
    assert reading.text == "Good morning, 친구"
    assert restore(reading, "Guten Morgen, 친구", None, "de").text == "🎉 Guten Morgen, 친구 👩‍👩‍👧"


def test_tags_are_placed_by_the_alignment() -> None:
    reading = made("Open the <b>red</b> door.", {}, frozenset((0, 1)))
    pairs = ((0, 0), (1, 1), (2, 2), (3, 3))
    assert restore(reading, "Öffne die rote Tür.", pairs, "de").text == "Öffne die <b>rote</b> Tür."


def test_text_without_words_is_not_read() -> None:
    assert made("🎉 😀", {}, frozenset((0,))).text == ""


def test_the_alignment_is_of_the_words_of_the_texts() -> None:
    reading = made("🎉 He drove 5 km to https://a.org.", {1: "30", 2: "Tom"}, frozenset((0,)))
    assert reading.text == "He drove 30 to Tom."
    written = "Er fuhr 30 zu Tom."
    restored = restore(reading, written, None, "de")
    assert restored.text == "🎉 Er fuhr 5 km zu https://a.org."
    pairs = realigned(reading, written, restored, tuple((n, n) for n in range(5)))
    assert pairs == ((1, 1), (2, 2), (3, 3), (3, 4), (5, 5), (6, 6))


def test_right_to_left_and_combining_marks() -> None:
    reading = made("شاهد https://a.org/ar و e\u0301 😀", {0: "Tom"}, frozenset((1,)))
    assert reading.text == "شاهد Tom و e\u0301"
    assert restore(reading, "See Tom, e\u0301", None, "en").text == "See https://a.org/ar, e\u0301 😀"
