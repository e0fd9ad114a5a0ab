"""All figures of one evaluation, as JSON, text or LaTeX."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from regard.evaluate.bleu import OTHERS, Bucket, Comparison, References, Score, Tokens, bleu, by_length, compare

if TYPE_CHECKING:
    from regard.evaluate.reliability import Reliability

TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "ter": "TER",
    "bleu_lowercase": "BLEU, lower case",
    "bleu_compound": "BLEU, compounds split (the paper's, on 13a tokens)",
    "perplexity": "perplexity per token",
}


@dataclass(frozen=True)
class ScoreReport:
    """The scores of one evaluation, with the size of its test set."""

    scores: dict[str, Score]
    segments: int
    references: int
    by_length: list[Bucket]
    perplexity: float | None = None
    """Perplexity per token of the first reference under the model."""
    comparisons: list[Comparison] | None = None
    reliability: "Reliability | None" = None
    """Reliability of the model's confidence, if it was requested."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures; `signature` is that of `bleu`, every other figure has its own beside it."""
        figures: dict[str, Any] = {}
        for name, score in self.scores.items():
            figures[name] = score.value
            figures["signature" if name == "bleu" else f"{name}_signature"] = score.signature
        if self.perplexity is not None:
            figures["perplexity"] = self.perplexity
        figures |= {"segments": self.segments, "references": self.references}
        figures["by_length"] = [asdict(bucket) for bucket in self.by_length]
        if self.comparisons is not None:
            figures["comparisons"] = [asdict(comparison) for comparison in self.comparisons]
        if self.reliability is not None:
            figures["reliability"] = asdict(self.reliability)
        return figures

    def as_text(self) -> str:
        lines = [f"{'segments':<14}{self.segments:>9,}   references {self.references}"]
        lines += [f"{name:<14}{score.value:>9.2f}   {score.signature}" for name, score in self.scores.items()]
        if self.perplexity is not None:
            lines.append(f"{'perplexity':<14}{self.perplexity:>9.3f}   per token of the first reference")
        lines += ["", f"{'words':<14}{'bleu':>9}   sentences"]
        lines += [f"{bucket.words:<14}{bucket.bleu:>9.2f}   {bucket.sentences:,}" for bucket in self.by_length]
        for one in self.comparisons or ():
            difference = f"{one.score - one.baseline:+.2f}, p {one.p:.4f}"
            lines += ["", f"{one.metric} against the baseline's {one.baseline:.2f}: {difference}", one.signature]
        if self.reliability is not None:
            found = self.reliability
            lines += ["", f"{'confidence':<14}{found.spearman:>9.2f}   Spearman's correlation with sentence chrF"]
            kept = found.bleu_without_least_sure_fifth
            lines.append(f"{'surest 4/5':<14}{kept:>9.2f}   BLEU, of all {found.bleu:.2f}")
        return "\n".join(lines)

    def as_latex(self) -> str:
        """Return a table for a paper, with the signatures as comments."""
        rows = [(TITLES[name], f"{score.value:.1f}") for name, score in self.scores.items()]
        if self.perplexity is not None:
            rows.append((TITLES["perplexity"], f"{self.perplexity:.2f}"))
        comments = [f"% {TITLES[name]}: {score.signature}" for name, score in self.scores.items()]
        for one in self.comparisons or ():
            rows.append((f"{one.metric}, difference ($p={one.p:.3f}$)", f"${one.score - one.baseline:+.1f}$"))
            comments.append(f"% {one.metric}, difference: {one.signature}")
        body = [f"{title} & {value} \\\\" for title, value in rows]
        return "\n".join([*comments, "\\begin{tabular}{lr}", "\\hline", *body, "\\hline", "\\end{tabular}"])


def score_report(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    baseline: Sequence[str] | None = None,
    perplexity: float | None = None,
    tokens: Tokens = "13a",
    reliability: "Reliability | None" = None,
) -> ScoreReport:
    """Score translations; all lists have a line for each segment. `tokens` are those of `bleu`."""
    others = {name: measure(hypotheses, references) for name, measure in OTHERS.items()}
    return ScoreReport(
        {"bleu": bleu(hypotheses, references, tokens), **others},
        len(hypotheses),
        len(references),
        by_length(sources or references[0], hypotheses, references, tokens),
        perplexity,
        None if baseline is None else compare(baseline, hypotheses, references, tokens),
        reliability,
    )
