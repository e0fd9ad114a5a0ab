"""A beam search as a tree: every hypothesis that it kept, the parent of each, and which of them finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.search.beam import Candidates
from regard.search.length_penalty import normalised


@dataclass(frozen=True)
class Branch:
    """A node of the tree: a hypothesis, represented by its last token."""

    parent: int | None
    """Index of the branch that it extends, in the list of all branches; None for the first token."""
    step: int
    """Number of its tokens, from 1."""
    token: int
    """EOS for a finished hypothesis."""
    token_score: float
    """The log probability of the token."""
    log_probability: float
    """Sum over all its tokens."""
    score: float
    """The log probability divided by the length penalty, by which finished hypotheses are ranked."""


class SearchTree:
    """Record the beam search of one sentence. Branches are ordered by step and, within a step, best first."""

    def __init__(self, config: DecodeConfig) -> None:
        self.config = config
        self.branches: list[Branch] = []
        self._open: list[int] = []
        """The branches that the next step extends, in the order of its parents."""
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
