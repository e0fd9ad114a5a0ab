"""The results of a translator: texts made of sentences with one or more candidate translations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from unicodedata import east_asian_width

from regard.memory.pair import Match, Pair
from regard.saved.calibration import Calibration
from regard.search.hypothesis import Hypothesis
from regard.terms.glossary import TermUse
from regard.text.protected.detect import Detected
from regard.translate.confidence import UNJUDGED, Judgement, judge
from regard.translate.protected.reading import Kept
from regard.translate.sentences import CLOSERS, FULL_WIDTH_ENDS
from regard.translate.words import Pairs, word_numbers

# Marks that end a part without a space after it, in full width and as NFKC has them.
MARKS = frozenset(FULL_WIDTH_ENDS + "、，；：" + "!?.,;:")
WEAK = 0.3  # probability below which a word is weak


@dataclass(frozen=True)
class Output:
    """One candidate translation of a sentence."""

    text: str
    tokens: tuple[str, ...]
    hypothesis: Hypothesis
    """Result of the search, with its scores."""
    alignment: Pairs | None = None
    """(source word, target word) for every target word, if requested; a word begins with ▁ in `tokens`. In a sentence
    with protected spans or CAPITALS they are the words of its text, since the model read other ones."""
    by_text: bool = False
    """True if the alignment numbers the words of the text, and not those of `tokens`."""
    spans: tuple[Kept, ...] = ()
    """The protected spans, and what became of each."""


@dataclass(frozen=True)
class Sentence:
    """A translated sentence."""

    source: str
    tokens: tuple[str, ...]
    outputs: tuple[Output, ...]
    """Best first; empty if there was nothing to translate."""
    after: str
    """The text between it and the next."""
    terms: tuple[TermUse, ...] = ()
    """The glossary's terms in it, with whether the translation has them."""
    memory: Pair | None = None
    """The pair of the memory that is its translation."""
    fuzzy: Match | None = None
    """The pair of the memory with the most similar source, if requested."""
    judge: Callable[[], Judgement] = field(default=lambda: UNJUDGED, repr=False, compare=False)
    kept: bool = False
    """True if it was left untranslated: the translation is not sure enough, or the text is in another language."""
    language: Detected | None = None
    """The language of a text that is not in the model's source language."""

    @cached_property
    def judgement(self) -> Judgement:
        """The estimated quality, computed on first use."""
        return self.judge()


@dataclass(frozen=True)
class Translation:
    """A translated text."""

    source: str
    before: str
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        return self.option(0)

    @property
    def score(self) -> float:
        return self.option_score(0)

    @property
    def confidence(self) -> float | None:
        """Return the confidence of the least sure sentence; None without calibration."""
        found = [one.judgement.confidence for one in self.sentences if one.outputs]
        return min((one for one in found if one is not None), default=None) if None not in found else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings of all sentences, by the names of `Judgement.warnings`."""
        return tuple(dict.fromkeys(name for one in self.sentences for name in one.judgement.warnings))

    @property
    def language(self) -> Detected | None:
        """Return the language of the text, or of a sentence in it, that was left as it is; None if there is none."""
        return next((one.language for one in self.sentences if one.language is not None), None)

    @property
    def spans(self) -> tuple[Kept, ...]:
        """Return the protected spans of the text."""
        return tuple(span for one in self.sentences if one.outputs for span in one.outputs[0].spans)

    @property
    def unplaced(self) -> list[TermUse]:
        """Return the glossary's terms that the translation lacks."""
        return [use for sentence in self.sentences for use in sentence.terms if not use.placed]

    @property
    def options(self) -> int:
        """Return the number of translations: the maximum over the sentences."""
        return max((len(sentence.outputs) for sentence in self.sentences), default=1) or 1

    def option(self, number: int) -> str:
        """Return the text with each sentence's translation of this number, or its last."""
        texts = [self.before]
        for sentence in self.sentences:
            output = _numbered(sentence, number)
            text = sentence.source if output is None or sentence.kept else output.text
            texts += [text, _joint(sentence, text)]
        texts[-1:] = [self.sentences[-1].after] if self.sentences else texts[-1:]
        return "".join(texts)

    @property
    def pairs(self) -> Pairs | None:
        """Return the alignments of the sentences as one of the whole text, in words as str.split gives them.

        None if there is none, or in a language whose words are not separated by spaces.
        """
        pairs: list[tuple[int, int]] = []
        before = after = 0  # words of the sentences so far
        for sentence in self.sentences:
            output = sentence.outputs[0] if sentence.outputs else None
            theirs = len(sentence.source.split())
            if sentence.kept:
                output = None
            ours = theirs if output is None else len(output.text.split())
            if output is not None and output.alignment:
                read = word_numbers(sentence.tokens)[-1] + 1, word_numbers(output.tokens)[-1] + 1
                if not output.by_text and read != (theirs, ours):
                    return None
                pairs += [(before + source, after + target) for source, target in output.alignment]
            before, after = before + theirs, after + ours
        if (before, after) != (len(self.source.split()), len(self.text.split())):
            return None
        return tuple(pairs) or None

    @property
    def weak_words(self) -> dict[int, float]:
        """Return the words, numbered as str.split gives them, that the model held improbable, with their probability.

        A word's probability is that of its least probable token, given all before it. Empty without token scores, and
        in a language whose words are not separated by spaces.
        """
        found: dict[int, float] = {}
        before = 0  # words of the sentences so far
        for sentence in self.sentences:
            output = _numbered(sentence, 0)
            if output is None or sentence.kept:
                before += len(sentence.source.split())
                continue
            scores, words = output.hypothesis.token_scores, len(output.text.split())
            numbers = word_numbers(output.tokens)
            if not numbers or numbers[-1] + 1 != words:
                return {}
            for number, score in zip(numbers, scores, strict=False):  # scores end with that of EOS
                if score < math.log(WEAK):
                    found[before + number] = min(found.get(before + number, 1.0), math.exp(score))
            before += words
        return found if before == len(self.text.split()) else {}

    def option_score(self, number: int) -> float:
        """Return the sum of the sentences' scores."""
        outputs = (_numbered(sentence, number) for sentence in self.sentences)
        return sum(output.hypothesis.score for output in outputs if output is not None)


def judge_best(
    calibration: Calibration | None, source: str, ids: Sequence[int], outputs: Sequence[Output]
) -> Judgement:
    """Judge the best output of a sentence, of which the model has read the ids."""
    if not outputs:
        return UNJUDGED
    best, written = outputs[0], outputs[0].text
    for span in best.spans:  # what was kept is not copied
        source, written = source.replace(span.text, " "), written.replace(span.text, " ")
    found = judge(calibration, source, ids, written, best.hypothesis)
    lost = any(span.how == "appended" for span in best.spans)
    return replace(found, warnings=(*found.warnings, "appended")) if lost else found


def _numbered(sentence: Sentence, number: int) -> Output | None:
    return sentence.outputs[min(number, len(sentence.outputs) - 1)] if sentence.outputs else None


def _joint(sentence: Sentence, text: str) -> str:
    """Return the text after a sentence, with a space added where a full-width mark became a narrow one."""
    read, written = (side.rstrip(CLOSERS)[-1:] for side in (sentence.source, text))
    due = read in MARKS and written and east_asian_width(written) not in ("W", "F")
    return sentence.after or (" " if due else "")
