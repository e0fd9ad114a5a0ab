"""Table 4: published parsers, and what `regard evaluate` found."""

import json
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.paper.table4 import as_markdown, ours, report


def test_ours_stands_under_the_published(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"sentences": [], "summary": {"f1": 81.23, "sentences": 400}}))
    found = ours(path)
    assert found == [{"parser": "mine", "f1": 81.23, "sentences": 400}]
    assert as_markdown(found).splitlines()[-1].split() == ["|", "mine", "|", "400", "|", "81.2", "|"]
    assert report(found)["ours"] == found and len(report([])["published"]) == 12


def test_a_parser_is_there_with_the_constraint_and_without(tmp_path: Path) -> None:
    """As `regard evaluate --gold … --model … --json` prints it."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"constrained": {"f1": 81}, "unconstrained": {"f1": 80}}))
    found = [(one["parser"], one["f1"]) for one in ours(path)]
    assert found == [("mine, constrained", 81), ("mine, unconstrained", 80)]


@pytest.mark.parametrize("content", ["[]", "{}", '{"summary": {}}', '{"summary": {"f1": "high"}}'])
def test_something_else(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(UserError, match="x.json: has no summary with f1; make it with"):
        ours(tmp_path / "x.json")
