"""Files of trees, measured."""

from pathlib import Path

import pytest

from regard.errors import UserError
from regard.evaluate.parse_report import measured, read_pairs, summary, table
from regard.evaluate.parseval import Counts

CAT = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)))"
SHORT = Counts(0, 3, 4, 4, 0, 3, 3, 40)
LONG = Counts(0, 1, 4, 4, 0, 41, 20, 41)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("gold").write_text(f"{CAT}\n" * 3, encoding="utf-8")
    Path("parses").write_text(f"{CAT}\n\n()\n", encoding="utf-8")
    Path("penn").write_text(f"\n{CAT.replace(' (', f'{chr(10)}  (')}\n" * 3, encoding="utf-8")
    Path("four").write_text(f"{CAT}\n" * 4, encoding="utf-8")
    Path("bare").write_text(f"{CAT}\n" + f"{CAT.replace('TOP', '')}\n" * 2, encoding="utf-8")
    Path("broken").write_text(f"{CAT}\n{CAT[:-1]}\n{CAT}\n", encoding="utf-8")
    return tmp_path


def measure(gold: str, parses: str) -> tuple[list[Counts], list[str]]:
    warnings: list[str] = []
    return list(measured(gold, parses, warnings.append)), warnings


def test_sentences_without_a_parse(files: Path) -> None:
    sentences, warnings = measure("gold", "parses")
    assert [one.status for one in sentences] == [0, 2, 2] and warnings == []


def test_trees_over_lines(files: Path) -> None:
    assert measure("penn", "gold") == measure("gold", "gold")
    assert [one.matched for one in measure("gold", "penn")[0]] == [3, 3, 3]


@pytest.mark.parametrize(
    ("gold", "parses", "counts"),
    [("gold", "four", "gold has 3 trees and four has 4"), ("four", "parses", "four has 4 trees and parses has 3")],
)
def test_different_numbers_of_trees(files: Path, gold: str, parses: str, counts: str) -> None:
    with pytest.raises(UserError, match=f"{counts}, but each belongs to one of the other"):
        list(read_pairs(gold, parses))


def test_a_broken_parse_is_told(files: Path) -> None:
    with pytest.raises(UserError, match="broken, line 2, column 1: the tree from here does not end"):
        measure("gold", "broken")


def test_a_root_without_a_label_on_one_side_only(files: Path) -> None:
    for pair in (("gold", "bare"), ("bare", "gold")):
        sentences, (warning,) = measure(*pair)
        assert warning.startswith("bare has trees with a root without a label, gold has not")
        assert [one.gold + one.test for one in sentences] == [6, 7, 7]
    assert measure("bare", "bare")[1] == []


def test_short_sentences_are_summed_apart() -> None:
    figures = summary([SHORT, LONG, Counts(1, length=41), Counts(2, length=1)])
    assert (figures["recall"], figures["up_to_40"]["recall"]) == (50, 75)
    assert (figures["sentences"], figures["up_to_40"]["sentences"]) == (4, 2)
    assert (figures["errors"], figures["up_to_40"]["errors"]) == (1, 0)


def test_a_table() -> None:
    lines = table(summary([SHORT, LONG])).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["F1", "50.00", "75.00"] and lines[-1].split() == ["measured", "2", "1"]
