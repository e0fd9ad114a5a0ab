"""The translation service: translate texts and documents along a route of models, in a request's thread.

The translation path is that of `regard translate`; only the engine differs: it consults the cache, then the queue.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Lock

from regard.documents.placement import Pairs
from regard.documents.segment import Piece, Segment, Translated, checkpoints, rebuild, segments
from regard.memory.pair import Pair
from regard.saved.weights import Array
from regard.serve.batching.batcher import Batcher, Queued
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.cache import CachingEngine, HypothesisCache
from regard.serve.knowledge.server_knowledge import ServerKnowledge
from regard.serve.metrics import Metrics
from regard.serve.models import Models, Step
from regard.terms.glossary import Glossary
from regard.text.protected.detect import Detector
from regard.translate.document import other_languages, remarks
from regard.translate.translation import Translation
from regard.translate.translator import Attention, Options, Translator

Route = Sequence[Step]
WINDOW_CHARACTERS = 10_000  # of a document, translated together
POLL = 0.1  # seconds between checks whether a waiting document was cancelled


@dataclass(frozen=True)
class Answer:
    """A translated text."""

    text: str
    alternatives: tuple[str, ...] = ()
    translation: Translation | None = None
    """The translation that the last model made, sentence by sentence; None if there was nothing to do."""
    memory: Pair | None = None
    """The pair of the memory that is the whole text's translation."""


@dataclass(frozen=True)
class TranslationService:
    """Translators behind the cache and the queue."""

    models: Models
    batcher: Batcher
    cache: HypothesisCache
    metrics: Metrics
    knowledge: ServerKnowledge
    detector: Detector
    turn: Lock = field(default_factory=Lock)
    """Serialises alignments, which do not go through the queue."""
    parsing: Lock = field(default_factory=Lock)
    """Serialises parsing and rebuilding of documents in Python, so that the event loop is not starved."""

    def translator(self, step: Step, cancellation: CancellationToken) -> Translator:
        """Return the translator of a step for one request: the same model, behind the cache and the queue."""
        loaded = self.models.loaded(step.model)
        own = copy(loaded.translator)
        queued = Queued(self.batcher, loaded.translator.engine, cancellation)
        own.engine = CachingEngine(queued, self.cache, loaded.serial, self.metrics)
        own.detector = self.detector
        own.attention = self._in_turn(own.attention, cancellation)
        return own

    def _in_turn(self, attention: Attention, cancellation: CancellationToken) -> Attention:
        """Align one sentence at a time, so that searches keep the CPU; stop if the request is cancelled."""

        def waiting(source: Sequence[int], target: Sequence[int], layer: int | None) -> Array:
            with self.turn:
                cancellation.check()
                return attention(source, target, layer)

        return waiting

    def translate(
        self,
        route: Route,
        texts: Sequence[str],
        cancellation: CancellationToken,
        *,
        alternatives: int = 0,
        split: bool = True,
        force: bool = False,
        glossary: Glossary | None = None,
    ) -> list[Answer]:
        """Translate texts; `force`: those in other languages, too.

        Alternatives come from the last step. Without a glossary, the server's own is used.
        """
        if not route:
            return [Answer(text) for text in texts]
        known = self._recalled(route, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        made = self._translated(
            route, new, cancellation, alternatives=alternatives, split=split, force=force, glossary=glossary
        )
        known |= zip(new, made, strict=True)
        return [known[text] for text in texts]

    def _recalled(self, route: Route, texts: Sequence[str]) -> dict[str, Answer]:
        """Return the memory's answers for whole texts along a route of several models."""
        if len(route) == 1 or self.knowledge.memory is None:
            return {}
        found = self.knowledge.memory.exact(route[0].source, route[-1].target, texts)
        return {text: Answer(pair.target, memory=pair) for text, pair in found.items()}

    def _translated(
        self,
        route: Route,
        texts: Sequence[str],
        cancellation: CancellationToken,
        *,
        alternatives: int,
        split: bool,
        force: bool,
        glossary: Glossary | None,
    ) -> list[Answer]:
        *before, last = route
        for step in before:
            options = self.options(step, split=split, force=force)
            texts = self.translator(step, cancellation).translate(texts, options)
        translator = self.translator(last, cancellation)
        options = self.options(last, split=split, glossary=glossary, force=force, fuzzy=alternatives > 0)
        best = list(translator.stream(texts, options))
        if not alternatives:
            return [Answer(one.text, translation=one) for one in best]
        found = translator.window(texts, replace(options, fuzzy=False, n_best=alternatives + 1))
        return [
            Answer(
                one.text, _others(one.text, [more.option(number) for number in range(more.options)], alternatives), one
            )
            for one, more in zip(best, found, strict=True)
        ]

    def options(
        self,
        step: Step,
        *,
        split: bool = True,
        glossary: Glossary | None = None,
        force: bool = False,
        fuzzy: bool = False,
    ) -> Options:
        """Return the options of a step, with the server's memory and glossary for its direction."""
        return Options(
            target=step.tag,
            split=split,
            glossary=glossary or self.knowledge.glossaries.get((step.source, step.target)),
            memory=self.knowledge.memory,
            fuzzy=fuzzy,
            languages=(step.source, step.target),
            force=force,
        )

    def documents(
        self,
        route: Route,
        taken: Sequence[Sequence[Piece]],
        cancellation: CancellationToken,
        *,
        split: bool = True,
        glossary: Glossary | None = None,
    ) -> list[str]:
        """Translate documents given as pieces; their structure stays."""
        every = [segment for pieces in taken for segment in segments(pieces)]
        found = iter(self.translate_segments(route, every, cancellation, split=split, glossary=glossary))
        with self.processor(cancellation):
            return [rebuild(pieces, islice(found, len(segments(pieces)))) for pieces in taken]

    @contextmanager
    def processor(self, cancellation: CancellationToken) -> Iterator[None]:
        """Hold the lock for parsing or rebuilding a document; check for cancellation at every text."""
        while cancellation.document and not self.parsing.acquire(timeout=POLL):
            cancellation.check()
        try:
            with checkpoints(cancellation.check):
                yield
        finally:
            if cancellation.document:
                self.parsing.release()

    def translate_segments(
        self,
        route: Route,
        found: Sequence[Segment],
        cancellation: CancellationToken,
        *,
        split: bool = True,
        glossary: Glossary | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> list[Translated]:
        """Return a translation for each segment, with an alignment if it contains marks; `progress` is called with the
        share that is done."""
        done = [Translated(segment.text, identity(segment.text)) for segment in found]
        finished, every = 0, max(1, len(found) * len(route))
        for step in route:
            translator = self.translator(step, cancellation)
            for aligned in (False, True):
                numbers = [number for number, segment in enumerate(found) if segment.aligned == aligned]
                own = glossary if step is route[-1] else None
                options = replace(
                    self.options(step, split=split, glossary=own), alignment=aligned and translator.has_weights
                )
                for window in _windows(numbers, [done[number].text for number in numbers]):
                    cancellation.check()
                    translations = translator.window([done[number].text for number in window], options)
                    for number, one in zip(window, translations, strict=True):
                        done[number] = _after(done[number], one)
                    finished += len(window)
                    if progress is not None:
                        progress(finished / every)
        return done


def _after(before: Translated, one: Translation) -> Translated:
    """Return a step's translation of a text, with the warnings of the steps before it."""
    said = dict.fromkeys((*before.remarks, *remarks(one)))
    languages = dict.fromkeys((*before.languages, *other_languages(one)))
    return Translated(one.text, through(before.pairs, one.pairs), tuple(said), tuple(languages))


def _windows(numbers: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield windows of texts that are translated together: small, so that cancellation is quick and memory bounded."""
    window: list[int] = []
    characters = 0
    for number, text in zip(numbers, texts, strict=True):
        window.append(number)
        characters += len(text)
        if characters >= WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window


def _others(best: str, texts: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the alternatives, without the best, empty ones and duplicates."""
    return tuple(islice((text for text in dict.fromkeys(texts) if text not in (best, "")), most))


def identity(text: str) -> Pairs:
    return tuple((number, number) for number in range(len(text.split())))


def through(first: Pairs | None, second: Pairs | None) -> Pairs | None:
    """Compose two alignments through a pivot language."""
    if first is None or second is None:
        return None
    origin = {middle: source for source, middle in first}
    return tuple((origin[middle], target) for middle, target in second if middle in origin)
