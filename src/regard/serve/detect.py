"""Language detection: py3langid's character n-grams over 139 languages, and the script for Korean.

py3langid was chosen since it is maintained, needs no network and no pickle, and takes 5 MB. It is unsure about short
texts; so a served language has a much larger prior than one that the server does not translate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from regard.serve.api.languages import base
from regard.text.normalise import normalise

SERVED_ODDS = 50.0  # prior odds of a served language against another
LEAST = 0.01  # minimum probability of a reported language
MOST = 5  # languages reported
SAMPLE = 2000  # characters that suffice to detect a language
HANGUL_SHARE = 0.3  # of the letters: only Korean uses Hangul, often mixed with Latin letters


@dataclass(frozen=True)
class Detected:
    language: str
    confidence: float
    """From 0 to 100."""

    def as_dict(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """Detect languages, with those served preferred; load the tables on first use."""

    def __init__(self, served: Iterable[str]) -> None:
        self.served = {base(code): code for code in served}
        self._reading = Lock()

    @cached_property
    def _identifier(self) -> Any:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415  # takes a second and 90 MB

        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def candidates(self, text: str) -> list[Detected]:
        """Return the candidate languages of a text, most probable first; at least one."""
        ranked = self._ranked(text)
        likely = [(code, share) for code, share in ranked[:MOST] if share >= LEAST] or ranked[:1]
        return [Detected(self.served.get(code, code), round(100 * share, 1)) for code, share in likely]

    def best(self, text: str, among: Iterable[str]) -> Detected:
        """Return the most probable of some languages, with its confidence among all."""
        wanted = {base(code): code for code in among}
        code, share = next(one for one in [*self._ranked(text), *((code, 0.0) for code in wanted)] if one[0] in wanted)
        return Detected(wanted[code], round(100 * share, 1))

    def _ranked(self, text: str) -> list[tuple[str, float]]:
        text = normalise(text[:SAMPLE])
        letters = [character for character in text if character.isalpha()]
        hangul = sum(map(is_hangul, letters))
        if letters and hangul / len(letters) >= HANGUL_SHARE:
            return [("ko", 1.0)]
        with self._reading:  # concurrent first uses load the tables once
            identifier = self._identifier
        weighed = [
            (code, share * (SERVED_ODDS if code in self.served else 1.0))
            for code, share in identifier.rank(text)
            if code != "ko" or hangul
        ]
        total = sum(share for _, share in weighed)
        order = list(self.served)
        return sorted(
            ((code, share / total) for code, share in weighed),
            key=lambda one: (-one[1], order.index(one[0]) if one[0] in self.served else len(order)),
        )


def is_hangul(letter: str) -> bool:
    return "가" <= letter <= "힣" or "ㄱ" <= letter <= "ㆎ" or "\u1100" <= letter <= "\u11ff" or "ﾡ" <= letter <= "ￜ"
