"""Which findings reappear, on figures that were made up; and that the paper's own figures say what we say it finds."""

import pytest

from regard.config.presets import paper_figures
from regard.paper.experiment import read_experiment
from regard.paper.findings import Expectation, Finding, Point, judge, spread
from regard.paper.table3 import Table3

BASE = [Point(5.0, 25.0), Point(5.2, 25.6)]  # mean 5.1 and 25.3; 0.2 and 0.6 apart
WORSE = Expectation(row="x", ppl="higher", bleu="lower")


def verdict(row: Point, *expect: Expectation) -> str:
    return judge(Finding(group="A", says="so", expect=expect), {"x": row}, BASE).verdict


def test_spread_is_the_largest_difference_between_seeds() -> None:
    assert spread([Point(5, 25), Point(6, 23), Point(5.5, 26)]) == Point(1, 3)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Point(5.4, 24.5), "reappears"),
        (Point(5.4, 25.0), "in part"),  # BLEU is within the spread
        (Point(5.2, 25.0), "not seen"),
        (Point(4.8, 26.0), "the opposite"),
        (Point(4.8, 25.0), "not seen"),
        (Point(5.4, 26.0), "in part"),
    ],
)
def test_worse_by_more_than_chance(row: Point, expected: str) -> None:
    assert verdict(row, WORSE) == expected


def test_the_same_is_what_lies_within_the_spread() -> None:
    same = Expectation(row="x", ppl="same", bleu="same")
    assert verdict(Point(5.2, 25.8), same) == "reappears"
    assert verdict(Point(5.4, 25.3), same) == "in part"
    assert verdict(Point(5.4, 24.0), same) == "the opposite"


def test_the_numbers_stand_beside_the_verdict() -> None:
    found = judge(Finding(group="A", says="so", expect=(WORSE,)), {"x": Point(5.4, 25.0)}, BASE)
    assert found.because == ["x PPL +0.30 (spread 0.20): seen", "x BLEU -0.30 (spread 0.60): not seen"]


def test_nothing_is_judged_without_the_row_or_by_one_seed() -> None:
    finding = Finding(group="A", says="so", expect=(WORSE,))
    assert judge(finding, {}, BASE).because == ["not run: x"]
    alone = judge(finding, {"x": Point(9, 1)}, BASE[:1])
    assert alone.verdict == "not judged" and "two seeds" in alone.because[0]


def test_the_paper_finds_what_we_say_it_does() -> None:
    table = read_experiment(Table3, "table3", None)
    points = {name: Point(paper.ppl, paper.bleu) for name in table.rows if (paper := paper_figures(name)) is not None}
    base = points["base"]
    near = [Point(base.ppl - 0.005, base.bleu - 0.051), Point(base.ppl + 0.005, base.bleu + 0.051)]
    verdicts = {finding.says: judge(finding, points, near).verdict for finding in table.findings}
    assert set(verdicts.values()) == {"reappears"}, verdicts
    assert {finding.group for finding in table.findings} == set("ABCDE")
