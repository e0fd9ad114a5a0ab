"""The reference engine: any model that implements Seq2Seq, run by torch on any device.

Shapes: B sentences, S source positions, R rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

import torch
from torch import Tensor

from regard.config.special_tokens import EOS, PAD
from regard.engines.engine import BATCH_TOKENS, LEAST_TOKENS, Progress, Request, batches, of_batch, quiet
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.blockwise import blockwise_search
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis, requirements
from regard.search.mask_predict import mask_predict
from regard.search.required import required_search
from regard.search.sampling import sample
from regard.search.tree_rule import TreeRule

WIDEST = 8  # most rows per sentence for which batches are as large as with one
LOGITS = 1 << 25  # of all rows of a step, an eighth of a gigabyte: short sources would make many rows


class TorchEngine:
    """Search with any model that implements Seq2Seq, on the model's device."""

    def __init__(self, model: Seq2Seq, *, longest: int | None = None) -> None:
        self.model = model
        self.longest = longest
        """The most tokens that the model can write, if it has a limit."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sources]
        training = self.model.training
        if training:
            self.model.eval()
        try:
            for batch in self._batches(sources, request):
                chosen = [sources[number] for number in batch]
                trees = None if request.trees is None else request.trees.of(batch)
                own = of_batch(request, batch)
                for number, hypotheses in zip(batch, self._search(chosen, own, trees), strict=True):
                    found[number] = hypotheses
                progress(len(batch))
        finally:
            if training:  # validation runs between steps of training
                self.model.train()
        return found

    def _batches(self, sources: Sequence[Sequence[int]], request: Request) -> Iterator[list[int]]:
        """Yield the indices of sources to search together, limited by their tokens and by their rows."""
        rows = request.n_best if request.sampling is not None else request.decode.beam
        tokens = request.batch_tokens or max(LEAST_TOKENS, min(BATCH_TOKENS, WIDEST * BATCH_TOKENS // rows))
        most = max(1, LOGITS // (rows * self.model.vocabulary))
        for batch in batches([len(source) for source in sources], tokens):
            for first in range(0, len(batch), most):
                yield batch[first : first + most]

    def _search(self, sources: list[Sequence[int]], request: Request, trees: TreeRule | None) -> list[list[Hypothesis]]:
        device = next(self.model.parameters()).device
        source_BS = padded(sources, device)
        prefixes = request.prefixes or ((request.prefix,) * len(sources) if request.prefix else ())
        rules = Constraints(request.banned, request.no_repeat, prefixes, trees, request.unknown)
        config, longest = request.decode, self.longest
        if request.sampling is not None:
            assert trees is None, "trees are searched for, not drawn"
            return self._samples(sources, request, rules, device)
        if request.required or request.terms:
            required = requirements(request.required, request.terms or ((),) * len(sources))
            return required_search(
                self.model,
                source_BS,
                config,
                required,
                n_best=request.n_best,
                constraints=rules,
                longest=longest,
                partial=bool(request.terms),
            )
        if request.decoding == "mask-predict":
            return mask_predict(
                self.model, source_BS, config, request.iterations, n_best=request.n_best, longest=longest
            )
        if request.decoding == "blockwise":
            found = blockwise_search(
                self.model, source_BS, config, constraints=rules, longest=longest, scored=request.token_scores
            )
            return [[one] for one in found]
        if config.beam == 1:
            found = greedy_search(
                self.model, source_BS, config, constraints=rules, longest=longest, scored=request.token_scores
            )
            return [[one] for one in found]
        return beam_search(self.model, source_BS, config, n_best=request.n_best, constraints=rules, longest=longest)

    def _samples(
        self, sources: list[Sequence[int]], request: Request, rules: Constraints, device: torch.device
    ) -> list[list[Hypothesis]]:
        """Return n_best samples of each source, most probable first. Their seeds depend on the source alone."""
        assert request.sampling is not None
        N = request.n_best
        seeds = [_seed(request.sampling.seed, source, number) for source in sources for number in range(N)]
        source_RS = padded(sources, device).repeat_interleave(N, dim=0)
        rules = replace(rules, prefixes=tuple(prefix for prefix in rules.prefixes for _ in range(N)))
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


def padded(sources: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Tensor:
    """Return sources as rows of one tensor, each ended by EOS."""
    width = max(map(len, sources), default=0)
    return torch.tensor([[*source, EOS, *[PAD] * (width - len(source))] for source in sources], device=device)


def _seed(seed: int, source: Sequence[int], number: int) -> int:
    digest = blake2b(repr((seed, number, list(source))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
