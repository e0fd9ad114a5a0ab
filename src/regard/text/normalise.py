"""Normalisation of any string to the one spelling that regard uses: a single line in a Unicode normal form."""

import sys
import unicodedata
from functools import lru_cache
from typing import Literal

Form = Literal["NFC", "NFKC"]

REPLACEMENT = "\ufffd"
JOINER = "\u034f"  # combining grapheme joiner: invisible, and canonical reordering moves no mark past it
LONGEST_RUN = 30  # nonstarters in a row, by Unicode's definition of Stream-Safe text


def _cleaning() -> dict[int, str]:
    """Return the replacement for each character that does not belong in a line of text."""
    controls = [*range(0x20), *range(0x7F, 0xA0)]
    invalid = [*range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0)]  # surrogates; noncharacters in the middle of a block
    invalid += [plane | last for plane in range(0, sys.maxunicode, 0x10000) for last in (0xFFFE, 0xFFFF)]
    breaks = map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
    table = dict.fromkeys(controls, "") | dict.fromkeys(invalid, REPLACEMENT) | dict.fromkeys(breaks, " ")
    return table | {0xFEFF: ""}  # a byte order mark


_CLEAN = _cleaning()

# Characters that are not nonstarters themselves but decompose into nonstarters only; a test recomputes the list.
_HIDDEN_MARKS = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")
# More than 30 nonstarters in a row take at least 14 such characters: each is 2 at most, and a letter before ends in 3.
_STRIDE = 12


def normalise(text: str, form: Form = "NFC") -> str:
    """Return the text in one canonical spelling; linear in time, idempotent, defined for every string.

    Lone surrogates and noncharacters become U+FFFD, tabs and line breaks spaces; other control characters and byte
    order marks are removed; runs of ASCII spaces become one, and those at the ends are stripped. Other spaces and
    the joiners carry meaning and stay, except under NFKC, which maps most spaces to the same one.
    """
    if not text.isprintable():  # false for all that _CLEAN lists, and for few other common characters
        text = text.translate(_CLEAN)
    text = _collapse(text)
    if text.isascii():
        return text
    text = unicodedata.normalize(form, _stream_safe(text))
    # NFKC creates spaces: U+00A0 becomes one, and U+00A8 one with a mark.
    return _collapse(text) if form == "NFKC" else text


def _collapse(text: str) -> str:
    if "  " in text:
        return " ".join(filter(None, text.split(" ")))
    return text.strip(" ")


def _stream_safe(text: str) -> str:
    """Apply the Stream-Safe Text Process of Unicode's UAX #15 (D4): insert a joiner after 30 nonstarters in a row.

    Python sorts marks into canonical order in time quadratic in the length of a run. No language has runs of 30, so
    longer ones only occur in hostile input.
    """
    sample = text[::_STRIDE]
    if not any(map(unicodedata.combining, sample)) and _HIDDEN_MARKS.isdisjoint(sample):
        return text
    safe: list[str] = []
    run = 0
    for character in text:
        leading, trailing, only_marks = _marks(character)
        if run + leading > LONGEST_RUN:
            safe.append(JOINER)
            run = 0
        safe.append(character)
        run = run + leading if only_marks else trailing
    return "".join(safe)


@lru_cache(maxsize=4096)
def _marks(character: str) -> tuple[int, int, bool]:
    """Return the nonstarters that begin and that end a decomposed character, and whether it has only these."""
    is_mark = [unicodedata.combining(part) > 0 for part in unicodedata.normalize("NFKD", character)]
    if all(is_mark):
        return len(is_mark), len(is_mark), True
    return is_mark.index(False), is_mark[::-1].index(False), False
