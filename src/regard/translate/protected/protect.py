"""Search for translations that keep protected spans, with no cost for a sentence that has none.

A sentence is searched once, with stand-ins for addresses, paths, code, placeholders and names. Only if its translation
lacks a span is it searched again: with other stand-ins, for single digits, too; and in the end without the spans, which
are then placed by the alignment. All of these are ordinary searches, so that the fast engines can do them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from regard.documents.placement import Pairs
from regard.engines.engine import Progress, Request
from regard.search.hypothesis import Hypothesis
from regard.terms.glossary import TermUse, occurs
from regard.text.normalise import normalise
from regard.text.protected.casing import Casing, casing_of
from regard.text.protected.detect import Detected, foreign
from regard.text.protected.languages import is_language, scripts_of
from regard.text.protected.names import Knowledge, find_names
from regard.text.protected.numbers import localised
from regard.text.protected.reserved import TO_PRIVATE, TO_SIGNS
from regard.text.protected.sentence_end import without_added_end
from regard.text.protected.spans import Kind, Span, find_spans
from regard.text.word_vocabulary import Words
from regard.translate.protected.reading import Reading, read, realigned, restore
from regard.translate.sentences import SentencePart, SplitText, rejoined, split, whole
from regard.translate.terms import Uses, search_terms
from regard.translate.translation import Output
from regard.translate.words import word_alignment

if TYPE_CHECKING:
    from regard.terms.glossary import Glossary
    from regard.translate.translator import Options, Translator

HARD: frozenset[Kind] = frozenset(("url", "email", "path", "code", "placeholder"))
"""Kinds that a model without reserved tokens never reads itself."""
MARKS: frozenset[Kind] = frozenset(("emoji", "tag"))
"""Kinds that are no words of the sentence, and are placed beside its words."""
REPLACING = 2  # attempts with other stand-ins
ATTEMPTS = 4  # attempts in all; the last ones take out the spans that the model lost
LONG_NUMBER = 2  # digits from which a number gets a stand-in at once; one with separators does, too
LEAN = 0.18  # least difference of probability by which a word counts as the target language's
UNLIKE = 0.34  # probability of the source language below which a word looks like another language's
MOST_SPANS = 40  # spans of a sentence; a text with more is not a sentence


@dataclass
class Plan:
    """The spans of one sentence, and the text that the model reads for it at this attempt."""

    spans: list[Span]
    texts: dict[int, str]
    """The text of spans in the translation, where it differs from the source; by number."""
    casing: Casing | None
    reading: Reading
    ids: list[int]
    attempt: int = 0
    stand_ins: dict[int, str] = field(default_factory=dict)
    """The stand-ins of spans in the text that the model reads, by number."""
    removed: set[int] = field(default_factory=set)
    """Spans that are taken out and placed."""
    tried: dict[int, set[str]] = field(default_factory=dict)
    """Stand-ins that were tried for each span."""

    def take(self, better: "Plan") -> None:
        """Take over the reading of a later attempt."""
        self.reading, self.ids, self.stand_ins, self.removed = (
            better.reading,
            better.ids,
            better.stand_ins,
            better.removed,
        )


class Protector:
    """The protected spans of the sentences of one call."""

    def __init__(self, translator: "Translator", options: "Options") -> None:
        self.translator, self.options = translator, options
        target = options.target or translator.saved.languages[1]
        self.target = target.split(">")[0].removeprefix("<").removeprefix("2").split(":")[0] if target else None
        fitting = [read for read, into in translator.directions if into == self.target and read is not None]
        self.sources = [options.languages[0]] if options.languages else fitting
        """The languages that the texts may be in."""
        self.source = self.sources[0] if len(self.sources) == 1 else None
        self.natural = all(map(is_language, [*self.sources, self.target])) and bool(self.sources)
        self.active = self._active()
        self.tag = translator.tag(options.target, options.formality)
        self.knowledge = Knowledge(
            lambda word: word in self.ranks, self._pieces, self._is_of_target, self._is_unlike_source
        )

    @property
    def ranks(self) -> dict[str, int]:
        """The words that the model knows, with their ranks."""
        return self.translator.source_subwords.word_ranks

    def _active(self) -> bool:
        """Return whether spans are protected: by default in a model of subwords between natural languages."""
        if isinstance(self.translator.target_subwords, Words):
            return False
        return self.natural if self.options.protect is None else self.options.protect

    def divided(self, text: str) -> SplitText:
        """Return a text in sentences; no span is cut."""
        taken = (split if self.options.split else whole)(text)
        if not self.active or len(taken.parts) < 2:
            return taken
        spans = [span for span in find_spans(text) if any(map(str.isspace, text[span.start : span.end]))]
        return rejoined(taken, [(span.start, span.end) for span in spans]) if spans else taken

    def other_languages(self, text: str, parts: Sequence[SentencePart]) -> list[Detected | None]:
        """Return, for each sentence of a text, the language that it is in if the model does not read it."""
        none: list[Detected | None] = [None] * len(parts)
        if self.options.force or not self.natural:
            return none
        found = self._other_language(text)
        if found is not None or len(parts) < 2 or text.isascii():
            return [found] * len(parts) if found is not None else none
        return [self._other_language(part.text) for part in parts]

    def _other_language(self, text: str) -> Detected | None:
        found = None
        for source in self.sources:
            found = foreign(text, source, self.translator.detector)
            if found is None:
                return None
        return found

    def plan(self, clean: str) -> Plan | None:
        """Return the plan of a normalised sentence; None if nothing in it is protected."""
        if not self.active:
            return None
        spans = find_spans(clean)
        casing = casing_of(_outside(clean, spans) if spans else clean, self.ranks.get)
        spans = self._spans(clean, spans, names=casing is None)
        if not spans and casing is None:
            return None
        texts = {}
        if self.options.localise_numbers:
            texts = {
                n: localised(clean[one.start : one.end], self.source, self.target)
                for n, one in enumerate(spans)
                if one.kind == "number"
            }
        plan = Plan(spans, texts, casing, Reading(clean, ""), [])
        if any(map(str.isalpha, _outside(clean, spans))):
            plan.removed = {n for n, one in enumerate(spans) if one.kind in MARKS}
            self._replace(plan, clean, [n for n, one in enumerate(spans) if self._at_once(clean, one, texts.get(n))])
            plan.reading = self._read(plan, clean)
            plan.ids = self._ids(plan.reading)
        return plan if len(plan.ids) <= self.translator.most_tokens else None

    def _spans(self, text: str, found: list[Span], *, names: bool) -> list[Span]:
        """Return the spans of a sentence with its names, and without terms of the glossary and banned words."""
        if names:
            taken = [(span.start, span.end) for span in found]
            more = find_names(text, self.source, self.knowledge)
            found += [one for one in more if not any(one.start < end and start < one.end for start, end in taken)]
        if not found:
            return found
        if self.options.banned:
            found = [one for one in found if not any(word in text[one.start : one.end] for word in self.options.banned)]
        glossary = self.options.glossary
        if glossary is not None:
            found = _without_terms(text, found, glossary)
        return sorted(found, key=lambda span: span.start)[:MOST_SPANS]

    def _pieces(self, word: str) -> int:
        return len(self.translator.source_subwords.encode([word])[0])

    def _is_of_target(self, word: str) -> bool:
        """Return whether a word of a vocabulary that both languages share is rather the target language's."""
        shared = self.translator.source_subwords is self.translator.target_subwords
        if not shared or not self.source or not self.target or scripts_of(self.target) != scripts_of(self.source):
            return False
        share = self.translator.detector.share
        return share(word, self.target) - share(word, self.source) > LEAN

    def _is_unlike_source(self, word: str) -> bool:
        return bool(self.source) and self.translator.detector.share(word, self.source or "") < UNLIKE

    def _read(self, plan: Plan, clean: str) -> Reading:
        """Return the text that the model reads, with the plan's stand-ins."""
        return read(
            clean, plan.spans, plan.stand_ins, plan.removed, plan.texts, plan.casing, self.ranks.get, self.source
        )

    def _at_once(self, sentence: str, span: Span, written: str | None) -> bool:
        """Return whether a span gets a stand-in without trying whether the model copies it."""
        text = sentence[span.start : span.end]
        if span.kind == "number":
            digits = sum(map(str.isdigit, text))
            return digits >= LONG_NUMBER or digits < len(text) or (written or text) != text
        return span.kind in HARD or span.kind == "name"

    def _replace(self, plan: Plan, clean: str, numbers: Sequence[int]) -> None:
        """Give spans a stand-in that is not in the text and was not tried for them; without one, take a span out."""
        for number in numbers:
            choices = self.translator.stand_ins(self.tag)[plan.spans[number].kind == "number"]
            tried = plan.tried.setdefault(number, set())
            used = {*tried, *plan.stand_ins.values()}
            free = next((one for one in choices if one not in used and one.lower() not in clean.lower()), None)
            if free is None or plan.attempt > REPLACING:
                plan.stand_ins.pop(number, None)
                plan.removed.add(number)
            else:
                tried.add(free)
                plan.stand_ins[number] = free

    def _ids(self, reading: Reading) -> list[int]:
        text = normalise(reading.text, self.translator.form)
        return self.translator.source_subwords.encode([text.translate(TO_SIGNS)])[0]

    def finished(self, text: str, plan: Plan | None, output: Output) -> Output:
        """Return an output with its spans, its case, and no mark at the end that the source has not."""
        if not self.active:
            return output
        if plan is None:
            shorter = without_added_end(text, output.text)
            return output if shorter == output.text else replace(output, text=shorter)
        pairs = self._pairs(plan, output) if plan.reading.marks else None
        restored = restore(plan.reading, output.text, pairs, self.target)
        alignment = output.alignment and realigned(plan.reading, output.text, restored, output.alignment)
        return replace(output, text=restored.text, alignment=alignment, spans=restored.spans, by_text=True)

    def _pairs(self, plan: Plan, output: Output) -> Pairs | None:
        translator = self.translator
        if output.alignment is not None or not translator.has_weights or not output.hypothesis.tokens:
            return output.alignment
        attention_TS = translator.attention([*self.tag, *plan.ids], output.hypothesis.tokens, self.options.layer)
        return word_alignment(
            attention_TS[:, len(self.tag) : -1], translator.source_subwords.pieces(plan.ids), output.tokens
        )

    def search(
        self,
        texts: Sequence[str],
        sources: Sequence[Sequence[int]],
        request: Request,
        plans: Mapping[str, Plan],
        progress: Progress,
    ) -> tuple[dict[str, list[Hypothesis]], Uses]:
        """Return the hypotheses and the terms of each text; texts whose translations lack spans are searched again."""
        seen = [_seen(text, plans.get(text)) for text in texts]
        found, uses = search_terms(self.translator, texts, sources, request, self.options.glossary, progress, seen)
        every = dict(zip(texts, found, strict=True))
        planned = {text: plan for text, plan in plans.items() if plan.reading.slots and text in every}
        if planned:
            self._search_again(planned, every, uses, request)
        return every, uses

    def _search_again(
        self, plans: Mapping[str, Plan], found: dict[str, list[Hypothesis]], uses: Uses, request: Request
    ) -> None:
        """Search the sentences again whose translations lack spans; `found`, `uses` and the plans are changed."""
        best = {text: self._losses(plans[text], found[text][0]) for text in plans}
        wide = replace(request, n_best=max(request.n_best, request.decode.beam))
        for attempt in range(1, ATTEMPTS + 1):
            tried = {
                text: plan for text in plans if best[text] and (plan := self._retried(plans[text], best[text], attempt))
            }
            if not tried:
                return
            sources = [[*self.tag, *plan.ids] for plan in tried.values()]
            seen = [_seen(text, plan) for text, plan in tried.items()]
            again, terms = search_terms(
                self.translator, list(tried), sources, wide, self.options.glossary, visible=seen
            )
            for (text, plan), hypotheses in zip(tried.items(), again, strict=True):
                losses = [self._losses(plan, one) for one in hypotheses]
                used = [self._uses(terms.get(text, ()), one) for one in hypotheses]
                lacking = [sum(not use.placed for use in some) for some in used]
                order = sorted(range(len(hypotheses)), key=lambda n: (len(losses[n]), lacking[n]))
                plans[text].tried = plan.tried
                if len(losses[order[0]]) < len(best[text]):
                    plans[text].take(plan)
                    found[text] = [hypotheses[n] for n in order[: request.n_best]]
                    best[text] = losses[order[0]]
                    uses |= {text: used[order[0]]} if text in terms else {}

    def _retried(self, plan: Plan, losses: Sequence[int], attempt: int) -> Plan | None:
        """Return the plan of another attempt; None if nothing is left to read."""
        again = replace(plan, attempt=attempt, stand_ins=dict(plan.stand_ins), removed=set(plan.removed))
        self._replace(again, plan.reading.source, losses)
        again.reading = self._read(again, plan.reading.source)
        again.ids = self._ids(again.reading)
        return again if 0 < len(again.ids) <= self.translator.most_tokens else None

    def _uses(self, uses: tuple[TermUse, ...], hypothesis: Hypothesis) -> tuple[TermUse, ...]:
        """Return the terms of a sentence with whether this hypothesis has them."""
        text = self.translator.target_subwords.decode(hypothesis.tokens) if uses else ""
        return tuple(replace(use, placed=any(occurs(target, text) for target in use.targets)) for use in uses)

    def _losses(self, plan: Plan, hypothesis: Hypothesis) -> tuple[int, ...]:
        """Return the spans that a hypothesis lost."""
        text = self.translator.target_subwords.decode(hypothesis.tokens)
        written = normalise(text.translate(TO_PRIVATE), self.translator.form)
        return restore(plan.reading, written, None, self.target).lost


def _outside(text: str, spans: Sequence[Span], between: str = "") -> str:
    parts, at = [], 0
    for span in spans:
        parts.append(text[at : span.start])
        at = span.end
    return between.join([*parts, text[at:]])


def _seen(text: str, plan: Plan | None) -> str:
    """Return the part of a text that may contain terms: the part that is not protected."""
    return text if plan is None or not plan.spans else _outside(text, plan.spans, " | ")


def _without_terms(text: str, spans: Sequence[Span], glossary: "Glossary") -> list[Span]:
    """Return the spans without those that a term of the glossary translates: a URL or the like only as a whole."""
    terms = [term.source.casefold() for term in glossary.found(text)]

    def translated(span: Span) -> bool:
        written = text[span.start : span.end].casefold()
        return written in terms if span.kind in HARD else any(term in written for term in terms)

    return [span for span in spans if not translated(span)]
