"""The rule of Table 3 on simulated rows: false differences stay below 5 %, and the rule is the one that judges."""

import numpy as np
import pytest

from regard.paper.table3.paired import interval, pooled
from regard.paper.table3.simulation import Case, as_markdown, cases, draw_tables, report, simulate

ROWS = ("base", *(f"row{number}" for number in range(11)))
CASES = cases(ROWS, seeds=(1, 2, 3), base_seeds=(4, 5))


def by_the_judge(case: Case, tables: int) -> float:
    """The share of false differences, table by table with the functions that judge real runs."""
    found = []
    for values in draw_tables(case, np.random.default_rng(1), tables):
        cells: dict[str, dict[int, float]] = {}
        for (row, seed), value in zip(case.cells, values.tolist(), strict=True):
            cells.setdefault(row, {})[seed] = value
        chance = pooled(cells)
        assert chance is not None
        compared = [interval(cells, row, "base", chance) for row in cells if row != "base"]
        found.append(np.mean([one is not None and one.sign != 0 for one in compared]))
    return float(np.mean(found))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_simulation_applies_the_rule_that_judges(case: Case) -> None:
    assert simulate(case, tables=60).share == pytest.approx(by_the_judge(case, 60), abs=1e-12)


@pytest.mark.parametrize("case", CASES[:5], ids=lambda case: case.name)
def test_rows_without_a_difference_come_out_different_in_at_most_5_percent(case: Case) -> None:
    """Four standard errors below 5 % at least: not by luck."""
    found = simulate(case, tables=60_000)
    assert found.share + 4 * found.standard_error < 0.05
    assert found.share > 0.042, "the interval is not wider than it needs to be, either"


def test_standard_error_over_tables_agrees_with_repetition() -> None:
    """Comparisons share base: counting them as independent would make the error too small."""
    shares = [simulate(CASES[0], tables=1000, seed=seed).share for seed in range(60)]
    apart, found = float(np.std(shares, ddof=1)), simulate(CASES[0], tables=1000)
    assert found.standard_error == pytest.approx(apart, rel=0.35)
    assert found.standard_error > 1.5 * (0.045 * 0.955 / found.comparisons) ** 0.5


def test_cases_are_the_tables_they_say() -> None:
    assert [simulate(case, tables=2).degrees for case in CASES] == [22, 22, 2, 11, 16, 22, 22]
    noisy = draw_tables(CASES[-1], np.random.default_rng(1), 20_000).std(0)
    sizes = [2.0 if row == "row0" else 1.0 for row, _ in CASES[-1].cells]
    assert noisy == pytest.approx(sizes, rel=0.03)
    moved = draw_tables(CASES[1], np.random.default_rng(1), 20_000)
    at = [CASES[1].cells.index((row, 2)) for row in ("base", "row3")]
    assert np.corrcoef(moved[:, at].T)[0, 1] == pytest.approx(0.9, abs=0.02)  # 9 of 10 parts of the variance


def test_a_much_noisier_row_is_shown_as_such() -> None:
    found = simulate(CASES[-1], tables=5000)
    assert found.worst_row > 0.1
    page = as_markdown(report([found]))
    assert f"{found.worst_row:.2%}" in page and "5,000 tables" in page


def test_report_says_whether_it_holds() -> None:
    found = report([simulate(case, tables=20_000) for case in CASES[:2]])
    assert found["allowed"] == 0.05 and all(one["holds"] for one in found["cases"])
    few = report([simulate(CASES[0], tables=10, seed=3)])["cases"][0]
    assert few["holds"] == (few["share"] + 2 * few["standard_error"] <= 0.05)
