"""LRU cache of hypotheses for recent sentences, in bounded memory."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from threading import Lock

from regard.engines.engine import Engine, Progress, Request, quiet
from regard.search.hypothesis import Hypothesis
from regard.serve.metrics import Metrics

Key = tuple[Hashable, Request, tuple[int, ...]]
ENTRY_BYTES = 1000  # of a key with its request, and the entry
HYPOTHESIS_BYTES = 200
TOKEN_BYTES = 40  # an integer and its slot in a tuple


class HypothesisCache:
    """Hypotheses by model, request and source; the least recently used are evicted."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._found: OrderedDict[Key, list[Hypothesis]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> list[Hypothesis] | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: Key, hypotheses: list[Hypothesis]) -> None:
        size = _size(key, hypotheses)
        if size > self.most_bytes:
            return
        with self._lock:
            if key in self._found:
                return
            self._found[key] = hypotheses
            self.bytes += size
            while self.bytes > self.most_bytes:
                self.bytes -= _size(*self._found.popitem(last=False))


class CachingEngine:
    """An engine that searches only sources that are not in the cache."""

    def __init__(self, engine: Engine, cache: HypothesisCache, model: Hashable, metrics: Metrics) -> None:
        self.engine, self.cache, self.model, self.metrics = engine, cache, model, metrics

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        if len(request.terms) > 1 or request.prefixes:
            return self._each(sources, request, progress)
        read = list(map(tuple, sources))
        keys: dict[tuple[int, ...], Key] = {source: (self.model, request, source) for source in read}
        known = {source: found for source, key in keys.items() if (found := self.cache.get(key)) is not None}
        new = [source for source in keys if source not in known]
        self.metrics.cached.labels("yes").inc(len(known))
        self.metrics.cached.labels("no").inc(len(new))
        progress(len(known))
        if new:
            for source, hypotheses in zip(new, self.engine.search(new, request, progress), strict=True):
                known[source] = hypotheses
                self.cache.put(keys[source], hypotheses)
        return [known[source] for source in read]

    def _each(self, sources: Sequence[Sequence[int]], request: Request, progress: Progress) -> list[list[Hypothesis]]:
        """Search sources with constraints of their own one by one, each as a request that others may share."""
        found = []
        for number, source in enumerate(sources):
            own = replace(request, terms=request.terms[number : number + 1], prefixes=())
            if request.prefixes:
                own = replace(own, prefix=request.prefixes[number])
            found += self.search([source], own, progress)
        return found


def _size(key: Key, hypotheses: list[Hypothesis]) -> int:
    tokens = len(key[2]) + sum(len(one.tokens) + len(one.token_scores) for one in hypotheses)
    return ENTRY_BYTES + HYPOTHESIS_BYTES * len(hypotheses) + TOKEN_BYTES * tokens
