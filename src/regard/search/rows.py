"""Decode one output per row, each token chosen by a function: the common part of greedy search and sampling.

Shapes: R rows not yet done, T target positions, V vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import normaliser
from regard.search.constraints import Constraints, forbid, limits
from regard.search.hypothesis import Hypothesis, finished, unscored
from regard.search.step import next_logits

Choose = Callable[[Tensor, list[int], int], Tensor]
"""Return the next token of each row, given logits_RV, the sentence of each row and the number of tokens before."""

DROP = 0.25  # share of finished rows from which they are dropped: dropping copies the state of all others


def extend_rows(
    model: Seq2Seq,
    source_RS: Tensor,
    config: DecodeConfig,
    choose: Choose,
    *,
    constraints: Constraints,
    longest: int | None,
    scored: bool = True,
) -> list[Hypothesis]:
    """Return a hypothesis for each row of the source; if not `scored`, without the softmax that only scores need."""
    ends = limits(source_RS, config.extra_length, constraints, longest)
    found: dict[int, Hypothesis] = {}
    here = list(range(len(ends)))  # the sentence of each row
    state = model.start(model.encode(source_RS), max(ends, default=0) + 1)
    tokens_RT = torch.full((len(here), 1), BOS, device=source_RS.device)
    scores_RT = torch.zeros((len(here), 1), dtype=torch.float64, device=source_RS.device)

    while here:
        logits_RV, state = next_logits(model, tokens_RT[:, -1:], state)
        normaliser_R = normaliser(logits_RV) if scored else None
        forbid(logits_RV, tokens_RT, here, ends, constraints)
        token_R1 = choose(logits_RV, here, tokens_RT.shape[1] - 1)[:, None]
        tokens_RT = torch.cat((tokens_RT, token_R1), dim=1)
        if normaliser_R is not None:
            score_R1 = (logits_RV.gather(1, token_R1) - normaliser_R[:, None]).double().clamp(max=0.0)
            scores_RT = torch.cat((scores_RT, score_R1), dim=1)

        for row, token in enumerate(token_R1[:, 0].tolist()):
            if token == EOS and here[row] not in found:
                tokens, scores = tokens_RT[row, 1:].tolist(), scores_RT[row, 1:].tolist()
                found[here[row]] = finished(tokens, scores, sum(scores), config) if scored else unscored(tokens[:-1])
        keep = [row for row, sentence in enumerate(here) if sentence not in found]
        if len(here) - len(keep) > DROP * len(here) or not keep:
            here = [here[row] for row in keep]
            keep_R = torch.tensor(keep, device=source_RS.device, dtype=torch.long)
            tokens_RT, scores_RT = tokens_RT[keep_R], scores_RT[keep_R]
            state = state.select(keep_R) if here else state
    return [found[sentence] for sentence in range(len(ends))]
