"""Beam search (section 6.1) over the interface of model/seq2seq.py: independent of the architecture and stateless.

A step extends every open hypothesis of a sentence by every token and takes the best K extensions. Those that end in EOS
are finished; the next best others replace them, so that K stay open. A sentence is done when K hypotheses are finished,
when its limit is reached (there only EOS may follow), or as soon as no open hypothesis can still be among the n best.
So a beam of 1 is greedy search, and a beam as wide as the space is exhaustive search.

Ties are broken in a fixed order: the better parent first, then torch's order of equal logits, which depends on the row
alone; of finished hypotheses with equal scores the one that was finished first.

Shapes: B sentences not yet done, K open hypotheses of each, R = B·K rows, C candidates, T target positions, V
vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS
from regard.model.seq2seq import Seq2Seq
from regard.search.constraints import NONE, Constraints, forbid, limits
from regard.search.coverage import with_coverage
from regard.search.hypothesis import Hypothesis, finished
from regard.search.length_penalty import best_attainable
from regard.search.step import next_logits

NORMALISED = 1 << 17  # logits exponentiated at once: half a megabyte, which fits in a core's cache


@dataclass(frozen=True)
class _Beams:
    """The open hypotheses, best first; all have the same length."""

    total_BK: Tensor
    """Log probabilities; minus infinity where there is no hypothesis."""
    tokens_BKT: Tensor
    """BOS first."""
    scores_BKT: Tensor
    """The log probability of each token; 0 for BOS."""


@dataclass(frozen=True)
class Candidates:
    """The best extensions of each sentence's open hypotheses, best first; at most 2·K for a beam of K.

    Those among the best K that end in EOS are finished; the best K that do not end stay open.
    """

    total_BC: Tensor
    parent_BC: Tensor
    token_BC: Tensor
    score_BC: Tensor

    def choose(self, which_BK: Tensor) -> "Candidates":
        parts = (self.total_BC, self.parent_BC, self.token_BC, self.score_BC)
        return Candidates(*(part.gather(1, which_BK) for part in parts))


WatchSteps = Callable[[Sequence[int], Candidates], None]
"""Called at every step with the sentences that are not yet done, and their candidates."""


@torch.inference_mode()
def beam_search(
    model: Seq2Seq,
    source_BS: Tensor,
    config: DecodeConfig,
    *,
    n_best: int = 1,
    constraints: Constraints = NONE,
    early_stopping: bool = True,
    longest: int | None = None,
    watch: WatchSteps | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence, best first; fewer only if fewer exist.

    early_stopping changes how long the search takes, never its result. `longest` limits the tokens of any output.
    """
    assert 1 <= n_best <= config.beam, "a beam of K finds K hypotheses"
    ends = limits(source_BS, config.extra_length, constraints, longest)
    found: list[list[Hypothesis]] = [[] for _ in ends]
    counts = [0] * len(ends)  # number of finished hypotheses, of which `found` keeps the n best
    here = list(range(len(ends)))  # the sentences not yet done
    state = model.start(model.encode(source_BS), max(ends, default=0) + 1)
    beams = _begin(len(here), source_BS.device)

    while here:
        B, K, _ = beams.tokens_BKT.shape
        logits_RV, state = next_logits(model, beams.tokens_BKT[:, :, -1].reshape(B * K, 1), state)
        rows = [sentence for sentence in here for _ in range(K)]
        candidates = _best(logits_RV, beams, rows, ends, constraints, config.beam)
        if watch is not None:
            watch(here, candidates)

        ended = _finished(candidates, beams, here, config)
        if ended and config.beta:
            sentences = [sentence for sentence, _ in ended]
            covered = with_coverage(model, source_BS[sentences], [one for _, one in ended], config.beta)
            ended = list(zip(sentences, covered, strict=True))
        for sentence, hypothesis in ended:
            counts[sentence] += 1
            found[sentence] = sorted([*found[sentence], hypothesis], key=lambda h: -h.score)[:n_best]  # stable

        going = _open(candidates, config.beam)
        best = going.total_BC[:, 0].tolist()
        keep = [
            number
            for number, sentence in enumerate(here)
            if best[number] > -torch.inf
            and counts[sentence] < config.beam
            and not (early_stopping and decided(found[sentence], n_best, best[number], ends[sentence], config))
        ]
        here = [here[number] for number in keep]
        if here:
            keep_B = torch.tensor(keep, device=source_BS.device)
            beams, rows_R = _extend(beams, going, keep_B)
            if len(rows_R) != B * K or not torch.equal(rows_R, torch.arange(B * K, device=rows_R.device)):
                state = state.select(rows_R)

    assert all(found), "at its limit every sentence ends"
    return found


def normaliser(logits_RV: Tensor) -> Tensor:
    """Return log Σ exp of each row. A token's log probability is its logit minus this, so no R·V of them are computed.

    It processes a few rows at a time in one buffer: a second tensor of R·V would cost more in page faults than the
    arithmetic does.
    """
    R, V = logits_RV.shape
    if R * V <= NORMALISED:
        return logits_RV[:, 0] - logits_RV.log_softmax(dim=1)[:, 0]  # one kernel, where logsumexp is seven
    most_R1 = logits_RV.amax(dim=1, keepdim=True)
    rows = max(1, NORMALISED // V)
    place_RV = logits_RV.new_empty(min(rows, R), V)
    sums = [
        torch.sub(some_RV, most, out=place_RV[: len(some_RV)]).exp_().sum(dim=1)
        for some_RV, most in zip(torch.split(logits_RV, rows), torch.split(most_R1, rows), strict=True)
    ]
    return torch.cat(sums).log() + most_R1[:, 0]


def _begin(sentences: int, device: torch.device) -> _Beams:
    """Return one open hypothesis per sentence: BOS."""
    shape = (sentences, 1, 1)
    return _Beams(
        torch.zeros(shape[:2], dtype=torch.float64, device=device),
        torch.full(shape, BOS, device=device),
        torch.zeros(shape, dtype=torch.float64, device=device),
    )


def _best(
    logits_RV: Tensor, beams: _Beams, sentences: Sequence[int], ends: Sequence[int], rules: Constraints, width: int
) -> Candidates:
    """Return the best 2·width extensions of each sentence.

    At most `width` of them end in EOS, one for each parent, so they include `width` that do not end. For the same
    reason the best width + 1 of one parent suffice, so top-k on its raw logits finds them.
    """
    B, K, T = beams.tokens_BKT.shape
    normaliser_R = normaliser(logits_RV)
    forbid(logits_RV, beams.tokens_BKT.view(B * K, T), sentences, ends, rules)
    logit_RC, token_RC = logits_RV.topk(min(width + 1, logits_RV.shape[1]), dim=1)
    # Never above 0, even by rounding: early stopping relies on it.
    score_RC = (logit_RC - normaliser_R[:, None]).double().clamp(max=0.0)
    total_BC = (beams.total_BK.view(B * K, 1) + score_RC).view(B, -1)
    parent_C = torch.arange(K, device=logits_RV.device).repeat_interleave(score_RC.shape[1])
    every = Candidates(total_BC, parent_C.expand(B, -1), token_RC.view(B, -1), score_RC.view(B, -1))
    order_BC = total_BC.sort(dim=1, descending=True, stable=True).indices
    return every.choose(order_BC[:, : 2 * width])


def _finished(
    candidates: Candidates, beams: _Beams, here: Sequence[int], config: DecodeConfig
) -> list[tuple[int, Hypothesis]]:
    """Return the hypotheses that end among the best `beam` candidates, each with its sentence."""
    width = config.beam
    ending_BK = (candidates.token_BC[:, :width] == EOS) & (candidates.total_BC[:, :width] > -torch.inf)
    number_N, which_N = ending_BK.nonzero(as_tuple=True)
    if not len(number_N):
        return []
    parent_N = candidates.parent_BC[number_N, which_N]
    tokens = beams.tokens_BKT[number_N, parent_N, 1:].tolist()
    scores = beams.scores_BKT[number_N, parent_N, 1:].tolist()
    last = candidates.score_BC[number_N, which_N].tolist()
    total = candidates.total_BC[number_N, which_N].tolist()
    return [
        (here[number], finished([*tokens[i], EOS], [*scores[i], last[i]], total[i], config))
        for i, number in enumerate(number_N.tolist())
    ]


def _open(candidates: Candidates, width: int) -> Candidates:
    """Return the best `width` candidates that do not end; missing ones have minus infinity."""
    ended_BC = candidates.token_BC == EOS
    order_BK = ended_BC.long().sort(dim=1, stable=True).indices[:, :width]
    going = candidates.choose(order_BK)
    return Candidates(
        going.total_BC.masked_fill(going.token_BC == EOS, -torch.inf), going.parent_BC, going.token_BC, going.score_BC
    )


def decided(found: Sequence[Hypothesis], n_best: int, best: float, end: int, config: DecodeConfig) -> bool:
    """Return whether no open hypothesis can still exceed the worst score of the n best."""
    return len(found) == n_best and found[-1].score >= best_attainable(best, end + 1, config.alpha, config.penalty)


def _extend(beams: _Beams, going: Candidates, keep_B: Tensor) -> tuple[_Beams, Tensor]:
    """Return the chosen candidates of the sentences to keep as beams, and the rows of the state that they continue."""
    K = beams.tokens_BKT.shape[1]
    parent_BK = going.parent_BC[keep_B]
    rows_R = (keep_B[:, None] * K + parent_BK).view(-1)
    new_BK1 = going.token_BC[keep_B][:, :, None], going.score_BC[keep_B][:, :, None]
    B, width = parent_BK.shape
    before = (
        part.flatten(0, 1).index_select(0, rows_R).view(B, width, -1) for part in (beams.tokens_BKT, beams.scores_BKT)
    )
    tokens_BKT, scores_BKT = (torch.cat(pair, dim=2) for pair in zip(before, new_BK1, strict=True))
    return _Beams(going.total_BC[keep_B], tokens_BKT, scores_BKT), rows_R
