"""The demo's task: every text is one date, and what is held out stays out."""

import re
from collections import defaultdict
from datetime import date, timedelta

import pytest

from regard.demo.dates import FIRST, HELD_OUT, LANGUAGES, LAST, SHOWN, DateTask, formats, task


@pytest.fixture(scope="module")
def small() -> DateTask:
    return task(1, train=1200, held_out=300)


@pytest.mark.parametrize("year", [1900, 2024, 2025, 2099])
def test_no_text_is_two_dates(year: int) -> None:
    meant = defaultdict(set)
    days = (LAST.replace(year=year) - FIRST.replace(year=year)).days + 1
    for day in (date(year, 1, 1) + timedelta(number) for number in range(0, days)):
        for way in formats():
            meant[way.write(day)].add(day)
    assert {text: days for text, days in meant.items() if len(days) > 1} == {}
    assert all(str(year) in text for text in meant), "the century is told"


def test_what_is_ambiguous_is_left_out_and_the_rest_is_not() -> None:
    written = {(way.locale, way.write(SHOWN)) for way in formats()}
    for locale, text in [
        ("en_US", "5/3/2025"), ("en_GB", "Sat, 03/05/2025"), ("fr", "03/05/2025"), ("es", "3/5/2025"),
        ("ko", "25. 5. 3."), ("de", "03.05.25"),
    ]:  # fmt: skip
        assert (locale, text) not in written
    for locale, text in [
        ("en_US", "Saturday, May 3, 2025"), ("en_GB", "3 May 2025"), ("de", "03.05.2025"), ("fr", "samedi 3 mai 2025"),
        ("es", "3 de mayo de 2025"), ("ko", "2025년 5월 3일"), ("ko", "2025. 5. 3."), ("ja", "2025年5月3日(土)"),
    ]:  # fmt: skip
        assert (locale, text) in written


def test_a_weekday_does_not_settle_the_order_of_day_and_month() -> None:
    assert not [way for way in formats() if way.language == "English" and "M/" in way.pattern]


def test_every_language_has_a_held_out_format_whose_parts_are_learned() -> None:
    for locale in HELD_OUT:
        (held_out,) = [way for way in formats() if way.locale == locale and way.held_out]
        learned = " ".join(
            way.write(SHOWN) for way in formats() if way.language == held_out.language and not way.held_out
        )
        for part in re.findall(r"[^\s,()]+", held_out.write(SHOWN)):
            assert part in learned
    assert {way.language for way in formats() if way.held_out} == set(LANGUAGES)


def test_held_out_dates_and_formats_are_in_no_training_example(small: DateTask) -> None:
    learned = {example.iso for example in small.train}
    held_out = [*small.dates, *small.formats]
    assert learned.isdisjoint(example.iso for example in held_out)
    assert SHOWN.isoformat() not in learned | {example.iso for example in held_out}
    assert len({example.iso for example in held_out}) == len(held_out), "no date twice"
    assert len(small.train) == 1200 and len(small.dates) == 300 and 290 <= len(small.formats) <= 300
    for example in small.formats:
        day = date.fromisoformat(example.iso)
        assert [way.held_out for way in formats() if way.write(day) == example.text] == [True]
    for example in small.train:
        day = date.fromisoformat(example.iso)
        assert False in [way.held_out for way in formats() if way.write(day) == example.text]


def test_every_language_is_learned_and_examined(small: DateTask) -> None:
    for examples in (small.train, small.dates, small.formats):
        assert {example.language for example in examples} == set(LANGUAGES)


def test_a_seed_decides_everything(small: DateTask) -> None:
    assert task(1, train=1200, held_out=300) == small
    assert task(2, train=1200, held_out=300) != small
