"""What a search finds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, PAD, UNK
from regard.search.length_penalty import normalised

Sequences = tuple[tuple[int, ...], ...]  # of token ids
NO_NUMBERS = "the model's scores are not numbers, so there is no best output; were its weights damaged?"
NEVER = (PAD, UNK, BOS)  # tokens that no output holds: the first two mean nothing, the third is only at the start


@dataclass(frozen=True)
class Hypothesis:
    """An output that a model proposes, with what the model thinks of it."""

    tokens: tuple[int, ...]
    """Without BOS and EOS."""
    score: float
    """The log probability divided by the length penalty: what hypotheses are ranked by.

    NaN from a greedy search that need not compute it, unless it was asked for (Request.token_scores).
    """
    log_probability: float
    """Of the tokens and of EOS after them, given the source; NaN where the score is."""
    token_scores: tuple[float, ...]
    """The log probability of each token, and last that of EOS: one more than there are tokens.

    None at all from an engine that computes them only on request (Request.token_scores).
    """


def finished(tokens: list[int], token_scores: list[float], log_probability: float, config: DecodeConfig) -> Hypothesis:
    """A hypothesis from its tokens, the last of which is EOS."""
    assert len(tokens) == len(token_scores)
    score = normalised(log_probability, len(tokens), config.alpha, config.penalty)
    return Hypothesis(tuple(tokens[:-1]), score, log_probability, tuple(token_scores))


def unscored(tokens: Iterable[int]) -> Hypothesis:
    """A hypothesis of which only the tokens are known; EOS is not among them."""
    return Hypothesis(tuple(tokens), math.nan, math.nan, ())
