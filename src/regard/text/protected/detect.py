"""Detection of a request's language among those that are served (regard.text.language)."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from regard.text.language import LanguageIdentifier
from regard.text.protected.languages import base, script_of, scripts_of

LEAST = 0.01  # minimum probability of a reported language
MOST = 5  # languages reported
OTHER_SHARE = 0.6  # share of letters in another script from which a text is in another language
LEAST_OTHER = 2  # least number of such letters
LEAST_LATIN = 12  # the same for Latin letters, which every language borrows for names
LEAST_LETTERS = 20  # letters, and words, from which languages of one script are told apart
LEAST_WORDS = 4
SURE = 90.0  # confidence, from 0 to 100, above which a text is left as it is
# Frequent words that hardly occur in other languages: a text with one of them is in its language.
WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the and of is are you that it with for this have not what do my your his they from there where who how "
        "would could should i i'm don't it's can't you're he's she didn't did has can does which their when why "
        "if about there's doesn't i've i'll were been him we're you've they're it'll know think people "
        "please very some going really never always without said told wants needs",
        "de": "der das und ist nicht ich wir ein eine mit für von dem auch sich auf sie ihr dass bei sind einen einem "
        "hast wird wurde mich mir dich dir mein meine dein deine seine ihre keine nichts wenn wo wann "
        "warum über vom zum zur heute sehr viele gibt muss kann möchte werden haben immer schon aber oder",
        "fr": "est les des une vous nous dans pour que qui pas avec sur ce cette il elle je c'est sont ont aux",
        "es": "los las una es el que por para con no está ella muy qué como pero más este esta son usted",
        "it": "gli della è che non una per con sono questo questa il di più anche nel nella ho hai perché",
        "pt": "não uma você os que para com ele ela está isso por são muito como eu um mais também",
        "nl": "het een niet ik je dat van zijn voor met heb hij wij er naar maar ook deze",
    }.items()
}
MOST_WORDS = 1 << 14  # words whose probability is cached; the bound limits a server's memory


@dataclass(frozen=True)
class Detected:
    language: str
    confidence: float
    """Confidence, from 0 to 100."""

    def as_dict(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """Detect languages, with those served preferred."""

    def __init__(self, served: Iterable[str]) -> None:
        self.served = {base(code): code for code in served}
        self._identifier = LanguageIdentifier(self.served)
        self.share = lru_cache(MOST_WORDS)(self._share)
        """The same as `_share`; recent answers are kept."""

    def candidates(self, text: str) -> list[Detected]:
        """Return the candidate languages of a text, most probable first; at least one."""
        ranked = self._identifier.ranked(text)
        likely = [(code, share) for code, share in ranked[:MOST] if share >= LEAST] or ranked[:1]
        return [Detected(self.served.get(code, code), round(100 * share, 1)) for code, share in likely]

    def most_probable(self, text: str) -> Detected:
        """Return the first of the candidates."""
        code, share = self._identifier.best(text)
        return Detected(self.served.get(code, code), round(100 * share, 1))

    def _share(self, word: str, language: str) -> float:
        """Return the probability that a word is in a language."""
        return dict(self._identifier.ranked(word)).get(base(language), 0.0)

    def best(self, text: str, among: Iterable[str]) -> Detected:
        """Return the most probable of some languages, with its confidence among all."""
        wanted = {base(code): code for code in among}
        ranked = [*self._identifier.ranked(text), *((code, 0.0) for code in wanted)]
        code, share = next(one for one in ranked if one[0] in wanted)
        return Detected(wanted[code], round(100 * share, 1))


def foreign(text: str, source: str, detector: Detector) -> Detected | None:
    """Return the language of a text that is not in the source language; None if it may be.

    Another script is certain. Languages of one script are told apart only if there are enough words, and if none of
    them is a frequent word of the source language, which is fast to check.
    """
    letters = text if text.isascii() else [letter for letter in text if letter.isalpha()]
    expected = scripts_of(source)
    if isinstance(letters, list) or expected != ("latin",):
        scripts = [script_of(letter) for letter in letters if letter.isalpha()]
        other = [script for script in scripts if script not in expected]
        least = LEAST_LATIN if "latin" in other else LEAST_OTHER
        if len(other) >= least and len(other) > OTHER_SHARE * len(scripts):
            found = [one for one in detector.candidates(text) if base(one.language) != base(source)]
            return found[0] if found else None
    words = text.lower().split()
    if len(words) < LEAST_WORDS or not WORDS.get(base(source), frozenset()).isdisjoint(words):
        return None
    if sum(map(str.isalpha, text)) < LEAST_LETTERS:
        return None
    best = detector.most_probable(text)
    return best if base(best.language) != base(source) and best.confidence >= SURE else None
