"""Language identification: py3langid's character n-grams over 139 languages, and the script for Korean.

py3langid was chosen since it is maintained, needs no network and no pickle, and takes 5 MB. It is unsure about short
texts; so an expected language has a much larger prior than another.
"""

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Any

from regard.errors import UserError
from regard.text.normalise import normalise

EXPECTED_ODDS = 50.0  # prior odds of an expected language against another
SAMPLE = 2000  # characters that suffice to identify a language
HANGUL_SHARE = 0.3  # of the letters: only Korean uses Hangul, often mixed with Latin letters
FEWEST_LETTERS = 6  # fewer, such as in `OK` or `USB 3`, are no evidence


class LanguageIdentifier:
    """Identify the language of a text, with expected ones preferred; load the tables on first use."""

    def __init__(self, expected: Iterable[str]) -> None:
        """Expect these languages, by their base codes, such as `pt` and not `pt-BR`."""
        self.expected = list(expected)
        self._reading = Lock()

    @cached_property
    def _identifier(self) -> Any:
        try:
            from py3langid.langid import MODEL_FILE  # noqa: PLC0415  # takes a second and 90 MB
            from py3langid.langid import LanguageIdentifier as Tables  # noqa: PLC0415
        except ImportError:
            raise UserError("languages are identified by py3langid; install it: pip install 'regard[serve]'") from None
        return Tables.from_model_file(MODEL_FILE, norm_probs=True)

    def ranked(self, text: str) -> list[tuple[str, float]]:
        """Return all languages with their probabilities, most probable first."""
        text = normalise(text[:SAMPLE])
        letters = [character for character in text if character.isalpha()]
        hangul = sum(map(is_hangul, letters))
        if letters and hangul / len(letters) >= HANGUL_SHARE:
            return [("ko", 1.0)]
        with self._reading:  # concurrent first uses load the tables once
            identifier = self._identifier
        weighed = [
            (code, share * (EXPECTED_ODDS if code in self.expected else 1.0))
            for code, share in identifier.rank(text)
            if code != "ko" or hangul
        ]
        total = sum(share for _, share in weighed)
        order = self.expected
        return sorted(
            ((code, share / total) for code, share in weighed),
            key=lambda one: (-one[1], order.index(one[0]) if one[0] in order else len(order)),
        )

    def other_than(self, text: str, language: str) -> bool:
        """Return whether a text is in another language than this one; too few letters are not."""
        if sum(map(str.isalpha, text[:SAMPLE])) < FEWEST_LETTERS:
            return False
        return self.ranked(text)[0][0] != language


def is_hangul(letter: str) -> bool:
    return "가" <= letter <= "힣" or "ㄱ" <= letter <= "ㆎ" or "\u1100" <= letter <= "\u11ff" or "ﾡ" <= letter <= "ￜ"
