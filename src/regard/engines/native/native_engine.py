"""The native engine for CPUs: C++ (source/), with the same search as the reference engine.

It returns the same outputs as the reference, token for token: candidates, ranking and limits are the same. Sampling,
trees and banned words are delegated to the reference, as is a sentence that reaches the end of the position table.

Shapes: T target positions, S source positions.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config.model import TransformerConfig
from regard.config.special_tokens import EOS
from regard.cores import available_cores
from regard.engines.engine import Engine, Progress, Request, of_batch, quiet
from regard.engines.native import library
from regard.engines.native.library import MESSAGE, Found, Rules, SearchOptions, Tensor
from regard.engines.native.pack import packed_config, packed_tensors, positions
from regard.errors import Failed, UserError
from regard.saved.weights import Array
from regard.search.hypothesis import (
    NO_NUMBERS,
    NONE_HOLDS,
    Alternatives,
    Hypothesis,
    requirements,
    unscored,
    weight,
)

ROWS = 64  # kRows of source/search/worker.h: hypotheses that a thread extends together
WAITING = 1.5  # sentences in the engine per row: some wait, so that no row is idle
WIDEST = 64  # the widest beam that it supports
LEAST_BLOCKED = 3  # shortest n-grams to block; shorter ones could ban more tokens than a row keeps choices
WIDEST_BLOCKED = 32  # the widest beam with repetition blocked: half of the choices are for banned tokens
MOST_BANKS = 64  # kMostBanks of source/search/required.h: required tokens of a sentence, and one
BATCH_TOKENS = 512  # source tokens that are encoded together
LONGEST = (1 << 31) - 1
PENALTIES = {"paper": 0, "average": 1}


class NativeEngine:
    """A model in the native engine, with as many threads as there are cores."""

    def __init__(
        self,
        config: TransformerConfig,
        weights: Mapping[str, Array],
        *,
        int8: bool,
        reference: Callable[[], Engine] | None = None,
        threads: int | None = None,
        isa: str | None = None,
    ) -> None:
        self.library = library.library()
        self.isa = isa or library.isa()
        self.config, self.int8 = config, int8
        self.positions = positions(config)
        self.reference = reference
        """Engine for requests that the native engine does not support."""
        self.threads = threads or available_cores()
        self.engine = self._create(packed_tensors(config, weights), int8, self.threads)

    def __del__(self) -> None:
        if getattr(self, "engine", None):
            self.library.regard_native_free(self.engine)

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        if self._unsupported(request):
            return self._refer(sources, request, progress)
        readable = [number for number, source in enumerate(sources) if len(source) < self.positions]
        found: list[list[Hypothesis] | None] = [None] * len(sources)
        answers = self._search([sources[number] for number in readable], of_batch(request, readable), progress)
        for number, hypotheses in zip(readable, answers, strict=True):
            found[number] = hypotheses
        rest = [number for number, hypotheses in enumerate(found) if hypotheses is None]
        for number, hypotheses in zip(
            rest, self._refer([sources[number] for number in rest], of_batch(request, rest), progress), strict=True
        ):
            found[number] = hypotheses
        return [hypotheses for hypotheses in found if hypotheses is not None]

    def slots(self, request: Request) -> int:
        """Return how many sentences keep all rows busy: some wait, so that a row that is free is refilled at once."""
        return 0 if self._unsupported(request) else self.threads * math.ceil(WAITING * ROWS / request.decode.beam)

    def cross_attention(self, source: Sequence[int], target: Sequence[int], layer: int | None = None) -> Array:
        """Return the cross-attention weights of each target token over the source tokens and EOS: T, S + 1.

        As in regard.translate.alignment.cross_attention: the mean of the heads, by default of the last layer but one.
        """
        layers = self.config.decoder_layers
        chosen = max(0, layers - 2) if layer is None else range(layers)[layer]
        read, written = _ids([*source, EOS]), _ids(target)
        out_TS = np.empty((len(target), len(source) + 1), np.float32)
        message = ctypes.create_string_buffer(MESSAGE)
        done = self.library.regard_native_attention(
            *(self.engine, read.ctypes.data, len(read), written.ctypes.data, len(written), chosen),
            *(out_TS.ctypes.data, message, MESSAGE),
        )
        if not done:
            raise UserError(f"the native engine can't align this text: {message.value.decode()}; use --engine torch")
        return out_TS

    def _unsupported(self, request: Request) -> bool:
        """Return whether the request needs the reference."""
        longest = max(map(len, (request.prefix, *request.prefixes)))
        required = requirements(request.required, request.terms or ((),))
        return (
            request.sampling is not None
            or request.decoding != "search"
            or request.unknown
            or bool(request.banned or request.trees)
            or request.decode.beam > WIDEST
            or (request.no_repeat > 0 and request.decode.beam > WIDEST_BLOCKED)
            or 0 < request.no_repeat < LEAST_BLOCKED
            or request.decode.beta > 0
            or longest >= self.positions
            or any(sum(map(weight, own)) >= MOST_BANKS for own in required)
        )

    def _create(self, tensors: Sequence[Array], int8: bool, threads: int) -> int:
        rows = [(1, *tensor.shape)[-2:] for tensor in tensors]
        given = (Tensor * len(tensors))(
            *(Tensor(tensor.ctypes.data, *shape) for tensor, shape in zip(tensors, rows, strict=True))
        )
        message = ctypes.create_string_buffer(MESSAGE)
        engine: int | None = self.library.regard_native_create(
            *(packed_config(self.config, int8=int8), given, len(tensors), self.isa.encode(), threads),
            *(message, MESSAGE),
        )
        if engine is None:
            raise UserError(f"the native engine can't load the model: {message.value.decode()}; use --engine torch")
        return engine

    def _search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress
    ) -> list[list[Hypothesis] | None]:
        """Return the hypotheses of each source; None where one reached the last position."""
        if not sources:
            return []
        lengths = np.array([len(source) + 1 for source in sources], np.int64)
        ids = _ids([token for source in sources for token in (*source, EOS)])
        rules = _Rules(request, len(sources))
        message = ctypes.create_string_buffer(MESSAGE)
        report = _Report(progress)
        found = self.library.regard_native_search(
            *(self.engine, ids.ctypes.data, lengths.ctypes.data, len(sources), rules.given, _options(request)),
            *(report.callback, message, MESSAGE),
        )
        if report.error is not None:
            if found:
                self.library.regard_native_free_found(found)
            raise report.error
        if not found:
            if b"memory" in message.value:
                raise MemoryError(message.value.decode())
            raise UserError(f"the native engine can't search: {message.value.decode()}; use --engine torch")
        try:
            answers = _hypotheses(found.contents, scored=_scored(request) or request.decode.beam > 1)
        finally:
            self.library.regard_native_free_found(found)
        if not request.terms and not all(answer is None or answer for answer in answers):
            raise UserError(NONE_HOLDS) if request.required else Failed(NO_NUMBERS)
        progress(sum(answer is not None for answer in answers) - report.told)
        return answers

    def _refer(self, sources: Sequence[Sequence[int]], request: Request, progress: Progress) -> list[list[Hypothesis]]:
        if not sources:
            return []
        if self.reference is None:
            raise UserError("this needs the reference engine; use --engine torch")
        return self.reference().search(sources, request, progress)


class _Rules:
    """The prefixes and required tokens of each source, as the library reads them; they live as long as this object."""

    def __init__(self, request: Request, sources: int) -> None:
        self.given: ctypes.Array[Rules] | None = None
        if not (request.prefix or request.prefixes or request.required or request.terms):
            return
        prefixes = request.prefixes or (request.prefix,) * sources
        required = requirements(request.required, request.terms or ((),) * sources)
        self._prefixes, self._required = list(map(_ids, prefixes)), [_ids(_flat(own)) for own in required]
        self.given = (Rules * sources)(
            *(
                Rules(prefix.ctypes.data, own.ctypes.data, len(prefix), len(own))
                for prefix, own in zip(self._prefixes, self._required, strict=True)
            )
        )


def _flat(required: Alternatives) -> list[int]:
    """Return requirements as RegardRules has them."""
    flat: list[int] = []
    for choice in required:
        flat.append(len(choice))
        for sequence in choice:
            flat += (len(sequence), *sequence)
    return flat


class _Report:
    """Report the progress to Python; an exception raised there, such as KeyboardInterrupt, ends the search."""

    def __init__(self, progress: Progress) -> None:
        self.error: BaseException | None = None
        self.told = 0

        def tell(more: int) -> int:
            try:
                progress(more)
            except BaseException as error:  # it can't pass through C, so it is raised again afterwards
                self.error = error
                return 0
            self.told += more
            return 1

        self.callback = library.Progress(tell)


def _ids(tokens: Sequence[int]) -> NDArray[np.int32]:
    return np.array(tokens, np.int32)


def _scored(request: Request) -> bool:
    return request.token_scores or bool(request.required or request.terms)


def _options(request: Request) -> SearchOptions:
    decode = request.decode
    return SearchOptions(
        beam=decode.beam,
        n_best=request.n_best,
        extra_length=min(decode.extra_length, LONGEST),
        penalty=PENALTIES[decode.penalty],
        scored=_scored(request),
        batch_tokens=min(request.batch_tokens or BATCH_TOKENS, LONGEST),
        alpha=decode.alpha,
        no_repeat=request.no_repeat,
    )


def _hypotheses(found: Found, *, scored: bool) -> list[list[Hypothesis] | None]:
    """Convert the library's result to hypotheses."""

    def listed(pointer: Any, count: int) -> list[Any]:
        return np.ctypeslib.as_array(pointer, (count,)).tolist() if count else []

    counts, lengths = listed(found.counts, found.sources), listed(found.lengths, found.hypotheses)
    ids, logs = listed(found.ids, found.tokens), listed(found.token_scores, found.tokens + found.hypotheses)
    scores = listed(found.scores, found.hypotheses)
    totals = listed(found.log_probabilities, found.hypotheses)
    every, at = [], 0
    for number, length in enumerate(lengths):
        tokens = ids[at : at + length]
        if scored:
            each = tuple(logs[at + number : at + number + length + 1])
            every.append(Hypothesis(tuple(tokens), scores[number], totals[number], each))
        else:
            every.append(unscored(tokens))
        at += length
    answers: list[list[Hypothesis] | None] = []
    at = 0
    for count in counts:
        answers.append(None if count < 0 else every[at : at + count])
        at += max(0, count)
    return answers
