"""Differences between the rows of a table, paired by seed, with 95 % intervals.

Every row y is trained with the same seeds, and the value of row r with seed s is taken as

    y_rs = mean of the row + effect of the seed + noise,

so that the difference of two rows with the same seed is free of the seed's effect. The deviation of the noise is that
of the residuals of this model (a two-way analysis of variance), pooled over all rows. With R rows of S seeds it has
(R - 1)(S - 1) degrees of freedom. Pooling the deviations of the differences themselves, R(S - 1) degrees, would count
base's noise once for each row and report differences where there are none.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95

Values = Mapping[str, Mapping[int, float]]
"""A figure by row and seed."""


@dataclass(frozen=True)
class Pooled:
    """The deviation of one run from what its row and its seed explain."""

    deviation: float
    degrees: int


@dataclass(frozen=True)
class Interval:
    """The mean of the differences between two rows over their common seeds, with its 95 % interval."""

    difference: float
    low: float
    high: float
    seeds: tuple[int, ...]

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes 0, else 0."""
        return (self.low > 0) - (self.high < 0)


def pooled(values: Values) -> Pooled | None:
    """Return the deviation pooled over all rows; None if there are too few runs to estimate it."""
    cells = [(row, seed, value) for row, seeds in values.items() for seed, value in seeds.items()]
    rows, seeds = sorted(values), sorted({seed for _, seed, _ in cells})
    design = np.zeros((len(cells), len(rows) + len(seeds)))
    for at, (row, seed, _) in enumerate(cells):
        design[at, rows.index(row)] = design[at, len(rows) + seeds.index(seed)] = 1
    observed = np.array([value for _, _, value in cells])
    fitted, _, rank, _ = np.linalg.lstsq(design, observed, rcond=None)
    degrees = len(cells) - int(rank)
    if degrees < 1:
        return None
    return Pooled(float(np.sqrt(np.sum((observed - design @ fitted) ** 2) / degrees)), degrees)


def interval(values: Values, row: str, base: str, chance: Pooled) -> Interval | None:
    """Return the paired difference of a row from base; None with fewer than two common seeds."""
    common = tuple(sorted(values.get(row, {}).keys() & values.get(base, {}).keys()))
    if len(common) < 2:
        return None
    mean = sum(values[row][seed] - values[base][seed] for seed in common) / len(common)
    half = t_quantile(chance.degrees) * chance.deviation * math.sqrt(2 / len(common))
    return Interval(mean, mean - half, mean + half, common)


def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return t such that Student's t with these degrees of freedom lies between -t and t with this probability."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """P(-t < T < t), in closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(degrees))
    odd = degrees % 2
    if degrees == 1:
        return 2 * angle / math.pi
    term = math.cos(angle) if odd else 1.0
    total = term
    for k in range(2 + odd, degrees - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
