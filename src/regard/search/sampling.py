"""Sampling: draw tokens from the model's distribution, or from its most probable part.

Every output has its own seed and uses one random number per token, so a sample does not depend on the rest of its
batch.

Shapes: R rows (a sample each), T target positions, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.constraints import NONE, Constraints, limits
from regard.search.hypothesis import Hypothesis
from regard.search.rows import extend_rows

TEMPERATURES = 1e-6, 1e6  # beyond these, numbers overflow or underflow


@dataclass(frozen=True)
class Sampling:
    """The distribution to draw from."""

    temperature: float = 1.0
    """Divisor of the logits: below 1 probable tokens become more probable; towards 0 sampling becomes greedy search."""
    top_k: int = 0
    """Draw only from the k most probable tokens; 0: from all."""
    top_p: float = 1.0
    """Draw only from the fewest most probable tokens with this total probability (Holtzman et al., 2020)."""
    seed: int = 0

    def __post_init__(self) -> None:
        coldest, hottest = TEMPERATURES
        if not coldest <= self.temperature <= hottest:
            raise UserError(f"a temperature is between {coldest:g} and {hottest:g}, not {self.temperature}; change it")
        if not 0 < self.top_p <= 1 or self.top_k < 0:
            raise UserError("top-p is above 0 and at most 1, and top-k is not below 0; change them")


@torch.inference_mode()
def sample(
    model: Seq2Seq,
    source_RS: Tensor,
    config: DecodeConfig,
    sampling: Sampling,
    *,
    seeds: list[int] | None = None,
    constraints: Constraints = NONE,
    longest: int | None = None,
) -> list[Hypothesis]:
    """Return a sampled hypothesis for each row. Scores are the model's own log probabilities, whatever was excluded.

    For several samples of a sentence, repeat its row and give each a seed.
    """
    seeds = list(range(sampling.seed, sampling.seed + len(source_RS))) if seeds is None else seeds
    ends = limits(source_RS, config.extra_length, constraints, longest)
    uniforms = [_uniforms(seed, end + 1) for seed, end in zip(seeds, ends, strict=True)]

    def choose(logits_RV: Tensor, here: list[int], before: int) -> Tensor:
        drawn = [float(uniforms[row][min(before, len(uniforms[row]) - 1)]) for row in here]
        return draw(likely(logits_RV, sampling), logits_RV.new_tensor(drawn, dtype=torch.float64))

    return extend_rows(model, source_RS, config, choose, constraints=constraints, longest=longest)


def likely(logits_RV: Tensor, sampling: Sampling) -> Tensor:
    """Return the probabilities to draw from; excluded tokens have 0."""
    scaled_RV = logits_RV.double() / sampling.temperature
    if 0 < sampling.top_k < scaled_RV.shape[1]:
        kept_R1 = scaled_RV.topk(sampling.top_k, dim=1).values[:, -1:]
        scaled_RV = scaled_RV.masked_fill(scaled_RV < kept_R1, -torch.inf)
    p_RV = scaled_RV.softmax(dim=1)
    if sampling.top_p < 1:
        sorted_RV, order_RV = p_RV.sort(dim=1, descending=True, stable=True)
        enough_RV = sorted_RV.cumsum(1) - sorted_RV >= sampling.top_p  # the tokens before have it already
        p_RV = p_RV.scatter(1, order_RV, sorted_RV.masked_fill(enough_RV, 0.0))
        p_RV = p_RV / p_RV.sum(1, keepdim=True)
    return p_RV


def draw(p_RV: Tensor, uniform_R: Tensor) -> Tensor:
    """Return a token for each row: the first whose cumulative probability exceeds a uniform number."""
    cumulative_RV = p_RV.cumsum(1)
    point_R1 = uniform_R[:, None] * cumulative_RV[:, -1:]  # the total is 1 up to rounding
    token_R = torch.searchsorted(cumulative_RV, point_R1, right=True)[:, 0]
    last_R = (p_RV > 0).long().cumsum(1).argmax(1)  # the last token that can be drawn
    return torch.minimum(token_R, last_R)


def _uniforms(seed: int, count: int) -> list[float]:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, generator=generator, dtype=torch.float64).tolist()
