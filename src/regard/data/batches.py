"""Batches of prepared pairs: similar lengths together, a fresh order each epoch, and no state.

Which pairs come in which batch is a pure function of the corpora, batch_tokens, the seed and a Position. So a run
resumes at the exact batch, and any number of processes divide the same stream. Planning reads lengths only; token ids
are read when a batch is built, by the process that owns it.

An epoch is cut into windows of at most about a million pairs, so that memory use does not depend on the size of the
corpora. A window holds the same share of every corpus. Its pairs are laid out by length (layout.py), cut into batches,
and the batches shuffled.

Shapes: B pairs of a batch, S source positions, T target positions, L either of these, N pairs of a window.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config.special_tokens import BOS, EOS, PAD
from regard.data.layout import Integers, lay_out
from regard.errors import UserError

WINDOW = 1 << 20
BLOCK = 256

Ids = NDArray[np.integer[Any]]


class PairStore(Protocol):
    """The interface of a prepared corpus that batches use: regard.data.prepared.Split."""

    @property
    def weight(self) -> float: ...
    def __len__(self) -> int: ...
    def lengths(self, indices: Integers, /) -> tuple[Ids, Ids]: ...
    def pair(self, index: int, /) -> tuple[Ids, Ids]: ...


Redraw = Callable[["Position", int, Ids, Ids], tuple[Sequence[int], Sequence[int]]]
"""redraw(position, row, source, target): what to train on instead of a pair, a pure function of its arguments."""


class Position(NamedTuple):
    """A position in the endless stream, each part counted from 0. A checkpoint stores it."""

    epoch: int = 0
    window: int = 0
    batch: int = 0


START = Position()


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The pairs of a batch, before any of their tokens is read. Lengths are without BOS and EOS."""

    position: Position
    after: Position
    corpus_B: Integers
    index_B: Integers
    source_B: Integers
    target_B: Integers

    @property
    def source_tokens(self) -> int:
        """Return the number of real source tokens, each sentence's EOS among them."""
        return int(self.source_B.sum()) + len(self.source_B)

    @property
    def target_tokens(self) -> int:
        """Return the number of tokens that the model has to predict: those of the target, and each sentence's EOS."""
        return int(self.target_B.sum()) + len(self.target_B)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs as tensors, padded on the right.

    Training feeds the decoder target_BT[:, :-1] and expects target_BT[:, 1:].
    """

    plan: BatchPlan
    source_BS: Tensor
    """Ids and EOS."""
    target_BT: Tensor
    """BOS, ids and EOS."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the corpus and the index of each row, for the log."""
        return list(zip(self.plan.corpus_B.tolist(), self.plan.index_B.tolist(), strict=True))

    def parts(self, count: int) -> list[tuple[Tensor, Tensor]]:
        """Split the batch into `count` parts, or fewer if it has few pairs, of similar size, shorter targets first.

        Each part has tensors of its own, padded to the longest of its own texts only.
        """
        order_B = np.argsort(self.plan.target_B, kind="stable")
        tokens_B = np.cumsum((self.plan.source_B + self.plan.target_B + 2)[order_B])
        cuts = np.searchsorted(tokens_B, tokens_B[-1] * np.arange(1, count) / count, side="right")
        edges = np.unique([0, *cuts, len(order_B)])
        return [self._of(order_B[first:end]) for first, end in pairwise(edges.tolist())]

    def _of(self, rows_B: Integers) -> tuple[Tensor, Tensor]:
        source, target = (int(lengths_B[rows_B].max()) for lengths_B in (self.plan.source_B, self.plan.target_B))
        rows = torch.from_numpy(rows_B)
        return self.source_BS[rows, : source + 1], self.target_BT[rows, : target + 2]


@dataclass(frozen=True, slots=True)
class StepBatches:
    """One process's share of one update of the weights. The token counts are those of all processes together."""

    batches: tuple[Batch, ...]
    position: Position
    after: Position
    """The position at which the next step begins."""
    source_tokens: int
    target_tokens: int


class TooLong(NamedTuple):
    """The number of pairs of a corpus that are longer than a limit."""

    pairs: int
    longest: int
    """Tokens of the longest text of the corpus, EOS counted."""


def too_long(split: PairStore, limit: int, *, window: int = WINDOW) -> TooLong:
    """Count the pairs with a text of more than `limit` tokens, EOS counted."""
    pairs = longest = 0
    for first in range(0, len(split), window):
        longest_N = _longest(*split.lengths(np.arange(first, min(first + window, len(split)))))
        pairs += int(np.count_nonzero(longest_N > limit))
        longest = max(longest, int(longest_N.max()))
    return TooLong(pairs, longest)


def _longest(source_N: Ids, target_N: Ids) -> Integers:
    """Return the tokens of the longer text of each pair, EOS counted."""
    return np.maximum(source_N, target_N).astype(np.int64) + 1


class Batches:
    """The endless stream of training batches.

    A batch has rows × longest source <= batch_tokens and rows × longest target <= batch_tokens, EOS counted in both.
    Pairs with a text of more tokens than that, or than `longest`, are left out: `too_long` counts them by corpus.

    A corpus of weight w and n pairs is traversed again and again, each time in another order, and epoch e takes the
    visits from round(e·w·n) to round((e+1)·w·n). So weight 1 gives each pair exactly once an epoch, 2 exactly twice,
    0.5 half of them and then the other half; the visits of any two pairs never differ by more than one.

    A corpus larger than a window is shuffled by blocks of consecutive pairs, so that reading a window touches that
    window's share of the disk and not a page for each pair.

    `redraw` changes pairs when they are read (redraw.py). Batches are laid out by the usual lengths, so they then may
    have more than batch_tokens. Every process redraws the batches of all, since the gradient is divided by the number
    of all tokens.
    """

    def __init__(
        self,
        splits: Sequence[PairStore],
        *,
        batch_tokens: int,
        seed: int,
        longest: int | None = None,
        window: int = WINDOW,
        block: int = BLOCK,
        redraw: Redraw | None = None,
    ) -> None:
        assert batch_tokens > 0 and window > 0 and block > 0
        if sum(split.weight * len(split) for split in splits) < 1:
            raise UserError("the corpora hold no pair for an epoch to visit; add pairs or raise their weights")
        self.limit = batch_tokens if longest is None else min(batch_tokens, longest)
        self.too_long = tuple(too_long(split, self.limit, window=window) for split in splits)
        if sum(found.pairs for found in self.too_long) == sum(map(len, splits)):
            shortest = min(_shortest(split, window) for split in splits if len(split))
            raise UserError(
                f"all {sum(map(len, splits)):,} training pairs have a text of {shortest} or more tokens, which don't "
                f"fit into a batch of {batch_tokens} or the model's max_length; make these larger, or prepare the data "
                "with a smaller max_characters"
            )
        self.splits = tuple(splits)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.window = window
        self.block = block
        self.redraw = redraw

    def steps(self, start: Position = START, *, group: int = 1, rank: int = 0, world: int = 1) -> Iterator[StepBatches]:
        """Yield, from `start`, the share of process `rank` of `world` in each step.

        One step consumes `group` consecutive batches of the stream, also across the end of an epoch. Process r builds
        those at r, r + world, …: with a group that `world` does not divide some processes get one batch fewer.
        """
        assert group > 0 and 0 <= rank < world
        plans = self.plans(start)
        while True:
            chosen = list(islice(plans, group))
            if self.redraw is None:
                batches = tuple(self.build(plan) for plan in chosen[rank::world])
            else:
                drawn = [self.build(plan) for plan in chosen]
                chosen, batches = [batch.plan for batch in drawn], tuple(drawn[rank::world])
            yield StepBatches(
                batches=batches,
                position=chosen[0].position,
                after=chosen[-1].after,
                source_tokens=sum(plan.source_tokens for plan in chosen),
                target_tokens=sum(plan.target_tokens for plan in chosen),
            )

    def plans(self, start: Position = START) -> Iterator[BatchPlan]:
        """Yield the stream from `start` on, the same for every process. Starting anywhere costs planning one window."""
        epoch, window, batch = start
        if window > 0 and window >= self._windows(epoch):
            raise _foreign(start)
        while True:
            for number in range(window, self._windows(epoch)):
                yield from self._window(epoch, number, batch)
                batch = 0
            epoch, window, batch = epoch + 1, 0, 0

    def build(self, plan: BatchPlan) -> Batch:
        """Read the tokens of a plan; with `redraw`, the batch's own plan has the lengths of what was drawn."""
        return _read(self.splits, plan, self.redraw)

    def _visits(self, corpus: int, epoch: int) -> tuple[int, int]:
        """Return the first visit of a corpus in an epoch, and the first after it."""
        split = self.splits[corpus]
        first, end = (math.floor(number * split.weight * len(split) + 0.5) for number in (epoch, epoch + 1))
        return first, end

    def _windows(self, epoch: int) -> int:
        visits = (self._visits(corpus, epoch) for corpus in range(len(self.splits)))
        return -(-sum(end - first for first, end in visits) // self.window)

    def _window(self, epoch: int, window: int, start: int) -> Iterator[BatchPlan]:
        """Yield the plans of one window from batch `start` on."""
        windows = self._windows(epoch)
        parts = []
        for corpus, split in enumerate(self.splits):
            first, end = self._visits(corpus, epoch)
            low, high = (first + (end - first) * number // windows for number in (window, window + 1))
            parts.append(self._visited(corpus, len(split), low, high))
        corpus_N = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        index_N = np.concatenate(parts)
        lengths = [split.lengths(part) for split, part in zip(self.splits, parts, strict=True)]
        source_N, target_N = (np.concatenate([pair[side] for pair in lengths]).astype(np.int64) for side in (0, 1))

        kept_N = _longest(source_N, target_N) <= self.limit
        corpus_N, index_N, source_N, target_N = (
            values_N[kept_N] for values_N in (corpus_N, index_N, source_N, target_N)
        )

        random = self._random(0, epoch, window)
        order_N, bounds = lay_out(source_N, target_N, self.batch_tokens, random)
        columns = [values_N[order_N] for values_N in (corpus_N, index_N, source_N, target_N)]
        shuffled = random.permutation(len(bounds) - 1)
        if start > 0 and start >= len(shuffled):
            raise _foreign(Position(epoch, window, start))
        last = Position(epoch, window + 1) if window + 1 < windows else Position(epoch + 1)
        for batch in range(start, len(shuffled)):
            after = Position(epoch, window, batch + 1) if batch + 1 < len(shuffled) else last
            rows = slice(bounds[shuffled[batch]], bounds[shuffled[batch] + 1])
            yield BatchPlan(Position(epoch, window, batch), after, *(values_N[rows] for values_N in columns))

    def _visited(self, corpus: int, size: int, low: int, high: int) -> Integers:
        """Return the pairs of a corpus at visits low to high; visit v is number v % size of pass v // size."""
        # A corpus within a window is read as a whole anyway, so its pairs are shuffled one by one.
        block = self.block if size > self.window else 1
        pieces = [np.empty(0, dtype=np.int64)]
        for number in range(low // size, -(-high // size)) if high > low else ():
            order = self._random(1, corpus, number).permutation(-(-size // block))
            ends = np.cumsum(np.minimum(block, size - order * block))
            begin, end = max(low - number * size, 0), min(high - number * size, size)
            left, right = np.searchsorted(ends, (begin, end - 1), side="right")
            indices = (order[left : right + 1, None] * block + np.arange(block)).ravel()
            before = int(ends[left - 1]) if left else 0
            pieces.append(indices[indices < size][begin - before : end - before])
        return np.concatenate(pieces)

    def _random(self, *key: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))


def evaluation_batches(
    split: PairStore,
    batch_tokens: int,
    *,
    longest: int | None = None,
    window: int = WINDOW,
    redraw: Redraw | None = None,
) -> Iterator[Batch]:
    """Yield every pair of a split exactly once, similar lengths together, in a fixed order (see `plan.index_B`).

    A pair longer than batch_tokens is a batch by itself. One with a text of more than `longest` tokens, EOS counted, is
    left out: the model could not read it.
    """
    for number, first in enumerate(range(0, len(split), window)):
        index_N = np.arange(first, min(first + window, len(split)))
        source_N, target_N = (lengths_N.astype(np.int64) for lengths_N in split.lengths(index_N))
        if longest is not None:
            kept_N = _longest(source_N, target_N) <= longest
            index_N, source_N, target_N = index_N[kept_N], source_N[kept_N], target_N[kept_N]
        order_N, bounds = lay_out(source_N, target_N, batch_tokens, np.random.default_rng(0))
        for batch, (begin, end) in enumerate(pairwise(bounds)):
            rows_B = order_N[begin:end]
            columns = (np.zeros_like(rows_B), index_N[rows_B], source_N[rows_B], target_N[rows_B])
            plan = BatchPlan(Position(0, number, batch), Position(0, number, batch + 1), *columns)
            yield _read((split,), plan, redraw)


def _foreign(position: Position) -> UserError:
    return UserError(
        f"{position} does not exist in this data; resume with the data, weights and batch_tokens of the run"
    )


def _shortest(split: PairStore, window: int) -> int:
    """Return the tokens, EOS counted, of the longer text of the shortest pair."""
    parts = (np.arange(first, min(first + window, len(split))) for first in range(0, len(split), window))
    return min(int(_longest(*split.lengths(part)).min()) for part in parts)


def _read(splits: Sequence[PairStore], plan: BatchPlan, redraw: Redraw | None) -> Batch:
    rows = [
        splits[corpus].pair(index) for corpus, index in zip(plan.corpus_B.tolist(), plan.index_B.tolist(), strict=True)
    ]
    if redraw is not None:
        drawn = [redraw(plan.position, row, *pair) for row, pair in enumerate(rows)]
        rows = [(np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)) for source, target in drawn]
        source_B, target_B = (np.array([len(pair[side]) for pair in rows], dtype=np.int64) for side in (0, 1))
        plan = replace(plan, source_B=source_B, target_B=target_B)
    source_BS = _pad([source for source, _ in rows], plan.source_B, [])
    target_BT = _pad([target for _, target in rows], plan.target_B, [BOS])
    return Batch(plan, source_BS, target_BT)


def _pad(rows: list[Ids], lengths_B: Integers, begin: list[int]) -> Tensor:
    """Return rows of ids between `begin` and EOS, padded with PAD."""
    end_B = lengths_B + len(begin)
    ids_BL = np.full((len(rows), int(end_B.max()) + 1), PAD, dtype=np.int64)
    columns = np.arange(ids_BL.shape[1])
    # One assignment for all rows: a loop over rows costs more than all the rest.
    ids_BL[(columns >= len(begin)) & (columns < end_B[:, None])] = np.concatenate(rows)
    ids_BL[:, : len(begin)] = begin
    ids_BL[np.arange(len(rows)), end_B] = EOS
    return torch.from_numpy(ids_BL)
