"""The demo's task: convert dates in six languages to ISO 8601. Formats and names are CLDR's, from Babel.

The model is not given the language, so ambiguous formats are left out: 10/11/2025 is in October or in November,
depending on the locale, and a weekday before it resolves that only with a calendar. Formats without the century are
left out, too.
"""

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from regard.errors import UserError
from regard.text.normalise import normalise

try:
    from babel import Locale
    from babel.dates import format_date
except ImportError:
    raise UserError("the demo needs Babel, for how dates are written; pip install 'regard[demo]'") from None

LANGUAGES = {
    "English": ("en_US", "en_GB"), "German": ("de",), "French": ("fr",), "Spanish": ("es",), "Korean": ("ko",),
    "Japanese": ("ja",),
}  # fmt: skip
FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
WANTED = re.compile(r"yM+E*d+")  # CLDR's names for formats with year, month and day, and maybe the weekday
HELD_OUT = {"en_GB": "yMMMEEEEd"} | dict.fromkeys(("de", "fr", "es", "ko", "ja"), "yMMMEd")
"""A held-out format for each locale; its parts, such as the short weekday and month, occur in training separately."""
SHOWN = date(2025, 5, 3)


@dataclass(frozen=True)
class DateFormat:
    """A date format of a locale."""

    language: str
    locale: str
    pattern: str
    held_out: bool

    def write(self, day: date) -> str:
        return normalise(format_date(day, self.pattern, locale=self.locale))


@dataclass(frozen=True)
class DateExample:
    """A date in some format, and its ISO 8601 form."""

    text: str
    iso: str
    language: str


@dataclass(frozen=True)
class DateTask:
    """Training examples and held-out examples."""

    train: list[DateExample]
    dates: list[DateExample]
    """Held-out dates, which are not in `train` in any format."""
    formats: list[DateExample]
    """Held-out dates in held-out formats; slightly fewer."""


def task(seed: int, *, train: int, held_out: int) -> DateTask:
    """Draw training and held-out dates by a seed, each in one format, with languages in rotation."""
    drawn = random.Random(seed)  # noqa: S311 # not for cryptography
    every = [FIRST + timedelta(number) for number in range((LAST - FIRST).days + 1)]
    every.remove(SHOWN)
    days = drawn.sample(every, train + 2 * held_out)
    learned, new = ([way for way in formats() if way.held_out is held] for held in (False, True))

    def examples(some: list[date], ways: list[DateFormat]) -> list[DateExample]:
        by_language = [[way for way in ways if way.language == language] for language in LANGUAGES]
        chosen = [drawn.choice(by_language[number % len(by_language)]) for number in range(len(some))]
        return [
            DateExample(way.write(day), day.isoformat(), way.language) for way, day in zip(chosen, some, strict=True)
        ]

    def is_new(example: DateExample) -> bool:
        """Return whether no learned format gives the same text, as happens with "May", which is short and long."""
        day = date.fromisoformat(example.iso)
        return example.text not in {way.write(day) for way in learned if way.language == example.language}

    return DateTask(
        train=examples(days[2 * held_out :], learned),
        dates=examples(days[:held_out], learned),
        formats=list(filter(is_new, examples(days[held_out : 2 * held_out], new))),
    )


@cache
def formats() -> list[DateFormat]:
    """Return every unambiguous date format."""
    every = [
        DateFormat(language, locale, pattern, held_out)
        for language, locales in LANGUAGES.items()
        for locale in locales
        for pattern, held_out in _patterns(locale).items()
    ]
    days = [date(year, month, day) for year in range(2001, 2008) for month in range(1, 13) for day in range(1, 13)]
    meant: dict[str, set[tuple[int, int]]] = defaultdict(set)
    written = {way: [way.write(day).replace(str(day.year), "") for day in days] for way in every}
    for texts in written.values():
        for day, text in zip(days, texts, strict=True):
            meant[text].add((day.month, day.day))
    return [way for way, texts in written.items() if all(len(meant[text]) == 1 for text in texts)]


def _patterns(locale: str) -> dict[str, bool]:
    """Return a locale's patterns with a four-digit year, and whether each is held out."""
    known = Locale.parse(locale)
    named = {name: form.pattern for name, form in known.datetime_skeletons.items() if WANTED.fullmatch(name)}
    named |= {name: form.pattern for name, form in known.date_formats.items()}
    held_out = named.get(HELD_OUT.get(locale, ""))
    return {pattern: pattern == held_out for pattern in named.values() if "yy" not in pattern}
