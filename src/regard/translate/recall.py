"""Answers from a translation memory: exact matches in place of a search, and fuzzy ones beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.errors import UserError
from regard.memory.pair import Match, Pair
from regard.memory.store import Memory
from regard.search.hypothesis import Hypothesis
from regard.text.normalise import normalise
from regard.translate.sentences import SentencePart, SplitText
from regard.translate.translation import Output

if TYPE_CHECKING:
    from regard.translate.translator import Options, Translator


class Recall:
    """A memory's answers for the texts of one window."""

    def __init__(self, translator: "Translator", options: "Options") -> None:
        self.translator, self.options = translator, options
        self.memory: Memory | None = options.memory
        self.pairs: dict[str, Pair] = {}
        """Exact matches by text."""
        self.languages = memory_languages(translator, options) if self.memory is not None else ("", "")

    def look_up(self, texts: Iterable[str]) -> None:
        """Find the exact matches of some texts."""
        if self.memory is not None:
            self.pairs |= self.memory.exact(*self.languages, [text for text in texts if text not in self.pairs])

    def whole(self, text: str) -> SplitText | None:
        """Return a text as one part if the memory has it, however many sentences it is."""
        inner = text.strip()
        if inner not in self.pairs:
            return None
        before, after = text.split(inner, 1)
        return SplitText(before, (SentencePart(inner, after),))

    def output(self, text: str, source: list[int], tags: int) -> Output:
        """Return the translation of a text that the memory has."""
        target = self.pairs[text].target.strip()
        ids = self.translator.target_subwords.encode([normalise(target, self.translator.form)])[0]
        made = self.translator.output(text, source, tags, Hypothesis(tuple(ids), 0.0, 0.0, ()), target, self.options)
        return replace(made, text=target)

    def fuzzy(self, texts: Sequence[str]) -> dict[str, Match]:
        """Return the best fuzzy match of each text that has one, if they were asked for."""
        if self.memory is None or not self.options.fuzzy:
            return {}
        found = {text: self.memory.matches(*self.languages, text, most=1) for text in texts}
        return {text: matches[0] for text, matches in found.items() if matches}


def memory_languages(translator: "Translator", options: "Options") -> tuple[str, str]:
    """Return the languages between which a memory's pairs are used."""
    if options.languages is not None:
        return options.languages
    known = [pair for pair in translator.directions if options.target in (None, pair[1])]
    source, target = known[0] if known else translator.saved.languages
    if source is None or target is None:
        raise UserError("a memory's pairs have languages, but the model does not say its own; use a model that does")
    return source, target
