"""Paired differences: the t distribution and the pooled deviation."""

import math
import random

import pytest

from regard.paper.table3.paired import QUANTILE, Pooled, interval, pooled, t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 22, 40])
def test_quantile_of_student_t_by_numerical_integration(degrees: int) -> None:
    size = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
    t, slices = t_quantile(degrees), 20_000
    middles = ((at + 0.5) * t / slices for at in range(slices))
    inside = 2 * sum(size * (1 + x * x / degrees) ** (-(degrees + 1) / 2) for x in middles) * t / slices
    assert inside == pytest.approx(QUANTILE, abs=1e-5)


def test_difference_is_the_mean_over_common_seeds() -> None:
    values = {"base": {1: 1.0, 2: 2.0, 3: 3.0}, "x": {2: 2.5, 3: 3.1, 9: 100.0}}
    found = interval(values, "x", "base", Pooled(0.1, 4))
    assert found is not None and found.seeds == (2, 3)
    assert found.difference == pytest.approx(0.3)
    assert found.high - found.difference == pytest.approx(t_quantile(4) * 0.1 * math.sqrt(2 / 2))
    assert found.sign == 1
    wide, lower = interval(values, "x", "base", Pooled(0.4, 4)), interval(values, "base", "x", Pooled(0.1, 4))
    assert wide is not None and wide.sign == 0 and lower is not None and lower.sign == -1


def test_one_common_seed_says_nothing() -> None:
    assert interval({"base": {1: 1.0, 2: 1.0}, "x": {2: 1.0}}, "x", "base", Pooled(0.1, 4)) is None


def test_deviation_by_the_formula_of_a_balanced_table() -> None:
    draw = random.Random(1)
    values = {row: {seed: draw.gauss() for seed in (1, 2, 3)} for row in "abcd"}
    mean = sum(value for seeds in values.values() for value in seeds.values()) / 12
    rows = {row: sum(seeds.values()) / 3 for row, seeds in values.items()}
    seeds = {seed: sum(values[row][seed] for row in "abcd") / 4 for seed in (1, 2, 3)}
    squares = sum((values[r][s] - rows[r] - seeds[s] + mean) ** 2 for r in "abcd" for s in (1, 2, 3))
    found = pooled(values)
    assert found is not None and found.degrees == 6
    assert found.deviation == pytest.approx(math.sqrt(squares / 6))


def test_seeds_of_base_alone_change_nothing() -> None:
    values = {"base": {1: 1.0, 2: 1.3}, "x": {1: 2.0, 2: 2.1}}
    alone, more = pooled(values), pooled({**values, "base": {**values["base"], 3: 9.0}})
    assert alone is not None and more is not None and alone.degrees == more.degrees == 1
    assert alone.deviation == pytest.approx(more.deviation)


def test_too_few_runs_have_no_deviation() -> None:
    assert pooled({"base": {1: 1.0, 2: 2.0}}) is None
    assert pooled({"base": {1: 1.0}, "x": {1: 2.0}}) is None
