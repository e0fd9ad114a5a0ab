"""The driver of the experiment on what came after the paper, with commands that only leave their files."""

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
steps = 2
rule = "x"
[[rows]]
name = "transformer"
preset = "tiny"
[[rows]]
name = "distilled"
preset = "mask-predict"
distilled = true
[listops]
lengths = [16]
train = 2
test = 1
tokens = 4096
[listops.mixings]
attention = {}
"""
RUNS = ["transformer-1", "distilled-1", "listops-16-1-attention"]


class Commands:
    """What stands in for `regard`: it leaves the files that the command would leave."""

    def __init__(self) -> None:
        self.run: list[list[str]] = []
        self.failing = ""

    def __call__(self, queue: Any, log: Path, *words: str, **_: object) -> tuple[int, float, float]:
        if queue.stopped.is_set():
            return 75, 0.0, 0.0
        self.run.append(list(words))
        given = dict(pairwise(words))
        out = Path(given["--out"])
        if words[0] == "paper" and "--rows" in given:
            if given["--rows"] == self.failing:
                return 1, 1.0, 1.0
            (out / given["--rows"] / "model").mkdir(parents=True, exist_ok=True)
            (out / given["--rows"] / "later.json").write_text(json.dumps({"code": code_version(MEASURING)}))
            (out / given["--rows"] / "log.jsonl").write_text("{}\n")
        elif words[0] == "prepare":
            out.mkdir(parents=True)
        elif words[0] == "synthesise":
            out.write_text("a\tb\n")
        return 0, 2.0, 3.0

    @property
    def rows(self) -> list[str]:
        return [words[words.index("--rows") + 1] for words in self.run if "--rows" in words]


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def started(commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the driver as by its command; return its exit code."""
    driver: ModuleType = loaded("run_later")

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
        words = ["run_later.py", *folders, "--plan", str(tmp_path / "plan.toml"), "--workers", "1"]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as left:
            driver.main()
        return left.value.code

    return start


def test_the_first_row_is_distilled_before_the_others_run(started: Any, commands: Commands, tmp_path: Path) -> None:
    assert started() == 0
    kinds = [words[0] for words in commands.run]
    assert kinds == ["prepare", "paper", "synthesise", "prepare", "paper", "paper", "paper"]
    assert commands.rows == RUNS
    teacher = str(tmp_path / "root" / "later" / "transformer-1" / "model")
    assert teacher in commands.run[2] and teacher in commands.run[3]
    assert "--distilled" not in commands.run[1] and "--distilled" in commands.run[4]
    assert "--results" in commands.run[-1]
    kept = tmp_path / "results" / "later"
    assert sorted(path.stem for path in kept.glob("*.json")) == sorted(RUNS)
    assert sorted(path.stem for path in (kept / "logs").iterdir()) == sorted(RUNS)
    costs = [json.loads(line) for line in (tmp_path / "results" / "costs.jsonl").read_text().splitlines()]
    assert [cost["run"] for cost in costs] == RUNS and costs[0]["cpu_seconds"] == 2


def test_what_is_kept_is_not_run_again(started: Any, commands: Commands, tmp_path: Path) -> None:
    commands.failing = "distilled-1"
    assert "distilled-1" in str(started()), "the others run although one fails"
    commands.failing = ""
    commands.run.clear()
    assert started() == 0 and commands.rows == ["distilled-1"]
    kept = tmp_path / "results" / "later" / "listops-16-1-attention.json"
    kept.write_text(json.dumps({"code": "of another version"}))
    commands.run.clear()
    assert started() == 0 and commands.rows == ["listops-16-1-attention"]


def test_a_model_that_others_need_is_trained_although_its_figures_are_kept(
    started: Any, commands: Commands, tmp_path: Path
) -> None:
    """As on another machine, which has the results alone."""
    assert started() == 0
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    commands.run.clear()
    assert started() == 0 and commands.rows == ["transformer-1"]
    put_back = tmp_path / "root" / "later" / "distilled-1" / "later.json"
    assert put_back.read_bytes() == (tmp_path / "results" / "later" / "distilled-1.json").read_bytes()


def test_a_teacher_that_fails_ends_it(started: Any, commands: Commands) -> None:
    commands.failing = "transformer-1"
    assert "transformer-1 failed" in str(started()) and commands.rows == ["transformer-1"]
