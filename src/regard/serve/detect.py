"""Detection of a request's language among those that are served (regard.text.language)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from regard.serve.api.languages import base
from regard.text.language import LanguageIdentifier

LEAST = 0.01  # minimum probability of a reported language
MOST = 5  # languages reported


@dataclass(frozen=True)
class Detected:
    language: str
    confidence: float
    """From 0 to 100."""

    def as_dict(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """Detect languages, with those served preferred."""

    def __init__(self, served: Iterable[str]) -> None:
        self.served = {base(code): code for code in served}
        self._identifier = LanguageIdentifier(self.served)

    def candidates(self, text: str) -> list[Detected]:
        """Return the candidate languages of a text, most probable first; at least one."""
        ranked = self._identifier.ranked(text)
        likely = [(code, share) for code, share in ranked[:MOST] if share >= LEAST] or ranked[:1]
        return [Detected(self.served.get(code, code), round(100 * share, 1)) for code, share in likely]

    def best(self, text: str, among: Iterable[str]) -> Detected:
        """Return the most probable of some languages, with its confidence among all."""
        wanted = {base(code): code for code in among}
        ranked = [*self._identifier.ranked(text), *((code, 0.0) for code in wanted)]
        code, share = next(one for one in ranked if one[0] in wanted)
        return Detected(wanted[code], round(100 * share, 1))
