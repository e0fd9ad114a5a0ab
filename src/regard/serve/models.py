"""The served models: their directions, routes through two of them, and which are in memory."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from regard.errors import UserError
from regard.model.cost import cost
from regard.serve.metrics import Metrics
from regard.translate.card import card_summaries
from regard.translate.load import load
from regard.translate.translator import Translator

_NAMED = re.compile(r"([A-Za-z]{2,8}(?:_[A-Za-z0-9]{2,8})*)-([A-Za-z]{2,8}(?:_[A-Za-z0-9]{2,8})*)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One translation direction of a model."""

    source: str
    target: str
    model: str
    tag: str | None
    """The model's tag for the target language, if it has several."""
    levels: tuple[str, ...] = ()
    """The speech levels of the target language that the model knows."""


@dataclass(frozen=True)
class Loaded:
    translator: Translator
    serial: int
    """Number that changes whenever a model is loaded."""


class Models:
    """Translators by name, loaded on demand within a memory limit.

    A name is an argument of `regard.load`, or FROM-TO=NAME for a model without recorded languages.
    """

    def __init__(self, names: Sequence[str], most_bytes: int, metrics: Metrics) -> None:
        self.most_bytes, self.metrics = most_bytes, metrics
        self._bytes: dict[str, int] = {}
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._serial = 0
        self._lock, self._reading = Lock(), Lock()
        self._named: set[str] = set()
        """Models whose languages the command line names."""
        self._summaries: dict[str, dict[str, str]] = {}
        self.steps: dict[tuple[str, str], Step] = {}
        for name in names:
            for step in self._steps(name):
                self.steps.setdefault((step.source, step.target), step)
        self.languages = sorted({code for pair in self.steps for code in pair})

    def route(self, source: str, target: str) -> tuple[Step, ...] | None:
        """Return the steps from one language to another: one, or two via a pivot language; none for equal languages."""
        if source == target:
            return ()
        if (source, target) in self.steps:
            return (self.steps[source, target],)
        between = (code for code in self.languages if (source, code) in self.steps and (code, target) in self.steps)
        middle = min(between, key=lambda code: (code != "en", code), default=None)
        return None if middle is None else (self.steps[source, middle], self.steps[middle, target])

    def levels(self, target: str) -> set[str]:
        """Return the speech levels of a language that some model knows."""
        return {level for step in self.steps.values() if step.target == target for level in step.levels}

    def targets(self, source: str) -> list[str]:
        return [target for target in self.languages if self.route(source, target) is not None]

    def sources(self, target: str) -> list[str]:
        """Return the languages that can be translated into a language, and the language itself last."""
        found = [source for source in self.languages if source != target and self.route(source, target)]
        return [*found, target]

    def summaries(self, name: str) -> dict[str, str]:
        """Return the first sentence of a model's card, which says what it is good for, in the card's languages."""
        return self._summaries.get(name, {})

    def loaded(self, name: str) -> Loaded:
        with self._lock:
            if name in self._loaded:
                self._loaded.move_to_end(name)
                return self._loaded[name]
        with self._reading:
            with self._lock:
                if name in self._loaded:
                    return self._loaded[name]
                self._make_room(self._bytes.get(name, 0))
            translator = load(name)
            needed = self._bytes.setdefault(name, _bytes(translator))
            if needed > self.most_bytes:
                raise UserError(
                    f"{name}: takes about {needed:,} bytes, but models may take {self.most_bytes:,}; "
                    f"allow more with --set memory_bytes={needed}"
                )
            with self._lock:
                self._make_room(needed)
                self._serial += 1
                self._loaded[name] = Loaded(translator, self._serial)
                self.metrics.loads.inc()
                self.metrics.models.set(len(self._loaded))
                return self._loaded[name]

    def reload(self) -> None:
        """Load every model in memory anew; running requests finish with the old one."""
        with self._reading:
            with self._lock:
                names = list(self._loaded)
            fresh = {name: load(name) for name in names}
            for name, translator in fresh.items():
                with self._lock:
                    served = {(step.source, step.target) for step in self.steps.values() if step.model == name}
                    if name not in self._named and not served <= set(_directions(translator)):
                        raise UserError(f"{name}: translates other languages than before; start the server again")
            with self._lock:
                for name, translator in fresh.items():
                    self._serial += 1
                    self._loaded[name] = Loaded(translator, self._serial)
                    self.metrics.loads.inc()

    def _make_room(self, needed: int) -> None:
        while self._loaded and sum(self._bytes[name] for name in self._loaded) + needed > self.most_bytes:
            self._loaded.popitem(last=False)
            self.metrics.models.set(len(self._loaded))

    def _steps(self, given: str) -> list[Step]:
        """Load a model and return its directions."""
        named = _NAMED.fullmatch(given)
        name = named[3] if named else given
        if named:
            self._named.add(name)
        translator = self.loaded(name).translator
        pairs = [(named[1].replace("_", "-"), named[2].replace("_", "-"))] if named else _directions(translator)
        if not pairs:
            raise UserError(f"{name}: does not say which languages it translates; say it, such as --model en-de={name}")
        self._summaries[name] = card_summaries(name)
        tagged = bool(translator.source_subwords.language_tags)
        steps = [
            Step(source, target, name, target if tagged else None, tuple(translator.levels(target)))
            for source, target in pairs
        ]
        for step in steps:
            translator.tag(step.tag)  # raises an error if there is no such tag
        return steps


def _directions(translator: Translator) -> list[tuple[str, str]]:
    """Return pairs of source and target languages; a model that does not write its source language reads only that."""
    usual, _ = translator.saved.languages
    known = [(source, target) for source, target in translator.directions if source is not None]
    both = any(target == usual for _, target in known)
    return [(source, target) for source, target in known if both or source == usual]


def _bytes(translator: Translator) -> int:
    """Return the memory of the engine's weights, plus those of the torch engine, which is loaded on demand."""
    return 2 * cost(translator.saved.config).weights_bytes
