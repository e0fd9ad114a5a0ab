"""Blockwise parallel decoding (Stern, Shazeer and Uszkoreit, 2018): greedy search that accepts several tokens a step.

A step reads the token chosen last and the tokens that the model's heads propose after it, in one pass of the decoder,
which gives the model's own choice after each of them. The longest beginning of the proposals that equals those choices
is accepted, and the choice after it as well, so every step accepts at least one token. The text is greedy search's.

Unless scores are asked for, the logits of all tokens are computed in 16 bits where that is faster, and those of the
likeliest again, exactly. A bound on the rounding error tells whether the best can be another one; then all logits are
computed exactly.

Floating-point numbers of a block and of single steps differ by rounding. Where the two best logits are closer than TIE,
far more than rounding, the choice is made as greedy search makes it: from the tokens so far, read one by one.

Sentences are decoded one by one: in a batch each would accept another number of tokens.

Shapes: S source positions, T tokens of a block, D features, V vocabulary, C = LIKELY.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import Failed
from regard.model.seq2seq import BlockProposer, DecoderState, Seq2Seq
from regard.search.beam import normaliser
from regard.search.constraints import NONE, Constraints, forbid, limits
from regard.search.hypothesis import NO_NUMBERS, Hypothesis, finished, unscored
from regard.search.step import next_logits

TIE = 1e-3  # rounding moves a logit by some 1e-5
LIKELY = 8  # tokens whose logits are computed exactly if all are rounded


@torch.inference_mode()
def blockwise_search(
    model: Seq2Seq,
    source_BS: Tensor,
    config: DecodeConfig,
    *,
    constraints: Constraints = NONE,
    longest: int | None = None,
    scored: bool = True,
) -> list[Hypothesis]:
    """Return a hypothesis for each sentence, with greedy search's tokens and the step that accepted each."""
    ends = limits(source_BS, config.extra_length, constraints, longest)
    lengths = (source_BS != PAD).sum(1).tolist()
    return [
        _Sentence(model, source_BS[row : row + 1, : lengths[row]], row, ends, constraints).decode(config, scored=scored)
        for row in range(len(ends))
    ]


class Best(NamedTuple):
    """The greatest logits at each position, greatest first, and their tokens."""

    values: Tensor
    indices: Tensor


class _Sentence:
    """The search for one sentence."""

    def __init__(
        self, model: Seq2Seq, source_1S: Tensor, row: int, ends: Sequence[int], constraints: Constraints
    ) -> None:
        assert isinstance(model, BlockProposer), "the model has heads that propose"
        self.model, self.row, self.ends, self.constraints = model, row, ends, constraints
        self.heads: BlockProposer = model
        self.memory = model.encode(source_1S)
        self.device = source_1S.device
        self.tokens = [BOS]
        self.scores: list[float] = []
        self.steps: list[int] = []

    def decode(self, config: DecodeConfig, *, scored: bool) -> Hypothesis:
        heads, end = self.heads, self.ends[self.row]
        state: DecoderState = self.model.start(self.memory, end + 1)
        proposed: list[int] = []
        step = 0
        while self.tokens[-1] != EOS:
            step += 1
            block = [self.tokens[-1], *proposed[: end - len(self.tokens) + 1]]
            features_1TD, grown = heads.decoded(torch.tensor([block], device=self.device), state)
            accepted = self._verify(features_1TD[0], block, scored=scored)
            self.steps += [step] * accepted
            if self.tokens[-1] != EOS:
                state = grown.first(state.length + accepted)
                chosen_1 = torch.tensor(self.tokens[-1:], device=self.device)
                proposed = heads.proposed(features_1TD[:, accepted - 1], chosen_1, state)[0].tolist()
        tokens = self.tokens[1:]
        found = finished(tokens, self.scores, sum(self.scores), config) if scored else unscored(tokens[:-1])
        return replace(found, steps=tuple(self.steps))

    def _verify(self, features_TD: Tensor, block: list[int], *, scored: bool) -> int:
        """Append the accepted tokens of the block and the token chosen after them; return their number."""
        normaliser_T = None
        if scored:
            logits_TV = self._logits(features_TD)
            normaliser_T = normaliser(logits_TV)
            best = self._two_best(logits_TV, block)
        else:
            best = self._two_best_of_likely(features_TD, block)
        values, indices = best.values.tolist(), best.indices[:, 0].tolist()
        for place, token in enumerate(indices):
            exact = len(values[place]) < 2 or values[place][0] - values[place][1] > TIE
            chosen = token if exact else self._greedy_choice()
            if normaliser_T is not None:
                self.scores.append(min(0.0, float(logits_TV[place, chosen] - normaliser_T[place])))
            self.tokens.append(chosen)
            if chosen == EOS or place + 1 == len(block) or block[place + 1] != chosen:
                break
        return place + 1

    def _logits(self, features_TD: Tensor) -> Tensor:
        return _finite(self.model.logits(features_TD).float())

    def _two_best(self, logits_TV: Tensor, block: list[int]) -> Best:
        """Return the two greatest logits at each position, after the constraints."""
        self._forbid(logits_TV, block)
        return Best(*logits_TV.topk(min(2, logits_TV.shape[1]), dim=1))

    def _two_best_of_likely(self, features_TD: Tensor, block: list[int]) -> Best:
        """Return the same from logits that may be rounded: those of the likeliest tokens are computed again."""
        rounded_TV, error_T = self.heads.rounded_logits(features_TD)
        rounded_TV = _finite(rounded_TV.float())
        if not error_T.any():
            return self._two_best(rounded_TV, block)
        self._forbid(rounded_TV, block)
        values_TC, tokens_TC = rounded_TV.topk(min(LIKELY, rounded_TV.shape[1]), dim=1)
        if (values_TC[:, -1] >= values_TC[:, 0] - 2 * error_T - TIE).any():  # another token may be as good
            return self._two_best(self._logits(features_TD), block)
        logits_TC = self.heads.logits_of(features_TD, tokens_TC).float()
        values_T2, places_T2 = logits_TC.masked_fill(values_TC == -math.inf, -math.inf).topk(2, dim=1)
        return Best(values_T2, tokens_TC.gather(1, places_T2))

    def _forbid(self, logits_TV: Tensor, block: list[int]) -> None:
        """Apply the constraints at each position, given that the proposals before it are accepted."""
        history_1T = torch.tensor([[*self.tokens[:-1], *block]], device=self.device)
        T, rules = len(block), self.constraints
        if not rules.of_history and history_1T.shape[1] <= self.ends[self.row]:  # all positions alike
            forbid(logits_TV, history_1T, [self.row] * T, self.ends, rules)
            return
        for place in range(T):
            before_1T = history_1T[:, : len(self.tokens) + place]
            forbid(logits_TV[place : place + 1], before_1T, [self.row], self.ends, rules)

    def _greedy_choice(self) -> int:
        """Return the token that greedy search chooses next, computed as greedy search does."""
        state = self.model.start(self.memory, self.ends[self.row] + 1)
        for token in self.tokens:
            logits_1V, state = next_logits(self.model, torch.tensor([[token]], device=self.device), state)
        history_1T = torch.tensor([self.tokens], device=self.device)
        forbid(logits_1V, history_1T, [self.row], self.ends, self.constraints)
        return int(logits_1V.argmax(dim=1))


def _finite(logits_TV: Tensor) -> Tensor:
    """Return logits; raise Failed if any of them is NaN or infinite."""
    if not math.isfinite(logits_TV.sum().item()):
        raise Failed(NO_NUMBERS)
    return logits_TV
