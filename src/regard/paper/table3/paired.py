"""Differences between the rows of a table, paired by seed, with 95 % intervals.

Every row y is trained with the same seeds, and the value of row r with seed s is taken as

    y_rs = mean of the row + effect of the seed + noise,

so that the difference of two rows with the same seed is free of the seed's effect. The deviation of the noise is that
of the residuals of this model (a two-way analysis of variance), pooled over all rows. With R rows of S seeds it has
(R - 1)(S - 1) degrees of freedom; seeds of base alone add none. Pooling the deviations of the differences themselves,
R(S - 1) degrees, would count base's noise once for each row and report differences where there are none.

With normal noise, equally large in all rows, the mean difference over the deviation then has Student's t distribution
exactly: where every row has all seeds the mean difference is the least-squares estimate, which is independent of the
residuals. Where seeds are missing it is not, but then both grow together, so that false differences get rarer. The
quantile is that of 95.5 %, a little more than the 95 % that are claimed, because noise is never quite equal.
simulation.py shows what comes of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
QUANTILE = 0.955

Values = Mapping[str, Mapping[int, float]]
"""A figure by row and seed."""
Cells = Sequence[tuple[str, int]]
"""The runs of a table: row and seed."""


@dataclass(frozen=True)
class Pooled:
    """The standard deviation of a run around the effects of its row and its seed."""

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


def residuals(cells: Cells) -> tuple[NDArray[np.float64], int]:
    """Return the matrix that takes the means of rows and the effects of seeds out of the cells' values.

    Also return how many degrees of freedom are left.
    """
    rows, seeds = sorted({row for row, _ in cells}), sorted({seed for _, seed in cells})
    design = np.zeros((len(cells), len(rows) + len(seeds)))
    for at, (row, seed) in enumerate(cells):
        design[at, rows.index(row)] = design[at, len(rows) + seeds.index(seed)] = 1
    matrix = np.eye(len(cells)) - design @ np.linalg.pinv(design)
    return matrix, len(cells) - int(np.linalg.matrix_rank(design))


def pooled(values: Values) -> Pooled | None:
    """Return the deviation pooled over all rows; None if there are too few runs to estimate it."""
    cells = [(row, seed) for row, seeds in values.items() for seed in seeds]
    matrix, degrees = residuals(cells)
    if degrees < 1:
        return None
    left = matrix @ np.array([values[row][seed] for row, seed in cells])
    return Pooled(float(np.sqrt(left @ left / degrees)), degrees)


def interval(values: Values, row: str, base: str, chance: Pooled) -> Interval | None:
    """Return the paired difference of a row from base; None with fewer than two common seeds."""
    common = tuple(sorted(values.get(row, {}).keys() & values.get(base, {}).keys()))
    if len(common) < 2:
        return None
    mean = sum(values[row][seed] - values[base][seed] for seed in common) / len(common)
    half = half_width(chance.degrees, len(common)) * chance.deviation
    return Interval(mean, mean - half, mean + half, common)


def half_width(degrees: int, seeds: int) -> float:
    """Return half the width of the interval of a difference over so many seeds, in deviations of a run."""
    return t_quantile(degrees) * math.sqrt(2 / seeds)


def t_quantile(degrees: int, confidence: float = QUANTILE) -> float:
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
