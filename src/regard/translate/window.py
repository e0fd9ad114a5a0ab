"""The translation of a window of texts, step by step: all sentences are searched together, and equal ones once."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from regard.cores import available_cores
from regard.engines.engine import Progress
from regard.search.hypothesis import Hypothesis
from regard.text.normalise import normalise
from regard.text.protected.detect import Detected
from regard.text.protected.reserved import TO_SIGNS
from regard.text.subword_file import LONGEST_PIECE
from regard.translate.confidence import Judgement
from regard.translate.protected.protect import Plan, Protector
from regard.translate.protected.reading import unrestored
from regard.translate.recall import Recall
from regard.translate.sentences import SentencePart, SplitText, shorten
from regard.translate.terms import Uses
from regard.translate.translation import Output, Sentence, Translation, judge_best

if TYPE_CHECKING:
    from regard.memory.pair import Match
    from regard.translate.translator import Options, Translator

FOREIGN = Judgement(None, ("language",))
RECALLED = Judgement(1.0)


class Window:
    """A window of texts with its intermediate results: sentences, ids, hypotheses, translations."""

    def __init__(self, translator: "Translator", texts: Sequence[str], options: "Options") -> None:
        self.translator, self.texts, self.options = translator, texts, options
        self.request = translator.request(options)
        self.recall, self.guard = Recall(translator, options), Protector(translator, options)
        self.tag = self.guard.tag
        self.clean = cache(lambda text: normalise(text, translator.form))  # the same part is normalised several times
        self.most_characters = LONGEST_PIECE * translator.most_tokens
        """The most characters that most_tokens can spell."""
        self.ids: dict[str, list[int]] = {}
        """Source ids of each sentence."""
        self.plans: dict[str, Plan] = {}
        """Plans of the sentences with protected spans."""
        self.outputs: dict[str, tuple[Output, ...]] = {}
        self.uses: Uses = {}
        self.fuzzy: dict[str, Match] = {}

    def translated(self, progress: Progress) -> list[Translation]:
        """Return the translations of the texts."""
        divided = self._divided()
        self._spell([part.text for taken in divided for part in taken.parts])
        pieces = [self._pieces(taken) for taken in divided]
        languages = [self._languages(text, parts) for text, parts in zip(self.texts, pieces, strict=True)]
        different = dict.fromkeys(
            piece.text
            for parts, others in zip(pieces, languages, strict=True)
            for piece, other in zip(parts, others, strict=True)
            if other is None
        )
        self._recall([text for text in different if text in self.recall.pairs])
        self._search([text for text in different if text not in self.recall.pairs], progress)
        return [
            Translation(text, taken.before, tuple(map(self._sentence, parts, others)))
            for text, taken, parts, others in zip(self.texts, divided, pieces, languages, strict=True)
        ]

    def _divided(self) -> list[SplitText]:
        """Return each text in sentences, or as one if the memory has it whole."""
        if self.recall.memory is None:
            return list(map(self.guard.divided, self.texts))
        self.recall.look_up(text.strip() for text in self.texts)
        divided = [self.recall.whole(text) or self.guard.divided(text) for text in self.texts]
        self.recall.look_up(part.text for taken in divided for part in taken.parts)
        return divided

    def _spell(self, texts: Sequence[str]) -> None:
        """Encode each distinct text that may be short enough, by its normalised spelling."""
        different = list(dict.fromkeys(self.clean(text) for text in texts if len(text) <= self.most_characters))
        encode = self.translator.source_subwords.encode
        self.ids |= zip(different, encode(different, threads=available_cores()), strict=True)

    def _pieces(self, taken: SplitText) -> list[SentencePart]:
        """Return the sentences of a text, normalised and short enough; those that the memory has stay as they are."""
        pieces: list[SentencePart] = []
        for part in taken.parts:
            text = part.text if part.text in self.recall.pairs else self.clean(part.text)
            if part.text in self.recall.pairs or (len(part.text) <= self.most_characters and self._fits(text)):
                pieces.append(part if text == part.text else SentencePart(text, part.after))
            else:
                pieces += self._shortened(part)
        return pieces

    def _fits(self, clean: str) -> bool:
        """Return whether a normalised text is short enough; its ids are kept."""
        if clean not in self.ids:
            self.ids[clean] = self.translator.source_subwords.encode([clean])[0]
        return len(self.ids[clean]) <= self.translator.most_tokens

    def _shortened(self, part: SentencePart) -> Iterator[SentencePart]:
        """Yield a part as normalised pieces that are short enough."""
        for piece in shorten(part, lambda text: len(text) <= self.most_characters and self._fits(self.clean(text))):
            self._fits(self.clean(piece.text))
            yield SentencePart(self.clean(piece.text), piece.after)

    def _languages(self, text: str, parts: Sequence[SentencePart]) -> list[Detected | None]:
        """Return the language of each sentence that is left as it is, except those that the memory has."""
        found = self.guard.other_languages(text, parts)
        if not self.recall.pairs:
            return found
        return [None if part.text in self.recall.pairs else other for part, other in zip(parts, found, strict=True)]

    def _recall(self, texts: Sequence[str]) -> None:
        """Take the memory's translations."""
        for text in texts:
            self.ids[text] = self.translator.source_subwords.encode([self.clean(text)])[0]
            self.outputs[text] = (self.recall.output(text, self.source(text), len(self.tag)),)

    def prefix(self, text: str, shown: str) -> tuple[int, ...]:
        """Return the ids that an output must begin with, so that the translation begins with `shown`."""
        plan, subwords = self.plans.get(text), self.translator.target_subwords
        if plan is not None:
            shown = unrestored(plan.reading, shown, subwords.word_ranks.get, self.guard.target)
        return tuple(subwords.encode([self.clean(shown).translate(TO_SIGNS)])[0])

    def source(self, text: str) -> list[int]:
        """Return the engine's input for a sentence."""
        return [*self.tag, *self.ids[text]]

    def _search(self, texts: Sequence[str], progress: Progress) -> None:
        """Search the sentences that are not empty, and store their outputs."""
        self.plans = {text: plan for text in texts if (plan := self.guard.plan(text))}
        self.ids |= {text: plan.ids for text, plan in self.plans.items()}
        known = [text for text in texts if self.ids[text]]
        found, self.uses = self.guard.search(known, list(map(self.source, known)), self.request, self.plans, progress)
        self.ids |= {text: plan.ids for text, plan in self.plans.items()}  # a search again reads something else
        written = iter(
            self.translator.target_subwords.decode_all([one.tokens for text in known for one in found[text]])
        )
        for text in known:
            self.outputs[text] = tuple([self.output(text, one, next(written)) for one in found[text]])
        self.fuzzy = self.recall.fuzzy(known)

    def output(self, text: str, hypothesis: Hypothesis, written: str) -> Output:
        output = self.translator.output(text, self.source(text), len(self.tag), hypothesis, written, self.options)
        return self.guard.finished(text, self.plans.get(text), output)

    def _sentence(self, piece: SentencePart, language: Detected | None) -> Sentence:
        """Return a sentence of the result."""
        text = piece.text
        outputs, pair = self.outputs.get(text, ()) if language is None else (), self.recall.pairs.get(text)
        judge = self._judge(text, outputs, language)
        return Sentence(
            text,
            tuple(self.translator.source_subwords.pieces(self.ids[text])),
            outputs,
            piece.after,
            self.uses.get(text, ()),
            pair,
            self.fuzzy.get(text),
            judge,
            language is not None or not self._sure(judge),
            language,
        )

    def _judge(self, text: str, outputs: tuple[Output, ...], language: Detected | None) -> Callable[[], Judgement]:
        """Return a function that judges a sentence, to be called on first use."""
        if language is not None:
            return lambda: FOREIGN
        if text in self.recall.pairs:
            return lambda: RECALLED
        return partial(judge_best, self.translator.calibration, text, self.ids[text], outputs)

    def _sure(self, judge: Callable[[], Judgement]) -> bool:
        """Return whether a translation is sure enough to be given."""
        if self.options.min_confidence is None:
            return True
        found = judge()
        return not found.warnings and (found.confidence is None or found.confidence >= self.options.min_confidence)
