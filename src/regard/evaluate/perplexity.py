"""The log probability of given translations, token by token.

Shapes: B pairs, S source positions, T target positions, D features, N positions of all pairs, R of them at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config.special_tokens import BOS, EOS, PAD
from regard.engines.engine import BATCH_TOKENS, Progress, batches, quiet
from regard.engines.torch_engine import padded
from regard.errors import Failed, UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.hypothesis import NO_NUMBERS
from regard.text.normalise import normalise
from regard.translate.translator import Translator, reach

SCORES = 1 << 22  # logits in memory at once


@dataclass(frozen=True)
class Scored:
    """The scores that a model assigns to a given translation."""

    tokens: tuple[str, ...]
    """The pieces of the target, EOS left out."""
    token_scores: tuple[float, ...]
    """The log probability of each, and last that of EOS."""

    @property
    def log_probability(self) -> float:
        return math.fsum(self.token_scores)

    @property
    def perplexity(self) -> float:
        return perplexity([self])


def perplexity(scored: Sequence[Scored]) -> float:
    """Return exp of the mean negative log probability of a token, EOS included."""
    count = sum(len(one.token_scores) for one in scored)
    mean = -math.fsum(one.log_probability for one in scored) / count if count else 0.0
    return math.exp(mean) if mean < 700 else math.inf


def score_texts(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    target_language: str | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress = quiet,
) -> list[Scored]:
    """Score pairs of texts. Each is scored whole, as in training: no text is split into sentences.

    One that is longer than the model can read is a UserError, before anything is computed.
    """
    assert len(sources) == len(targets)
    tag = translator.tag(target_language)
    source_ids = translator.source_subwords.encode([normalise(text, translator.form) for text in sources])
    target_ids = translator.target_subwords.encode([normalise(text, translator.form) for text in targets])
    source_ids = [[*tag, *ids] for ids in source_ids]
    longest = reach(translator.saved)
    for number, pair in enumerate(zip(source_ids, target_ids, strict=True) if longest is not None else (), start=1):
        if (length := max(map(len, pair))) > (longest or 0):
            raise UserError(
                f"line {number}: {length} tokens, but the model can read no more than {longest} at once; "
                "leave the line out, or divide it"
            )
    scores = score_ids(translator.model, source_ids, target_ids, batch_tokens=batch_tokens, progress=progress)
    pieces = translator.target_subwords.pieces
    return [Scored(tuple(pieces(ids)), found) for ids, found in zip(target_ids, scores, strict=True)]


@torch.inference_mode()
def score_ids(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress = quiet,
) -> list[tuple[float, ...]]:
    """Return the log probability of every target token and of EOS after them, given the source."""
    found: list[tuple[float, ...]] = [()] * len(sources)
    device = next(model.parameters()).device
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    for batch in batches(lengths, batch_tokens):
        source_BS = padded([sources[number] for number in batch], device)
        expected_BT = padded([targets[number] for number in batch], device)
        before_BT = torch.cat((torch.full_like(expected_BT[:, :1], BOS), expected_BT[:, :-1]), dim=1)
        scores_BT = _scores(model, source_BS, before_BT.masked_fill(before_BT == EOS, PAD), expected_BT)
        for number, scores in zip(batch, scores_BT.tolist(), strict=True):
            found[number] = tuple(scores[: len(targets[number]) + 1])
        progress(len(batch))
    return found


def _scores(model: Seq2Seq, source_BS: Tensor, before_BT: Tensor, expected_BT: Tensor) -> Tensor:
    """Return log p(expected) = logit - log Σ exp logits, a few positions at a time; 0 where there is padding."""
    features_ND = model.features(source_BS, before_BT).flatten(0, 1)
    expected_N = expected_BT.flatten()
    kept_N = (expected_N != PAD).nonzero()[:, 0]
    scores_N = torch.zeros(len(expected_N), dtype=torch.float64, device=expected_N.device)
    vocabulary = model.logits(features_ND[:1]).shape[-1]
    for kept_R in kept_N.split(max(1, SCORES // vocabulary)):  # type: ignore[no-untyped-call]
        logits_RV = model.logits(features_ND[kept_R]).float()
        logit_R = logits_RV.gather(1, expected_N[kept_R][:, None])[:, 0]
        score_R = (logit_R - logits_RV.logsumexp(1)).double().clamp(max=0.0)
        if not score_R.isfinite().all():
            raise Failed(NO_NUMBERS)
        scores_N[kept_R] = score_R
    return scores_N.view(expected_BT.shape)
