import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard.demo
from regard.cli import demo
from regard.cli.main import app
from regard.errors import UserError


def test_a_short_demo(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--steps", "30", "--out", str(tmp_path / "demo")], catch_exceptions=False)
    assert "step 30 of 30: loss" in done.stderr
    report = tmp_path / "demo" / "report.html"
    assert str(report) in done.stdout and "2025년 5월 3일" in done.stdout and "●" in done.stdout
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    log = (tmp_path / "demo" / "run" / "log.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in log if '"event": "train"' in line]
    assert losses[-1] < 0.8 * losses[0], "it learns"


def test_the_same_seed_the_same_figures_and_an_earlier_demo_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "TRAIN", 2000)
    monkeypatch.setattr(demo, "HELD_OUT", 100)
    logs = []
    for _ in range(2):
        arguments = ["demo", "--steps", "3", "--out", str(tmp_path), "--json"]
        figures = json.loads(CliRunner().invoke(app, arguments, catch_exceptions=False).stdout)
        assert set(figures) == {"exact_match", "exact_match_new_formats", "seconds", "report"}
        assert Path(figures["report"]) == tmp_path / "report.html"
        records = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
        logs.append([(record["event"], record["step"], record["loss"]) for record in records if "loss" in record])
    assert logs[0] == logs[1] and [event for event, _, _ in logs[0]] == ["train", "validation", "model"]


@pytest.mark.slow
def test_the_demo_reaches_what_it_promises(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--json"], catch_exceptions=False)
    figures = json.loads(done.stdout)
    assert figures["exact_match"] >= 0.99


def test_without_babel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "regard.demo.dates", raising=False)
    monkeypatch.delattr(regard.demo, "dates", raising=False)  # so that it is imported anew
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(UserError, match=r"^the demo needs Babel, .*; pip install .regard\[demo\].$"):
        CliRunner().invoke(app, ["demo", "--json", "--out", str(tmp_path)], catch_exceptions=False)
