"""Who does the searching: an engine takes token ids and gives hypotheses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from regard.config import DecodeConfig
from regard.decode.hypothesis import Hypothesis

if TYPE_CHECKING:  # these need torch, which an engine may do without
    from regard.decode.sampling import Sampling
    from regard.decode.tree_rule import TreeRule

Sequences = tuple[tuple[int, ...], ...]
BATCH_TOKENS = 2048  # source tokens, padding included: enough to keep two cores busy, and no more memory than that
LEAST_TOKENS = 128  # of a batch that is small only so that several workers have something to do
Progress = Callable[[int], None]
"""Told how many more sentences are done."""


@dataclass(frozen=True)
class Request:
    """What is asked of an engine."""

    decode: DecodeConfig
    n_best: int = 1
    sampling: "Sampling | None" = None
    """Draw n_best outputs instead of searching for the best."""
    banned: Sequences = ()
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


def batches(lengths: Sequence[int], batch_tokens: int, workers: int = 1) -> Iterator[list[int]]:
    """The numbers of sources in batches of similar lengths, the longest first; EOS and padding count as tokens.

    For several workers, a batch is at most half of a worker's share of what is left, so that all end at about the same
    time, and a few sentences are shared, too.
    """
    left = sum(lengths) + len(lengths)
    most = _most(left, batch_tokens, workers)
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > most:
            yield batch
            left -= sum(lengths[done] + 1 for done in batch)
            most = _most(left, batch_tokens, workers)
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _most(left: int, batch_tokens: int, workers: int) -> int:
    """How many tokens the next batch may have."""
    return batch_tokens if workers == 1 else min(batch_tokens, max(LEAST_TOKENS, left // (2 * workers)))
