"""The paper's findings in Table 3, and whether they reappear.

The rule, fixed before the runs: a row is compared with base on the seeds that both were trained with. Perplexity
decides, as a ratio; BLEU is reported beside it. A difference counts if its 95 % interval excludes zero, and "the same"
is shown only if the interval lies within the margin. What was not run is not judged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from regard.config.checked import Frozen
from regard.paper.table3.paired import Interval, Pooled, Values, interval, pooled

BASE = "base"

Change = Literal["higher", "lower", "same"]
Verdict = Literal["reappears", "not seen", "contradicted", "not judged"]


class Point(NamedTuple):
    """The two figures of a run."""

    ppl: float
    bleu: float


Points = Mapping[str, Mapping[int, Point]]
"""The figures by row and seed."""


class Finding(Frozen):
    """A statement of section 6.2 about one row, and how the row differs from base in the paper."""

    row: str
    says: str
    ppl: Change
    bleu: Literal["higher", "lower"] | None = None


@dataclass(frozen=True)
class MeasuredDifference:
    """A difference from base with its interval, and the verdict on it."""

    difference: float
    interval: tuple[float, float]
    verdict: Verdict | None
    """None where nothing is expected."""


@dataclass(frozen=True)
class JudgedFinding:
    """The judgement of a finding: whether it reappears, with its interval."""

    group: str
    row: str
    says: str
    expected: Change
    verdict: Verdict
    difference: float | None
    """Difference of the perplexity, in percent of base's."""
    interval: tuple[float, float] | None
    bleu: MeasuredDifference | None
    """Difference of BLEU, in points; it does not change the verdict."""
    seeds: tuple[int, ...]
    reason: str | None
    """The reason why it was not judged."""


@dataclass(frozen=True)
class RowComparison:
    """The rows of a table as the rule compares them: the logarithm of perplexity, and BLEU."""

    logs: Values
    bleu: Values
    chance: tuple[Pooled, Pooled] | None

    @classmethod
    def of(cls, points: Points) -> "RowComparison":
        logs = {row: {seed: math.log(it.ppl) for seed, it in seeds.items()} for row, seeds in points.items()}
        bleu = {row: {seed: it.bleu for seed, it in seeds.items()} for row, seeds in points.items()}
        log_chance, bleu_chance = (pooled(values) if values else None for values in (logs, bleu))
        return cls(logs, bleu, None if log_chance is None or bleu_chance is None else (log_chance, bleu_chance))

    def perplexity(self, row: str) -> Interval | None:
        """Return a row's difference from base in percent of base's perplexity."""
        found = None if self.chance is None else interval(self.logs, row, BASE, self.chance[0])
        if found is None:
            return None
        mean, low, high = (100 * math.expm1(value) for value in (found.difference, found.low, found.high))
        return Interval(mean, low, high, found.seeds)

    def points(self, row: str) -> Interval | None:
        """Return a row's difference from base in points of BLEU."""
        return None if self.chance is None else interval(self.bleu, row, BASE, self.chance[1])


def group(row: str) -> str:
    return row.partition("-")[0]


def judge(finding: Finding, compared: RowComparison, margin: float) -> JudgedFinding:
    """Judge a finding; the margin is what "the same" allows, in percent of perplexity."""
    row, says, expected = finding.row, finding.says, finding.ppl
    ppl, bleu = compared.perplexity(row), compared.points(row)
    if ppl is None or bleu is None:
        reason = _missing(row, compared)
        return JudgedFinding(group(row), row, says, expected, "not judged", None, None, None, (), reason)
    second = MeasuredDifference(
        bleu.difference, (bleu.low, bleu.high), finding.bleu and verdict(finding.bleu, bleu, margin)
    )
    first, bounds = verdict(expected, ppl, margin), (ppl.low, ppl.high)
    return JudgedFinding(group(row), row, says, expected, first, ppl.difference, bounds, second, ppl.seeds, None)


def verdict(expected: Change, found: Interval, margin: float) -> Verdict:
    """Say whether an interval agrees with the expectation, contradicts it, or neither."""
    if expected == "same":
        if -margin <= found.low and found.high <= margin:
            return "reappears"
        return "contradicted" if found.low > margin or found.high < -margin else "not seen"
    if found.sign == 0:
        return "not seen"
    return "reappears" if (found.sign > 0) == (expected == "higher") else "contradicted"


def _missing(row: str, compared: RowComparison) -> str:
    for name in (BASE, row):
        if not compared.logs.get(name):
            return f"{name} was not run"
    return f"{row} and base need two seeds in common to tell a difference from chance"
