"""The driver of Table 4's experiment, with commands that only leave their files."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.paper.test_run_findings import loaded

from regard.code_version import MEASURING, code_version


class Commands:
    """What stands in for `regard paper table4`: it leaves the files that the command would leave."""

    def __init__(self) -> None:
        self.run: list[dict[str, str]] = []
        self.failing = ""

    def __call__(self, *words: str) -> tuple[int, float, float]:
        given = dict(pairwise(words))
        self.run.append(given)
        if self.name(given) == self.failing:
            return 1, 1.0, 1.0
        if "--arms" in given:
            folder = Path(given["--out"]) / self.name(given)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "figures.json").write_text(json.dumps({"code": code_version(MEASURING)}))
            (folder / "log.jsonl").write_text("{}\n")
        return 0, 2.0, 3.0

    def name(self, given: dict[str, str]) -> str:
        return f"{given['--arms']}-seed{given['--seeds']}" if "--arms" in given else "report"

    @property
    def names(self) -> list[str]:
        return [self.name(given) for given in self.run]


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def started(commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the driver as by its command; return its message, or None."""
    driver = loaded("run_table4")

    def regard(queue: Any, log: Path, *words: str, **_: object) -> tuple[int, float, float]:
        return commands(*words)

    monkeypatch.setattr(driver.Queue, "regard", regard)
    monkeypatch.setattr(driver, "begin", lambda queue: None)  # tests keep their own signals
    folders = ["--corpus", str(tmp_path), "--root", str(tmp_path / "root"), "--results", str(tmp_path / "results")]

    def start() -> object:
        monkeypatch.setattr("sys.argv", ["run_table4.py", *folders, "--workers", "1"])
        try:
            driver.main()
        except SystemExit as left:
            return left.code
        return None

    return start


def test_each_arm_is_prepared_by_its_first_seed(started: Any, commands: Commands, tmp_path: Path) -> None:
    assert started() is None
    arms = ("gold", "gold-and-silver")
    assert commands.names == [*(f"{arm}-seed{seed}" for seed in (1, 2, 3) for arm in arms), "report"]
    kept = tmp_path / "results" / "table4"
    assert len([*kept.glob("*.json")]) == len([*(kept / "logs").iterdir()]) == 6
    for given in commands.run:
        assert given["--gold"] == str(tmp_path / "craft" / "craft.train.trees.gz")
        assert given["--silver"].endswith("gum.train.by-sa.trees.gz"), "the last of two"
        assert given["--test"].endswith("craft.test.trees.gz") and given["--agreement"].endswith("gum.dev.trees.gz")


def test_what_is_kept_is_not_run_again(started: Any, commands: Commands, tmp_path: Path) -> None:
    commands.failing = "gold-seed2"
    assert "gold-seed2" in str(started()), "the others run although one fails"
    assert "report" not in commands.names
    commands.failing = ""
    commands.run.clear()
    assert started() is None and commands.names == ["gold-seed2", "report"]
    (tmp_path / "results" / "table4" / "gold-seed3.json").write_text(json.dumps({"code": "of another version"}))
    commands.run.clear()
    assert started() is None and commands.names == ["gold-seed3", "report"]
