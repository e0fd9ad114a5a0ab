"""The driver of Table 2's experiment, with commands that only leave their files."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.paper.test_run_findings import loaded

from regard.code_version import MEASURING, code_version

PLAN = """
steps = 100
rate_share = 0.2
[[systems]]
name = "transformer"
preset = "tiny"
rates = [0.1]
[[systems]]
name = "gnmt"
preset = "gnmt"
rates = [0.1]
[[systems]]
name = "gnmt-rl"
preset = "gnmt"
refines = "gnmt"
rates = [0.1]
[[systems]]
name = "lstm"
preset = "lstm"
rates = [0.1]
"""
FILES = ("rate.json", "seed-1/same-tokens.json", "seed-1/same-tokens.txt", "seed-1/log.jsonl")


class Commands:
    """What stands in for `regard`: it leaves the files that the command would leave."""

    def __init__(self) -> None:
        self.systems: list[str] = []
        self.failing = ""

    def __call__(self, queue: Any, log: Path, *words: str, **_: object) -> tuple[int, float, float]:
        given = dict(pairwise(words))
        out = Path(given["--out"])
        if words[0] == "prepare":
            out.mkdir(parents=True)
            return 0, 1.0, 1.0
        self.systems.append(given["--systems"])
        if given["--systems"] == self.failing:
            return 1, 1.0, 1.0
        for name in (*FILES, "rate-0.1/log.jsonl", "seed-1/checkpoint/weights"):
            path = out / given["--systems"] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(json.dumps({"code": code_version(MEASURING), "system": given["--systems"]}))
        return 0, 2.0, 3.0


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def started(commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the driver as by its command; return its exit code."""
    driver: ModuleType = loaded("run_table2")

    def regard(queue: Any, log: Path, *words: str, **named: object) -> tuple[int, float, float]:
        return commands(queue, log, *words, **named)

    monkeypatch.setattr(driver.Queue, "regard", regard)
    monkeypatch.setattr(driver, "begin", lambda queue: None)  # tests keep their own signals
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}.gz").write_bytes(gzip.compress("A dog, 개\n".encode()))
    (tmp_path / "plan.toml").write_text(PLAN)
    folders = ["--corpus", str(tmp_path), "--root", str(tmp_path / "root"), "--results", str(tmp_path / "results")]

    def start() -> object:
        words = ["run_table2.py", *folders, "--plan", str(tmp_path / "plan.toml"), "--workers", "1"]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as left:
            driver.main()
        return left.value.code

    return start


def test_the_baseline_is_first_and_refinements_are_last(started: Any, commands: Commands, tmp_path: Path) -> None:
    assert started() == 0
    assert commands.systems == ["transformer", "gnmt", "lstm", "gnmt-rl"]
    kept = tmp_path / "results" / "table2"
    for system in commands.systems:
        found = {str(path.relative_to(kept / system)) for path in (kept / system).rglob("*") if path.is_file()}
        assert found == set(FILES), "the figures, the translations and the log, and no weights"
    costs = [json.loads(line) for line in (tmp_path / "results" / "costs.jsonl").read_text().splitlines()]
    assert [cost["run"] for cost in costs] == [f"table2 {system}" for system in commands.systems]


def test_on_another_machine_the_figures_are_put_back(started: Any, commands: Commands, tmp_path: Path) -> None:
    assert started() == 0
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    kept, runs = tmp_path / "results" / "table2", tmp_path / "root" / "table2"
    mine = runs / "lstm" / "rate.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    put_back(started, commands)
    assert mine.read_text() == "mine\n", "what is there stays"
    assert (runs / "gnmt" / FILES[1]).read_bytes() == (kept / "gnmt" / FILES[1]).read_bytes()


def test_figures_of_other_code_are_not_put_back(started: Any, commands: Commands, tmp_path: Path) -> None:
    assert started() == 0
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    (tmp_path / "results" / "table2" / "lstm" / FILES[1]).write_text(json.dumps({"code": "other"}))
    put_back(started, commands)
    runs = tmp_path / "root" / "table2"
    assert (runs / "gnmt").exists() and not (runs / "lstm").exists()


def test_a_system_that_an_unfinished_one_refines_is_trained_again(
    started: Any, commands: Commands, tmp_path: Path
) -> None:
    """Its models are needed, and only its figures are kept."""
    commands.failing = "gnmt-rl"
    assert "gnmt-rl" in str(started())
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    put_back(started, commands)
    runs = tmp_path / "root" / "table2"
    assert (runs / "lstm").exists() and not (runs / "gnmt").exists()


def put_back(started: Any, commands: Commands) -> None:
    """Start the driver and let the first system fail, so that nothing but what is put back is there."""
    commands.failing = "transformer"
    assert "transformer" in str(started())


@pytest.mark.parametrize(
    ("failing", "run"),
    [("transformer", ["transformer"]), ("gnmt", ["transformer", "gnmt", "lstm"]),
     ("lstm", ["transformer", "gnmt", "lstm", "gnmt-rl"])],
)  # fmt: skip
def test_what_needs_a_system_that_fails_is_not_run(
    started: Any, commands: Commands, failing: str, run: list[str]
) -> None:
    commands.failing = failing
    assert failing in str(started()) and commands.systems == run
