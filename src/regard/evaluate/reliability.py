"""The reliability of confidence: how well it predicts the quality of translations, sentence chrF."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF

from regard.errors import UserError
from regard.evaluate.bleu import References, Tokens, bleu
from regard.evaluate.calibration import spearman

GROUPS = 10
LEAST = 2 * GROUPS  # translations
LEFT_OUT = 5  # one in so many, the least sure


@dataclass(frozen=True)
class Reliability:
    """The confidence of translations beside their chrF."""

    spearman: float
    """Rank correlation of confidence and sentence chrF."""
    bleu: float
    """BLEU of all translations that have a confidence."""
    bleu_without_least_sure_fifth: float
    groups: list[tuple[float, float]]
    """Mean confidence and mean chrF, both from 0 to 1, of ten equal groups by confidence."""


def reliability(
    confidences: Sequence[float | None], hypotheses: Sequence[str], references: References, tokens: Tokens = "13a"
) -> Reliability:
    """Compare the confidence of translations with their chrF; those without a confidence are left out."""
    right = list(zip(*references, strict=True))
    sure = [(found, n) for n, found in enumerate(confidences) if found is not None]
    if len(sure) < LEAST:
        raise UserError(
            f"{len(sure):,} translations have a confidence, too few for its reliability ({LEAST}); a model gets "
            "one with `regard calibrate`"
        )
    chrf = CHRF()
    quality = {n: chrf.sentence_score(hypotheses[n], list(right[n])).score / 100 for _, n in sure}
    ordered = sorted(sure)
    rows = [(found, quality[n]) for found, n in ordered]
    groups = [rows[at * len(rows) // GROUPS : (at + 1) * len(rows) // GROUPS] for at in range(GROUPS)]

    def score(chosen: Sequence[tuple[float, int]]) -> float:
        texts = [hypotheses[n] for _, n in chosen]
        return bleu(texts, [[lines[n] for _, n in chosen] for lines in references], tokens).value

    return Reliability(
        spearman([found for found, _ in rows], [one for _, one in rows]),
        score(ordered),
        score(ordered[len(ordered) // LEFT_OUT :]),
        [(_mean([found for found, _ in group]), _mean([one for _, one in group])) for group in groups],
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
