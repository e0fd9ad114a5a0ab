"""A beam search as a tree: every hypothesis that it kept, what each one continued, and which of them ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.search.beam import Candidates
from regard.search.length_penalty import normalised


@dataclass(frozen=True)
class Branch:
    """A hypothesis, as the last of its tokens."""

    parent: int | None
    """The number, in the list of all branches, of the one that it continues; None for the first token."""
    step: int
    """How many tokens it has, from 1."""
    token: int
    """EOS if it is finished."""
    token_score: float
    """The log probability of the token."""
    log_probability: float
    """Of all its tokens."""
    score: float
    """The log probability divided by the length penalty: what finished hypotheses are ranked by."""


class Tree:
    """Watches the beam search of one sentence. Branches are in order of steps; of a step, the best first."""

    def __init__(self, config: DecodeConfig) -> None:
        self.config = config
        self.branches: list[Branch] = []
        self._open: list[int] = []
        """The branches that the next step continues, in the order of its parents."""
        self._step = 0

    def __call__(self, _: Sequence[int], candidates: Candidates) -> None:
        self._step += 1
        before, self._open = self._open, []
        parts = (candidates.total_BC, candidates.parent_BC, candidates.token_BC, candidates.score_BC)
        for rank, (total, parent, token, token_score) in enumerate(zip(*(p[0].tolist() for p in parts), strict=True)):
            finished = token == EOS
            kept = rank < self.config.beam if finished else len(self._open) < self.config.beam
            if total == -inf or not kept:
                continue
            if not finished:
                self._open.append(len(self.branches))
            score = normalised(total, self._step, self.config.alpha, self.config.penalty)
            above = before[parent] if before else None
            self.branches.append(Branch(above, self._step, token, token_score, total, score))
