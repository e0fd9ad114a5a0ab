"""Test the rule of Table 3 on simulated rows: how often is a difference reported where there is none?

All simulated rows have the same mean. The value of a row with a seed is the effect of the seed plus normal noise, and
each row is compared with base by the rule of paired.py. Every comparison that comes out as different is a false one.
The comparisons of a table share base and the deviation, so the standard error is computed over tables, not comparisons.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.paper.markdown import table
from regard.paper.table3.findings import BASE
from regard.paper.table3.paired import CONFIDENCE, Cells, half_width, residuals

Floats = NDArray[np.float64]
TABLES = 100_000
TOGETHER = 10_000  # tables simulated at once


@dataclass(frozen=True)
class Case:
    """A kind of table to simulate."""

    name: str
    cells: Cells
    seed_effect: float = 0.0
    """Deviation of the seeds' effects; that of the noise is 1."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Deviation of the noise in rows where it is not 1."""


@dataclass(frozen=True)
class Simulated:
    """The share of comparisons without a difference that were reported as different."""

    case: str
    tables: int
    comparisons: int
    degrees: int
    share: float
    standard_error: float
    worst_row: float
    """The share in the row that has most."""

    @property
    def bound(self) -> float:
        """Two standard errors above the share."""
        return self.share + 2 * self.standard_error


def cases(rows: Sequence[str], seeds: Sequence[int], base_seeds: Sequence[int]) -> list[Case]:
    """Return tables with the plan's rows and seeds, and incomplete ones."""
    others = [row for row in rows if row != BASE]
    base = [(BASE, seed) for seed in (*seeds, *base_seeds)]
    full = base + [(row, seed) for row in others for seed in seeds]
    two = base[:2] + [(row, seed) for row in others for seed in seeds[:2]]
    part = base + [(row, seed) for number, row in enumerate(others) for seed in seeds[: 2 + number % 2]]
    return [
        Case("the plan", full),
        Case("the plan, seeds with an effect of 3 deviations", full, seed_effect=3.0),
        Case("base and one row", [cell for cell in full if cell[0] in (BASE, others[0])]),
        Case("two seeds", two),
        Case("every second row lacks a seed", part, seed_effect=3.0),
        Case("every second row has 1.2 times the noise", full, noise=dict.fromkeys(others[::2], 1.2)),
        Case("one row has twice the noise", full, noise={others[0]: 2.0}),
    ]


def simulate(case: Case, tables: int = TABLES, seed: int = 1) -> Simulated:
    """Simulate tables without a difference, and compare each row with base."""
    matrix, degrees = residuals(case.cells)
    others = _others(case.cells)
    shares, differing = np.empty(tables), np.zeros(len(others))
    random = np.random.default_rng(seed)
    for first in range(0, tables, TOGETHER):
        values = draw_tables(case, random, min(TOGETHER, tables - first))
        deviations = np.sqrt(np.square(values @ matrix).sum(1) / degrees)
        different = np.stack([_different(case.cells, values, row, degrees, deviations) for row in others], axis=1)
        shares[first : first + len(values)] = different.mean(1)
        differing += different.sum(0)
    return Simulated(
        case=case.name,
        tables=tables,
        comparisons=tables * len(others),
        degrees=degrees,
        share=float(shares.mean()),
        standard_error=float(shares.std(ddof=1)) / math.sqrt(tables),
        worst_row=float(differing.max()) / tables,
    )


def draw_tables(case: Case, random: np.random.Generator, tables: int) -> Floats:
    """Return the values of all runs: a row of the result for each table."""
    seeds = sorted({seed for _, seed in case.cells})
    effects = case.seed_effect * random.standard_normal((tables, len(seeds)))
    noise = random.standard_normal((tables, len(case.cells)))
    size = np.array([case.noise.get(row, 1.0) for row, _ in case.cells])
    values: Floats = effects[:, [seeds.index(seed) for _, seed in case.cells]] + noise * size
    return values


def _others(cells: Cells) -> list[str]:
    return list(dict.fromkeys(row for row, _ in cells if row != BASE))


def _different(cells: Cells, values: Floats, row: str, degrees: int, deviations: Floats) -> NDArray[np.bool_]:
    """Return for each table whether the interval of a row's difference from base excludes 0."""
    seeds = [{seed for name, seed in cells if name == one} for one in (row, BASE)]
    common = sorted(seeds[0] & seeds[1])
    here, there = ([cells.index((one, seed)) for seed in common] for one in (row, BASE))
    mean = (values[:, here] - values[:, there]).mean(1)
    different: NDArray[np.bool_] = np.abs(mean) > half_width(degrees, len(common)) * deviations
    return different


def report(found: Sequence[Simulated]) -> dict[str, Any]:
    """Return the results as plain values."""
    allowed = round(1 - CONFIDENCE, 9)
    entries = [asdict(one) | {"bound": one.bound, "holds": one.bound <= allowed} for one in found]
    return {"allowed": allowed, "cases": entries}


def as_markdown(report: dict[str, Any]) -> str:
    """Return the results as a table."""
    heads = ["simulated tables without a difference", "degrees", "reported as different", "at most", "worst row"]
    rows = [
        [
            one["case"],
            str(one["degrees"]),
            f"{one['share']:.2%}",
            f"{one['bound']:.2%}{'' if one['holds'] else ' (!)'}",
            f"{one['worst_row']:.2%}",
        ]
        for one in report["cases"]
    ]
    return (
        f"{table(heads, rows)}\n\n{report['cases'][0]['tables']:,} tables of each kind; {report['allowed']:.0%} are "
        'allowed. "At most" is two standard errors above the share.'
    )
