"""The paper's findings in Table 3, and whether they reappear by more than the variation between seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from regard.config.checked import Frozen

Change = Literal["higher", "lower", "same"]
Seen = Literal["seen", "not seen", "the opposite"]
Verdict = Literal["reappears", "in part", "not seen", "the opposite", "not judged"]
MEASURES = {"ppl": "PPL", "bleu": "BLEU"}


class Point(NamedTuple):
    """The two figures of a row."""

    ppl: float
    bleu: float

    def less(self, other: "Point") -> "Point":
        return Point(self.ppl - other.ppl, self.bleu - other.bleu)


class Expectation(Frozen):
    """How a row differs from base in the paper."""

    row: str
    ppl: Change | None = None
    bleu: Change | None = None


class Finding(Frozen):
    """A statement of section 6.2, and the differences that support it."""

    group: str
    says: str
    expect: tuple[Expectation, ...]


@dataclass(frozen=True)
class Judgement:
    """Whether a finding reappears, and why."""

    group: str
    says: str
    verdict: Verdict
    because: list[str]


def mean(points: Sequence[Point]) -> Point:
    return Point(*(sum(side) / len(points) for side in zip(*points, strict=True)))


def spread(base: Sequence[Point]) -> Point:
    """Return the range of base over its seeds."""
    return Point(*(max(side) - min(side) for side in zip(*base, strict=True)))


def judge(finding: Finding, rows: Mapping[str, Point], base: Sequence[Point]) -> Judgement:
    """Compare each row of a finding with the mean of base; a difference within the spread counts as none."""
    missing = [one.row for one in finding.expect if one.row not in rows]
    if len(base) < 2 or missing:
        reason = f"not run: {', '.join(missing)}" if missing else "base needs two seeds to tell what is chance"
        return Judgement(finding.group, finding.says, "not judged", [reason])
    centre, chance = mean(base), spread(base)
    found: list[Seen] = []
    because = []
    for one in finding.expect:
        for measure, name in MEASURES.items():
            expected: Change | None = getattr(one, measure)
            if expected is not None:
                difference = getattr(rows[one.row].less(centre), measure)
                allowed = getattr(chance, measure)
                found.append(_seen(expected, difference, allowed))
                because.append(f"{one.row} {name} {difference:+.2f} (spread {allowed:.2f}): {found[-1]}")
    return Judgement(finding.group, finding.says, _verdict(found), because)


def _seen(expected: Change, difference: float, allowed: float) -> Seen:
    if expected == "same":
        return "seen" if abs(difference) <= allowed else "the opposite"
    if abs(difference) <= allowed:
        return "not seen"
    return "seen" if (difference > 0) == (expected == "higher") else "the opposite"


def _verdict(found: Sequence[Seen]) -> Verdict:
    kinds = set(found)
    if kinds == {"seen"}:
        return "reappears"
    if "seen" in kinds:
        return "in part"
    return "not seen" if "not seen" in kinds else "the opposite"
