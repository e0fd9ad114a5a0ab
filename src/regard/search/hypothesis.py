"""The result of a search."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, PAD, UNK
from regard.search.length_penalty import normalised

Sequences = tuple[tuple[int, ...], ...]  # of token ids
Alternatives = tuple[Sequences, ...]  # of each requirement, the sequences that meet it
NO_NUMBERS = "the model's scores are not numbers, so there is no best output; were its weights damaged?"
NONE_HOLDS = "no output can hold all that is required of it; require less, or ban less"
OPEN = 32  # hypotheses of a sentence in all banks of a search for required tokens; kOpen of the native engine
NEVER = (PAD, UNK, BOS)  # tokens never in an output: the first two mean nothing, the third is only at the start


@dataclass(frozen=True)
class Hypothesis:
    """An output of a model, with its scores."""

    tokens: tuple[int, ...]
    """Token ids, without BOS and EOS."""
    score: float
    """The log probability divided by the length penalty, by which hypotheses are ranked.

    NaN from a greedy search, unless scores were requested (Request.token_scores).
    """
    log_probability: float
    """Log probability of the tokens and of the final EOS, given the source; NaN where the score is."""
    token_scores: tuple[float, ...]
    """The log probability of each token, and last that of EOS: one more than there are tokens.

    Empty from an engine that computes them only on request (Request.token_scores).
    """
    steps: tuple[int, ...] = ()
    """The sequential step, from 1, that wrote each token, and last EOS.

    Empty from a search that writes one token a step, and so has as many steps as tokens.
    """


def finished(tokens: list[int], token_scores: list[float], log_probability: float, config: DecodeConfig) -> Hypothesis:
    """Return a hypothesis from its tokens, the last of which is EOS."""
    assert len(tokens) == len(token_scores)
    score = normalised(log_probability, len(tokens), config.alpha, config.penalty)
    return Hypothesis(tuple(tokens[:-1]), score, log_probability, tuple(token_scores))


def requirements(always: Sequences, own: Sequence[Alternatives]) -> list[Alternatives]:
    """Return the requirements of each source: those of all sources, then its own, without duplicates."""
    return [tuple(dict.fromkeys((*((sequence,) for sequence in always), *choices))) for choices in own]


def weight(choice: Sequences) -> int:
    """Return the number of tokens that a requirement counts: those of its longest sequence."""
    return max(map(len, choice))


def unscored(tokens: Iterable[int]) -> Hypothesis:
    """Return a hypothesis from its tokens alone, without EOS and without scores."""
    return Hypothesis(tuple(tokens), math.nan, math.nan, ())
