"""Who does the searching: an engine takes token ids and gives hypotheses."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from regard.config.decode import DecodeConfig
from regard.search.hypothesis import Hypothesis, Sequences

if TYPE_CHECKING:  # these need torch, which an engine may do without
    from regard.search.banned import Banned
    from regard.search.sampling import Sampling
    from regard.search.tree_rule import TreeRule

BATCH_TOKENS = 2048  # source tokens, padding included: enough to keep two cores busy, and no more memory than that
LEAST_TOKENS = 128  # of a batch, however wide the beam and however many workers: fewer are no faster
Progress = Callable[[int], None]
"""Told how many more sentences are done."""


@dataclass(frozen=True)
class Request:
    """What is asked of an engine."""

    decode: DecodeConfig
    n_best: int = 1
    sampling: "Sampling | None" = None
    """Draw n_best outputs instead of searching for the best."""
    banned: "Banned | None" = None
    required: Sequences = ()
    """In every output."""
    no_repeat: int = 0
    prefix: tuple[int, ...] = ()
    """What every output begins with."""
    trees: "TreeRule | None" = None
    """Every output is a tree over the words of its source."""
    token_scores: bool = False
    """Exact scores, token by token; without it an engine may leave them out, and round the others."""
    batch_tokens: int | None = None
    """Source tokens computed at once, padding included; None for what suits the engine."""


def quiet(_: int) -> None:
    """Nobody is told."""


class Engine(Protocol):
    """Ids in, hypotheses out."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        """The n best hypotheses of each source, the best first. Sources are any number of ids without EOS."""


def batches(lengths: Sequence[int], batch_tokens: int, workers: int = 1) -> list[list[int]]:
    """The numbers of sources in batches of similar lengths, the longest first; EOS and padding count as tokens.

    Several workers get as many batches each, all about as large, so that they end at about the same time; a few
    sentences are one batch.
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
    """Where batches of at most so many tokens begin, padding included; tokens must descend."""
    starts, start = [], 0
    while start < len(tokens):
        starts.append(start)
        start += max(1, most // tokens[start])
    return starts
