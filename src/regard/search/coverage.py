"""The coverage penalty (Wu et al., 2016): a hypothesis that leaves source tokens without attention scores lower.

    cp(X; Y) = β Σ_i log min(Σ_j p_ij, 1),        score = log P(Y | X) / lp(Y) + cp(X; Y)

where p_ij is the attention of target position j, EOS included, to source token i, without the source's EOS. It is at
most 0, so that no bound on a score is exceeded. In a Transformer, which has many heads, p is what words are aligned by:
the mean of the heads of the last layer but one.

Shapes: R hypotheses, S source positions, T target positions.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.hypothesis import Hypothesis

LEAST = 1e-30  # attention that a token is taken to have at least: the logarithm of 0 would make all scores equal


def with_coverage(model: Seq2Seq, source_RS: Tensor, hypotheses: Sequence[Hypothesis], beta: float) -> list[Hypothesis]:
    """Return hypotheses, one for each row of the source, with β Σ log min(coverage, 1) added to their scores."""
    longest = max(len(one.tokens) for one in hypotheses) + 1
    rows = [[BOS, *one.tokens, *[PAD] * (longest - 1 - len(one.tokens))] for one in hypotheses]
    weights_RTS = model.attentions(source_RS, torch.tensor(rows, device=source_RS.device)).over_source()
    if weights_RTS is None:
        raise UserError("this model has no attention over the source, so nothing is covered; leave out decode.beta")
    found = []
    for one, source_S, weights_TS in zip(hypotheses, source_RS, weights_RTS, strict=True):
        covered_S = weights_TS[: len(one.tokens) + 1].double().sum(0)[(source_S != PAD) & (source_S != EOS)]
        penalty = beta * math.fsum(covered_S.clamp(LEAST, 1.0).log().tolist())
        found.append(replace(one, score=one.score + penalty))
    return found
