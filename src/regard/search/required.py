"""Beam search for outputs that contain required sequences of tokens: grid beam search (Hokamp and Liu, 2017).

A sentence's open hypotheses are kept in banks by their number of required tokens, K in each, so that one that has some
of them need not compete with those that have none; fewer than K in each, but one, if all banks together would have over
OPEN. Besides the best tokens, the next token of every required sequence is tried at every step. An output may end
only when it contains all of them. A requirement may have alternatives, such as the inflected forms of a term: one of
its sequences is enough. Without required sequences this is the beam search of beam.py; it is slower, because its banks
have different sizes and are kept in lists.

Shapes: R open hypotheses of all sentences and banks, T target positions, V vocabulary, N best tokens of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import decided, normaliser
from regard.search.constraints import NONE, Constraints, forbid, limits
from regard.search.hypothesis import NONE_HOLDS, OPEN, Alternatives, Hypothesis, Sequences, finished, weight
from regard.search.step import next_logits


@dataclass(frozen=True)
class _Open:
    """An open hypothesis."""

    sentence: int
    total: float
    tokens: tuple[int, ...]
    scores: tuple[float, ...]
    row: int
    """Row of the state that it continues."""

    def followed(self, token: int, score: float) -> "_Open":
        return _Open(self.sentence, self.total + score, (*self.tokens, token), (*self.scores, score), self.row)


@torch.inference_mode()
def required_search(
    model: Seq2Seq,
    source_BS: Tensor,
    config: DecodeConfig,
    required: Sequence[Sequences | Alternatives],
    *,
    n_best: int = 1,
    constraints: Constraints = NONE,
    longest: int | None = None,
    partial: bool = False,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence that contain what it requires, in any order.

    A sentence requires sequences, or one sequence each of several alternatives. A sentence without such a hypothesis
    raises UserError, or has an empty list if `partial`.
    """
    assert 1 <= n_best <= config.beam
    wanted: list[Alternatives] = [tuple(dict.fromkeys(map(_alternatives, given))) for given in required]
    assert all(all(map(all, choices)) for choices in wanted), "an empty sequence is in every output"
    room = [sum(map(weight, choices)) for choices in wanted]
    ends = [max(pair) for pair in zip(limits(source_BS, config.extra_length, constraints, longest), room, strict=True)]
    found: list[list[Hypothesis]] = [[] for _ in ends]
    counts = [0] * len(ends)
    state = model.start(model.encode(source_BS), max(ends, default=0) + 1)
    opened = [_Open(sentence, 0.0, (), (), sentence) for sentence in range(len(ends))]

    while opened:
        last = [[hypothesis.tokens[-1] if hypothesis.tokens else BOS] for hypothesis in opened]
        logits_RV, state = next_logits(model, torch.tensor(last, device=source_BS.device), state)
        candidates = _candidates(logits_RV, opened, ends, wanted, constraints, config.beam)
        opened = []
        for sentence, group in groupby(candidates, key=lambda candidate: candidate.sentence):
            ended, going = _choose(list(group), wanted[sentence], config.beam)
            counts[sentence] += len(ended)
            new = [finished(list(one.tokens), list(one.scores), one.total, config) for one in ended]
            found[sentence] = sorted(found[sentence] + new, key=lambda hypothesis: -hypothesis.score)[:n_best]
            best = max((one.total for one in going), default=0.0)
            if counts[sentence] < config.beam and not decided(found[sentence], n_best, best, ends[sentence], config):
                opened += going
        if opened:
            state = state.select(torch.tensor([one.row for one in opened], device=source_BS.device))

    if not all(found) and not partial:
        raise UserError(NONE_HOLDS)
    return found


def _candidates(
    logits_RV: Tensor,
    opened: list[_Open],
    ends: Sequence[int],
    required: Sequence[Alternatives],
    rules: Constraints,
    width: int,
) -> list[_Open]:
    """Return every extension that can be among the best `width` of its bank, sentence by sentence."""
    normaliser_R1 = normaliser(logits_RV)[:, None]
    history_RT = torch.tensor([[BOS, *one.tokens] for one in opened], device=logits_RV.device)
    forbid(logits_RV, history_RT, [one.sentence for one in opened], ends, rules)
    wanted = [needed(one.tokens, required[one.sentence]) for one in opened]
    score_RV = logits_RV - normaliser_R1
    most = min(width + 1 + max(map(len, wanted)), logits_RV.shape[1])  # per row, besides the needed tokens
    score_RN, token_RN = score_RV.topk(most, dim=1)
    best = [dict(zip(*pair, strict=True)) for pair in zip(token_RN.tolist(), score_RN.tolist(), strict=True)]
    candidates = []
    for row, (one, scores, extra) in enumerate(zip(opened, best, wanted, strict=True)):
        scores |= {token: float(score_RV[row, token]) for token in sorted({*extra, EOS} - set(scores))}
        complete = covered(one.tokens, required[one.sentence]) == sum(map(weight, required[one.sentence]))
        here = _Open(one.sentence, one.total, one.tokens, one.scores, row)
        for token, score in scores.items():
            if score > -torch.inf and (token != EOS or complete):
                candidates.append(here.followed(token, min(score, 0.0)))
    return candidates


def _choose(candidates: list[_Open], required: Alternatives, width: int) -> tuple[list[_Open], list[_Open]]:
    """Return the candidates of one sentence that end, and those that stay open."""
    banks: dict[int, list[_Open]] = {}
    for candidate in sorted(candidates, key=lambda one: -one.total):  # stable: the better parent first
        tokens = candidate.tokens[:-1] if candidate.tokens[-1] == EOS else candidate.tokens
        banks.setdefault(covered(tokens, required), []).append(candidate)
    number = sum(map(weight, required)) + 1
    width = max(1, min(width, max(OPEN, width) // number))
    ended, going = [], []
    for bank in banks.values():
        ended += [one for one in bank[:width] if one.tokens[-1] == EOS]
        going += [one for one in bank if one.tokens[-1] != EOS][:width]
    return ended, sorted(going, key=lambda one: -one.total)


def covered(tokens: tuple[int, ...], required: Alternatives) -> int:
    """Return the number of required tokens in an output: of requirements met, and of the sequence begun at its end.

    A requirement counts as many tokens as its longest sequence has.
    """
    met = {choice for choice in required if any(_holds(tokens, sequence) for sequence in choice)}
    begun = (
        length
        for choice in required
        if choice not in met
        for sequence in choice
        for length in range(1, len(sequence))
        if tokens[-length:] == sequence[:length]
    )
    return sum(map(weight, met)) + max(begun, default=0)


def needed(tokens: tuple[int, ...], required: Alternatives) -> set[int]:
    """Return the tokens that begin or continue a missing requirement; no other token increases `covered`."""
    return {
        sequence[length]
        for choice in required
        if not any(_holds(tokens, sequence) for sequence in choice)
        for sequence in choice
        for length in range(len(sequence))
        if length == 0 or tokens[-length:] == sequence[:length]
    }


def _alternatives(given: "tuple[int, ...] | Sequences") -> Sequences:
    """Return the sequences of a requirement, of which one is enough."""
    return cast("Sequences", given if given and isinstance(given[0], tuple) else (given,))


def _holds(tokens: tuple[int, ...], sequence: tuple[int, ...]) -> bool:
    if sequence[0] not in tokens:  # asked millions of times, and mostly so
        return False
    return any(tokens[at : at + len(sequence)] == sequence for at in range(len(tokens) - len(sequence) + 1))
