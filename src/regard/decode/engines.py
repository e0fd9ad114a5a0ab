"""Who does the searching: an engine takes token ids and gives hypotheses. The torch engine is the reference.

Shapes: B sentences, S source positions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import torch
from torch import Tensor

from regard.config import EOS, PAD, DecodeConfig
from regard.decode.beam import beam_search
from regard.decode.constraints import Constraints
from regard.decode.greedy import greedy_search
from regard.decode.hypothesis import Hypothesis
from regard.decode.required import Sequences, required_search
from regard.decode.sampling import Sampling, sample
from regard.model.seq2seq import Seq2Seq

BATCH_TOKENS = 2048  # source tokens, padding included: enough to keep two cores busy, and no more memory than that
LEAST_TOKENS = 128  # of a batch that is small only so that several workers have something to do
Progress = Callable[[int], None]
"""Told how many more sentences are done."""


@dataclass(frozen=True)
class Request:
    """What is asked of an engine."""

    decode: DecodeConfig
    n_best: int = 1
    sampling: Sampling | None = None
    """Draw n_best outputs instead of searching for the best."""
    banned: Sequences = ()
    required: Sequences = ()
    """In every output."""
    no_repeat: int = 0
    prefix: tuple[int, ...] = ()
    """What every output begins with."""
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


class TorchEngine:
    """Any model that keeps the contract, on the device it is on."""

    def __init__(self, model: Seq2Seq, *, longest: int | None = None) -> None:
        self.model = model
        self.longest = longest
        """The most tokens that the model can write, if it has a limit."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sources]
        training = self.model.training
        self.model.eval()
        try:
            for batch in batches([len(source) for source in sources], request.batch_tokens or BATCH_TOKENS):
                chosen = [sources[number] for number in batch]
                for number, hypotheses in zip(batch, self._search(chosen, request), strict=True):
                    found[number] = hypotheses
                progress(len(batch))
        finally:
            self.model.train(training)  # validation comes between steps of training
        return found

    def _search(self, sources: list[Sequence[int]], request: Request) -> list[list[Hypothesis]]:
        device = next(self.model.parameters()).device
        source_BS = padded(sources, device)
        prefixes = (request.prefix,) * len(sources) if request.prefix else ()
        rules = Constraints(request.banned, request.no_repeat, prefixes)
        config, longest = request.decode, self.longest
        if request.sampling is not None:
            return self._samples(sources, request, rules, device)
        if request.required:
            required = [request.required] * len(sources)
            return required_search(
                self.model, source_BS, config, required, n_best=request.n_best, constraints=rules, longest=longest
            )
        if config.beam == 1:
            return [[one] for one in greedy_search(self.model, source_BS, config, constraints=rules, longest=longest)]
        return beam_search(self.model, source_BS, config, n_best=request.n_best, constraints=rules, longest=longest)

    def _samples(
        self, sources: list[Sequence[int]], request: Request, rules: Constraints, device: torch.device
    ) -> list[list[Hypothesis]]:
        """n_best drawn outputs of each source, the most probable first. A seed depends on its source alone."""
        assert request.sampling is not None
        N = request.n_best
        seeds = [_seed(request.sampling.seed, source, number) for source in sources for number in range(N)]
        source_RS = padded(sources, device).repeat_interleave(N, dim=0)
        rules = Constraints(rules.banned, rules.no_repeat, tuple(prefix for prefix in rules.prefixes for _ in range(N)))
        drawn = sample(
            self.model,
            source_RS,
            request.decode,
            request.sampling,
            seeds=seeds,
            constraints=rules,
            longest=self.longest,
        )
        return [
            sorted(drawn[start : start + N], key=lambda hypothesis: -hypothesis.score)
            for start in range(0, len(drawn), N)
        ]


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


def padded(sources: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Tensor:
    """Sources as rows of one tensor, each ended by EOS."""
    width = max(map(len, sources), default=0)
    return torch.tensor([[*source, EOS, *[PAD] * (width - len(source))] for source in sources], device=device)


def _seed(seed: int, source: Sequence[int], number: int) -> int:
    digest = blake2b(repr((seed, number, list(source))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
