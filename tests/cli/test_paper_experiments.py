"""The commands of the paper's tables as a person types them."""

import json
from pathlib import Path

import pytest
from tests.support.command import regard
from typer.testing import CliRunner

from regard.cli.main import app
from regard.errors import UserError


def test_published_tables() -> None:
    assert "| Transformer big" in regard("paper", "table2")
    assert json.loads(regard("paper", "table4", "--json"))["published"][0]["f1"] == 88.3


def test_table3_and_table2(digits: Path, table_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    common = ["paper", "table3", str(table_file), "--scale", "tiny", "--data", str(digits), "--out", str(out)]
    done = CliRunner().invoke(app, [*common, "--rows", "base"], catch_exceptions=False)
    assert done.exit_code == 0 and "base-seed2, 2 of 2, about 0 min left" in done.stderr
    assert "| base " in done.stdout and "not judged: A-1 was not run" in done.stdout
    report = json.loads(regard(*common, "--rows", "A,D-drop0", "--seeds", "1", "--json"))
    assert [len(row["runs"]) for row in report["rows"]] == [2, 1, 1]
    assert report["findings"][0].keys() >= {"group", "verdict", "difference", "interval"}
    kept = tmp_path / "kept"
    kept.mkdir()
    for path in out.glob("*/figures.json"):
        (kept / f"{path.parent.name}.json").write_bytes(path.read_bytes())
    again = json.loads(regard("paper", "table3", str(table_file), "--scale", "tiny", "--results", str(kept), "--json"))
    assert {key: again[key] for key in ("rows", "findings", "code")} == {
        key: report[key] for key in ("rows", "findings", "code")
    }
    with pytest.raises(UserError, match="base-seed1.json: was trained with other settings than the plan's"):
        regard("paper", "table3", "--results", str(kept))
    for key, what in (("code", "code"), ("data", "data"), ("sample", "test sets")):
        figures = json.loads((out / "A-1-seed1" / "figures.json").read_bytes()) | {key: "another"}
        (kept / "A-1-seed1.json").write_text(json.dumps(figures), encoding="utf-8")
        with pytest.raises(UserError, match=f"A-1-seed1.json: is of other {what} than the runs before it"):
            regard("paper", "table3", str(table_file), "--scale", "tiny", "--results", str(kept))
    ours = json.loads(regard("paper", "table2", str(out / "base-seed1"), "--json"))["ours"]
    assert ours[0]["steps"] == 8 and ours[0]["flops"] > 0


def test_table3_simulated() -> None:
    found = json.loads(regard("paper", "table3", "--simulate", "--json"))
    assert found["allowed"] == 0.05 and all(one["bound"] <= 0.05 for one in found["cases"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table3", "--data", "nowhere", "--out", "x"], "nowhere: not prepared data"),
        (["table3", "none.toml", "--data", "nowhere", "--out", "x"], "none.toml: no such file"),
        (["table3", "--seeds", "1,x", "--data", "nowhere", "--out", "x"], "--seeds 1,x: a seed is a whole number"),
        (["table3"], "give --data and --out to train, --results to judge finished runs, or --simulate"),
        (["table3", "--simulate", "--rows", "A"], "--simulate trains nothing, and --rows is for training"),
        (["table3", "--simulate", "--results", "x"], "--simulate and --results are two ways without training"),
        (["table3", "--results", "x", "--fresh"], "--results trains nothing, and --fresh is for training"),
        (["table3", "--results", "x"], "x: has no figures of a run of this table, such as base-seed1.json"),
        (["lineage", "--data", "x", "--out", "x"], "systems of Table 2 now; run `regard paper table2 --run"),
        (["table2", "nowhere"], "nowhere: not the folder of a finished training run"),
        (["table2", "--source", "a"], "--source and --reference go together"),
        (["table4", "nothing.json"], "nothing.json: no such file"),
    ],
)
def test_mistakes(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        CliRunner().invoke(app, ["paper", *arguments], catch_exceptions=False)
