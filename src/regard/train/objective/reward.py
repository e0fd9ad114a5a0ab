"""Expected reward as a training objective (Wu et al., 2016): sampled translations, rewarded by GLEU.

The objective, which is maximised, is (Y* is the reference)

    O_RL = Σ_X Σ_Y P(Y | X) r(Y, Y*),        O_mixed = α · O_ML + O_RL

The sum over all Y is estimated from K samples of each sentence. With r̄ the mean reward of these K,

    ∇ O_RL ≈ Σ_X 1/K Σ_k (r_k − r̄) ∇ log P(Y_k | X)

r is GLEU: over the n-grams of 1 to 4 tokens, the smaller of precision and recall. Samples are drawn without dropout
from the weights before the update; each has a seed of its own, so that a resumed run draws the same.

Shapes: B sentences, K samples of each, R rows, S source positions, T target positions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.seq2seq import Seq2Seq
from regard.search.sampling import Sampling, sample

LONGEST_NGRAM = 4
ROWS = 256  # samples drawn at once: their probabilities over the vocabulary are in memory together
EXTRA_LENGTH = 20  # tokens by which a sample may be longer than its source: most that are longer have little reward


def ngrams(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    """Count the n-grams of 1 to 4 tokens."""
    lengths = range(1, LONGEST_NGRAM + 1)
    return Counter(tuple(tokens[i : i + n]) for n in lengths for i in range(len(tokens) - n + 1))


def gleu(candidate: Sequence[int], reference: Sequence[int]) -> float:
    """Return the smaller of precision and recall of the n-grams of 1 to 4 tokens; 1 if both texts are empty."""
    found, wanted = ngrams(candidate), ngrams(reference)
    most = max(found.total(), wanted.total())
    return (found & wanted).total() / most if most else 1.0


@dataclass(frozen=True)
class RewardedSamples:
    """Samples of the sentences of a micro-batch, and their rewards."""

    targets: tuple[Tensor, ...]
    """For each k a sample of every sentence: BOS, tokens and EOS, padded; B, T."""
    advantages: tuple[Tensor, ...]
    """For each k, (r_k − r̄) / K of every sentence: B."""
    reward: float
    """The sum of r̄ over the sentences."""


def draw_candidates(
    model: Seq2Seq, source_BS: Tensor, target_BT: Tensor, count: int, seed: int, longest: int | None
) -> RewardedSamples:
    """Draw `count` samples of each sentence, and reward them; `longest` is the most tokens that the model can write."""
    references = [_tokens(row) for row in target_BT.tolist()]
    source_RS = source_BS.repeat_interleave(count, dim=0)
    drawn: list[tuple[int, ...]] = []
    for first in range(0, len(source_RS), ROWS):
        rows_RS = source_RS[first : first + ROWS]
        seeds = [(seed + row) % 2**63 for row in range(first, first + len(rows_RS))]
        decode = DecodeConfig(extra_length=EXTRA_LENGTH)
        drawn += [found.tokens for found in sample(model, rows_RS, decode, Sampling(), seeds=seeds, longest=longest)]
    rewards_BK = torch.tensor(
        [[gleu(one, wanted) for one in drawn[count * b : count * (b + 1)]] for b, wanted in enumerate(references)],
        dtype=torch.float64,
    )
    mean_B1 = rewards_BK.mean(1, keepdim=True)
    advantage_BK = ((rewards_BK - mean_B1) / count).to(torch.get_default_dtype())
    targets = tuple(_padded(drawn[k::count]) for k in range(count))
    return RewardedSamples(targets, advantage_BK.unbind(1), float(mean_B1.sum()))


def _tokens(row: list[int]) -> list[int]:
    """Return the tokens between BOS and EOS."""
    return row[1 : row.index(EOS)]


def _padded(rows: Sequence[tuple[int, ...]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[BOS, *row, EOS, *[PAD] * (longest - len(row))] for row in rows])
