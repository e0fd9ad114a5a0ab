"""Which findings reappear, on figures that were made up; and that the paper's own figures say what we say it finds."""

import math
import random

import pytest

from regard.config.presets import paper_figures
from regard.paper.experiment import read_experiment
from regard.paper.table3.findings import Change, Finding, Point, RowComparison, Verdict, judge, verdict
from regard.paper.table3.paired import Interval
from regard.paper.table3.plan import Table3

NOISE = {1: 0.002, 2: -0.002, 3: 0.0}


def compared(**rows: float) -> RowComparison:
    """Rows with this ratio of perplexity to base's, and so much BLEU less; the noise of base goes the other way."""
    points = {"base": {seed: Point(5 * (1 - noise), 25 + 100 * noise) for seed, noise in NOISE.items()}}
    for name, ratio in rows.items():
        points[name] = {seed: Point(5 * ratio * (1 + noise), 25 - 10 * (ratio - 1)) for seed, noise in NOISE.items()}
    return RowComparison.of(points)


@pytest.mark.parametrize(
    ("expected", "low", "high", "said"),
    [
        ("higher", 0.1, 5.0, "reappears"),
        ("higher", -0.1, 5.0, "not seen"),
        ("higher", -5.0, -0.1, "contradicted"),
        ("lower", -5.0, -0.1, "reappears"),
        ("lower", 0.1, 5.0, "contradicted"),
        ("same", -1.9, 1.9, "reappears"),
        ("same", 0.1, 1.9, "reappears"),  # a difference, but too small to matter
        ("same", -1.0, 2.1, "not seen"),
        ("same", -2.1, 1.0, "not seen"),
        ("same", 2.1, 4.0, "contradicted"),
        ("same", -4.0, -2.1, "contradicted"),
    ],
)
def test_verdicts(expected: Change, low: float, high: float, said: Verdict) -> None:
    assert verdict(expected, Interval((low + high) / 2, low, high, (1, 2, 3)), margin=2.0) == said


def test_difference_in_percent_of_perplexity_with_its_interval() -> None:
    finding = Finding(row="x", says="so", ppl="higher", bleu="lower")
    found = judge(finding, compared(x=1.1), 2.0)
    assert found.verdict == "reappears" and found.seeds == (1, 2, 3) and found.group == "x"
    assert found.difference == pytest.approx(10.0, abs=1e-3)
    assert found.interval is not None and found.interval[0] < 10.0 < found.interval[1] < 12
    low, high = (math.log1p(bound / 100) for bound in found.interval)
    assert (low + high) / 2 == pytest.approx(math.log(1.1), abs=1e-5)


def test_bleu_is_second_and_does_not_change_the_verdict() -> None:
    finding = Finding(row="x", says="so", ppl="higher", bleu="higher")
    found = judge(finding, compared(x=1.3), 2.0)
    assert found.bleu is not None and found.bleu.difference == pytest.approx(-3.0)
    assert found.verdict == "reappears" and found.bleu.verdict == "contradicted"
    unsaid = judge(Finding(row="x", says="so", ppl="same"), compared(x=1.0), 2.0)
    assert unsaid.verdict == "reappears" and unsaid.bleu is not None and unsaid.bleu.verdict is None


def test_what_was_not_run_is_not_judged() -> None:
    finding = Finding(row="x", says="so", ppl="higher")
    found = judge(finding, compared(y=1.1), 2.0)
    assert (found.verdict, found.reason, found.difference, found.interval) == (
        "not judged",
        "x was not run",
        None,
        None,
    )
    assert judge(finding, RowComparison.of({}), 2.0).reason == "base was not run"
    once = {
        "base": {1: Point(5, 25), 2: Point(5.1, 25)},
        "y": {1: Point(5, 25), 2: Point(5, 24)},
        "x": {1: Point(9, 1)},
    }
    assert "two seeds in common" in str(judge(finding, RowComparison.of(once), 2.0).reason)


def test_the_paper_finds_what_we_say_it_does() -> None:
    table = read_experiment(Table3, "table3", None)
    draw = random.Random(1)
    points = {
        name: {seed: Point(paper.ppl * (1 + draw.gauss(0, 1e-4)), paper.bleu + draw.gauss(0, 1e-2)) for seed in (1, 2)}
        for name in table.rows
        if (paper := paper_figures(name)) is not None
    }
    judged = [judge(finding, RowComparison.of(points), table.margin) for finding in table.findings]
    assert {one.verdict for one in judged} == {"reappears"}
    assert {one.bleu.verdict for one in judged if one.bleu is not None} == {"reappears", None}
    assert {one.group for one in judged} == {*"ABCDE", "big"}
