"""Mask-predict (Ghazvininejad et al., 2019): all tokens at once, then the least probable ones again, a few times.

With T iterations, iteration t + 1 masks the N (T - t) / T least probable of a text's N tokens and predicts these anew.
It starts with all masked. Several lengths are tried for each sentence; the best mean log probability wins.

Shapes: B sentences, K lengths of each, R = B·K rows, S source positions, T target positions, V vocabulary.
"""

import math
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import Failed
from regard.model.seq2seq import Memory, Seq2Seq
from regard.search.constraints import limits
from regard.search.hypothesis import NEVER, NO_NUMBERS, Hypothesis

MASK = BOS


@runtime_checkable
class ParallelModel(Protocol):
    """A model that predicts the length of a text and fills in masked tokens."""

    def length_logits(self, memory: Memory) -> Tensor:
        """Return the logits of each number of target tokens from 1, EOS included: B, L."""

    def fill(self, tokens_BT: Tensor, memory: Memory) -> Tensor:
        """Return the logits of every target position, given the tokens that are not masked: B, T, V."""


@torch.inference_mode()
def mask_predict(
    model: Seq2Seq,
    source_BS: Tensor,
    config: DecodeConfig,
    iterations: int,
    *,
    n_best: int = 1,
    longest: int | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best texts of each sentence, one for each of the `config.beam` most probable lengths."""
    assert isinstance(model, ParallelModel), "the model fills in masked tokens"
    ends = limits(source_BS, config.extra_length, longest=longest)
    memory = model.encode(source_BS)
    length_BK = likely_lengths(model.length_logits(memory), ends, config.beam)
    B, K = length_BK.shape
    rows = replace(
        memory,
        encoded_BSD=memory.encoded_BSD.repeat_interleave(K, 0),
        mask_BS=memory.mask_BS.repeat_interleave(K, 0),
        penalty=None,
    )
    tokens_RT, scores_RT, steps_RT = refine(model, rows, length_BK.view(-1), iterations)
    found = [
        _hypothesis(*one)
        for one in zip(
            length_BK.view(-1).tolist(), tokens_RT.tolist(), scores_RT.tolist(), steps_RT.tolist(), strict=True
        )
    ]
    ranked = [sorted(found[K * b : K * (b + 1)], key=lambda one: -one.score) for b in range(B)]
    return [hypotheses[:n_best] for hypotheses in ranked]


def likely_lengths(logits_BL: Tensor, ends: list[int], count: int) -> Tensor:
    """Return the most probable numbers of tokens, EOS included, within each sentence's limit; at most `count`: B, K."""
    place_L = torch.arange(logits_BL.shape[1], device=logits_BL.device)
    beyond_BL = place_L > torch.tensor(ends, device=logits_BL.device)[:, None]
    K = min(count, logits_BL.shape[1], min(ends, default=0) + 1)
    return logits_BL.float().masked_fill(beyond_BL, -torch.inf).topk(K, dim=1).indices + 1


def refine(model: ParallelModel, memory: Memory, length_R: Tensor, iterations: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, their log probabilities and the iteration in which each was last predicted: R, T each."""
    T = int(length_R.max()) if len(length_R) else 0
    place_T = torch.arange(T, device=length_R.device)
    there_RT = place_T < length_R[:, None]
    last_RT = place_T == length_R[:, None] - 1
    tokens_RT = torch.where(there_RT, MASK, PAD)
    scores_RT = torch.zeros(tokens_RT.shape, device=length_R.device)
    steps_RT = torch.ones_like(tokens_RT)
    masked_RT = there_RT
    for iteration in range(iterations):
        if iteration:
            count_R1 = ((length_R - 1) * (iterations - iteration) // iterations)[:, None]
            certain_RT = scores_RT.masked_fill(last_RT | ~there_RT, torch.inf)
            masked_RT = (certain_RT.argsort(dim=1, stable=True).argsort(dim=1) < count_R1) & there_RT & ~last_RT
            if not bool(masked_RT.any()):
                break
        logits_RTV = model.fill(tokens_RT.masked_fill(masked_RT, MASK), memory).float()
        if not math.isfinite(logits_RTV.sum().item()):
            raise Failed(NO_NUMBERS)
        logs_RTV = logits_RTV.log_softmax(-1)
        of_end_RT = logs_RTV[:, :, EOS].clone()
        logs_RTV[:, :, [*NEVER, EOS]] = -torch.inf
        best_RT, which_RT = logs_RTV.max(-1)
        best_RT, which_RT = torch.where(last_RT, of_end_RT, best_RT), torch.where(last_RT, EOS, which_RT)
        tokens_RT = torch.where(masked_RT, which_RT, tokens_RT)
        scores_RT = torch.where(masked_RT, best_RT, scores_RT)
        steps_RT = steps_RT.masked_fill(masked_RT, iteration + 1)
    return tokens_RT, scores_RT, steps_RT


def _hypothesis(length: int, tokens: list[int], scores: list[float], steps: list[int]) -> Hypothesis:
    """Return a hypothesis whose score is the mean log probability of its tokens, each given those around it."""
    own = scores[:length]
    log_probability = math.fsum(own)
    return Hypothesis(
        tuple(tokens[: length - 1]), log_probability / length, log_probability, tuple(own), tuple(steps[:length])
    )
