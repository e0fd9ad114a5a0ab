"""The translation service: translate texts and documents along a route of models, in a request's thread.

The translation path is that of `regard translate`; only the engine differs: it consults the cache, then the queue.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from regard.documents.placement import Pairs
from regard.documents.segment import Piece, Segment, Translated, checkpoints, rebuild, segments
from regard.serve.batcher import Batcher, Queued
from regard.serve.cache import Cache, CachingEngine
from regard.serve.cancellation import CancellationToken
from regard.serve.metrics import Metrics
from regard.serve.models import Models, Step
from regard.translate.translator import Attention, Options, Translator

if TYPE_CHECKING:
    from torch import Tensor

Route = Sequence[Step]
WINDOW_CHARACTERS = 10_000  # of a document, translated together
POLL = 0.1  # seconds between checks whether a waiting document was cancelled


@dataclass(frozen=True)
class Answer:
    """A translated text."""

    text: str
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class TranslationService:
    """Translators behind the cache and the queue."""

    models: Models
    batcher: Batcher
    cache: Cache
    metrics: Metrics
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
        own.attention = self._in_turn(own.attention, cancellation)
        return own

    def _in_turn(self, attention: Attention, cancellation: CancellationToken) -> Attention:
        """Align one sentence at a time, so that searches keep the CPU; stop if the request is cancelled."""

        def waiting(source: Sequence[int], target: Sequence[int], layer: int | None) -> "Tensor":
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
    ) -> list[Answer]:
        """Translate texts; alternatives come from the last step."""
        if not route:
            return [Answer(text) for text in texts]
        *before, last = route
        for step in before:
            texts = self.translator(step, cancellation).translate(texts, Options(target=step.tag, split=split))
        translator, options = self.translator(last, cancellation), Options(target=last.tag, split=split)
        best = translator.translate(texts, options)
        if not alternatives:
            return list(map(Answer, best))
        found = translator.window(texts, replace(options, n_best=alternatives + 1))
        return [
            Answer(text, _others(text, [one.option(number) for number in range(one.options)], alternatives))
            for text, one in zip(best, found, strict=True)
        ]

    def documents(
        self, route: Route, taken: Sequence[Sequence[Piece]], cancellation: CancellationToken, *, split: bool = True
    ) -> list[str]:
        """Translate documents given as pieces; their structure stays."""
        every = [segment for pieces in taken for segment in segments(pieces)]
        found = iter(self._segments(route, every, cancellation, split=split))
        with self.processor(cancellation):
            return [rebuild(pieces, islice(found, len(segments(pieces)))) for pieces in taken]

    @contextmanager
    def processor(self, cancellation: CancellationToken) -> Iterator[None]:
        """Guard parsing or rebuilding: one document at a time, with a check for cancellation at every text."""
        while cancellation.document and not self.parsing.acquire(timeout=POLL):
            cancellation.check()
        try:
            with checkpoints(cancellation.check):
                yield
        finally:
            if cancellation.document:
                self.parsing.release()

    def _segments(
        self, route: Route, found: Sequence[Segment], cancellation: CancellationToken, *, split: bool
    ) -> list[Translated]:
        """Return a translation for each segment, with an alignment if it contains marks."""
        done = [Translated(segment.text, identity(segment.text)) for segment in found]
        for step in route:
            translator = self.translator(step, cancellation)
            for aligned in (False, True):
                numbers = [number for number, segment in enumerate(found) if segment.aligned == aligned]
                options = Options(target=step.tag, alignment=aligned and translator.has_weights, split=split)
                for window in _windows(numbers, [done[number].text for number in numbers]):
                    cancellation.check()
                    translations = translator.window([done[number].text for number in window], options)
                    for number, one in zip(window, translations, strict=True):
                        done[number] = Translated(one.text, through(done[number].pairs, one.pairs))
        return done


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
