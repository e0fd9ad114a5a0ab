"""The interface of an engine, which takes token ids and returns hypotheses."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from regard.config.decode import DecodeConfig, Decoding
from regard.search.hypothesis import Alternatives, Hypothesis, Sequences

if TYPE_CHECKING:  # these need torch, which not every engine needs
    from regard.saved.weights import Array
    from regard.search.banned import Banned
    from regard.search.sampling import Sampling
    from regard.search.tree_rule import TreeRule

BATCH_TOKENS = 2048  # source tokens, padding included: enough to keep two cores busy, with little memory
LEAST_TOKENS = 128  # least tokens of a batch, for any beam and any number of workers: fewer are no faster
Progress = Callable[[int], None]
"""Called with the number of further sentences that are done."""


@dataclass(frozen=True)
class Request:
    """A search request to an engine."""

    decode: DecodeConfig
    n_best: int = 1
    """Number of hypotheses to return for each source."""
    decoding: Decoding = "search"
    """Decoding method; only the reference engine has others than `search`."""
    iterations: int = 10
    """Number of passes of mask-predict."""
    sampling: "Sampling | None" = None
    """Draw n_best outputs instead of searching for the best."""
    banned: "Banned | None" = None
    """Words that may not occur in an output."""
    required: Sequences = ()
    """Token sequences that every output contains."""
    terms: tuple[Alternatives, ...] = ()
    """Further required sequences of each source's outputs: empty, one for each source, or one for all. A source that
    has no such output has no hypotheses."""
    no_repeat: int = 0
    """Length of the n-grams that may not occur twice; 0: no such constraint."""
    prefix: tuple[int, ...] = ()
    """Tokens that every output begins with."""
    prefixes: Sequences = ()
    """Tokens that the outputs of each source begin with instead of `prefix`: empty, or one for each source."""
    trees: "TreeRule | None" = None
    """Restrict every output to a tree over the words of its source."""
    unknown: bool = False
    """Allow UNK in outputs; the engine is then the reference."""
    token_scores: bool = False
    """Compute exact scores, token by token; otherwise an engine may omit them and round the other scores."""
    batch_tokens: int | None = None
    """Source tokens computed at once, padding included; None for the engine's default."""


def quiet(_: int) -> None:
    """Ignore the progress."""


class Engine(Protocol):
    """A search engine from token ids to hypotheses."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of each source, best first. A source has any number of ids, without EOS."""


@runtime_checkable
class Aligner(Engine, Protocol):
    """An engine that also returns attention weights, by which words are aligned."""

    def cross_attention(self, source: Sequence[int], target: Sequence[int], layer: int | None = None) -> "Array":
        """Return what regard.translate.alignment.cross_attention returns for the engine's model."""


@runtime_checkable
class ContinuousEngine(Engine, Protocol):
    """An engine that accepts the sentences of further calls, from any thread, while it searches."""

    def slots(self, request: Request) -> int:
        """Return how many sentences keep it busy; 0 if it searches such requests in batches."""


def of_batch(request: Request, batch: Sequence[int]) -> Request:
    """Return a request for the sources of a batch, with their prefixes and terms only."""
    if not request.terms and not request.prefixes:
        return request
    every = len(request.terms) > 1
    terms = [request.terms[number] for number in batch] if every else request.terms * len(batch)
    return replace(
        request, terms=tuple(terms), prefixes=tuple(request.prefixes[number] for number in batch if request.prefixes)
    )


def batches(lengths: Sequence[int], batch_tokens: int, workers: int = 1) -> list[list[int]]:
    """Return the indices of sources in batches of similar lengths, longest first; EOS and padding count as tokens.

    Several workers get equally many batches each, all of about the same size, so that they finish at about the same
    time; a few sentences are one batch.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    tokens = [lengths[number] + 1 for number in order]
    most = batch_tokens
    if workers > 1:
        count = workers * math.ceil(len(_starts(tokens, most)) / workers)
        sizes = range(min(LEAST_TOKENS, most), most)
        most = sizes.start + bisect_left(sizes, True, key=lambda size: len(_starts(tokens, size)) <= count)
    return [order[start:end] for start, end in pairwise([*_starts(tokens, most), len(order)])]


def _starts(tokens: Sequence[int], most: int) -> list[int]:
    """Return the starts of batches of at most `most` tokens, padding included; `tokens` must be descending."""
    starts, start = [], 0
    while start < len(tokens):
        starts.append(start)
        start += max(1, most // tokens[start])
    return starts
