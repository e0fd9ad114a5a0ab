from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.texts import any_text

from regard.documents.placement import MOST_WORK, Mark, places, word_spans


def mark(kind: str, start: int, end: int) -> Mark:
    return Mark("<x>", kind, start, end)  # type: ignore[arg-type]


def test_words_and_their_cores() -> None:
    found = word_spans('"Cafe\u0301!" (x) — ().')
    assert [(word.start, word.core_start, word.core_end, word.end) for word in found] == [
        (0, 1, 6, 8),
        (9, 10, 11, 12),
        (13, 13, 13, 14),
        (15, 16, 16, 18),
    ]


def test_one_stray_word_does_not_stretch_an_element() -> None:
    """“the big dog” became words 0 to 2; that word 6 was drawn to “the”, too, is an error of the alignment."""
    pairs = ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (0, 6))
    marks = [mark("open", 0, 11), mark("close", 0, 11)]
    target = "der große Hund sah mich heute an"
    assert places("the big dog saw me today", marks, target, pairs) == [0, len("der große Hund")]


def test_ideographs_need_no_spaces() -> None:
    marks = [mark("open", 4, 7), mark("close", 4, 7)]
    assert places("the red car", marks, "那红色汽车车", ((0, 0), (1, 0), (2, 0))) == [2, 3]


def test_swapped_elements_keep_their_order_and_some_words() -> None:
    source, target = "one two", "zwei eins"
    marks = [mark("open", 0, 3), mark("close", 0, 3), mark("open", 4, 7), mark("close", 4, 7)]
    found = places(source, marks, target, ((1, 0), (0, 1)))
    assert found == sorted(found)
    assert target[found[0] : found[1]].strip() and target[found[2] : found[3]].strip()


@settings(deadline=None)
@given(source=any_text, target=any_text, offsets=st.lists(st.integers(0, 60), max_size=8), data=st.data())
def test_places_are_in_order_and_split_no_letter_from_its_marks(
    source: str, target: str, offsets: list[int], data: st.DataObject
) -> None:
    ends = sorted(min(offset, len(source)) for offset in offsets)
    marks = [mark(data.draw(st.sampled_from(["open", "close", "point", "word", "break"])), end, end) for end in ends]
    numbers = st.tuples(st.integers(0, 9), st.integers(0, 9))
    pairs = data.draw(st.none() | st.lists(numbers, max_size=6).map(tuple))
    found = places(source, marks, target, pairs)
    assert len(found) == len(marks)
    assert found == sorted(found)
    assert all(0 <= place <= len(target) for place in found)
    assert all(not ("\u0300" <= target[place] <= "\u036f") for place in found if 0 < place < len(target))


def test_too_much_for_one_sentence() -> None:
    marks = [mark("point", at, at) for at in range(1000)]
    target = "x " * MOST_WORK
    found = places("y" * 1000, marks, target, None)
    assert found == sorted(found)
    assert found[500] == len(target) // 2
