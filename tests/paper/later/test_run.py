"""`regard paper later` from end to end with tiny models: what is done is not done again, nothing old is mixed in."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Run, regard

from regard.errors import Failed, Interrupted
from regard.paper.experiment import train_to_the_end
from regard.paper.later import run as later
from regard.paper.later.run import _alone

PLAN = """
steps = 4
rule = "none"
[set]
model = { encoder_layers = 1, d_ff = 16, heads = 2 }
train = { batch_tokens = 200, warmup = 2, checkpoint_every = 2, average_last = 1, log_every = 1 }
[[rows]]
name = "transformer"
preset = "tiny"
set = { model = { d_model = 16, decoder_layers = 1 } }
writings = [{ beam = 1 }, { beam = 2 }]
[[rows]]
name = "blocks"
preset = "fine-tuning"
heads_for = "transformer"
writings = [{ decoding = "blockwise" }]
set = { model = { blocks = 3 } }
[[rows]]
name = "parallel"
preset = "mask-predict"
distilled = true
set = { model = { decoder_layers = 1, max_length = 64 } }
writings = [{ decoding = "mask-predict", iterations = 1 }, { decoding = "mask-predict", iterations = 3 }]
[listops]
lengths = [16]
train = 30
test = 10
tokens = 8192
[listops.set]
model = { encoder_layers = 1, decoder_layers = 1, d_model = 16, d_ff = 16, heads = 2 }
train = { warmup = 1, checkpoint_every = 1, average_last = 1, log_every = 1 }
[listops.mixings]
attention = {}
mixer = { mixing = "mixer" }
"""
RUNS = ["transformer-1", "blocks-1", "parallel-1", "listops-16-1-attention", "listops-16-1-mixer"]


def in_this_process(command: Sequence[str], _: Path) -> None:
    regard(*command[3:])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"number {n} é\t{n} 번 שלום {chr(0x1F600 + n % 40)}" for n in range(60)]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "valid.tsv").write_text("\n".join(lines[:4]) + "\n", encoding="utf-8")
    files = ["--train", str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv")]
    regard("prepare", *files, "--vocabulary", "330", "--cores", "1", "--out", str(folder / "data"))
    return folder / "data"


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all runs, done once."""
    folder = tmp_path_factory.mktemp("later")
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later, "_alone", in_this_process)
        given = ["--data", str(data), "--distilled", str(data), "--out", str(folder / "out")]
        regard("paper", "later", str(folder / "plan.toml"), *given)
    return folder


def again(runs: Path, data: Path, *more: str) -> Any:
    given = ["--data", str(data), "--distilled", str(data), "--out", str(runs / "out"), "--json", *more]
    return json.loads(regard("paper", "later", str(runs / "plan.toml"), *given))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are trained from here on."""
    found: list[str] = []
    train = train_to_the_end

    def counted(config: Any, data: Any, run: Path, *given: Any, **named: Any) -> Any:
        found.append(run.name)
        return train(config, data, run, *given, **named)

    def alone(command: Sequence[str], folder: Path) -> None:
        found.append(folder.name)
        in_this_process(command, folder)

    monkeypatch.setattr(later, "train_to_the_end", counted)
    monkeypatch.setattr(later, "_alone", alone)
    return found


def test_every_run_leaves_its_figures_and_the_report_has_tables_and_pictures(runs: Path) -> None:
    out = runs / "out"
    assert [name for name in RUNS if (out / name / "later.json").exists()] == RUNS
    report = json.loads((out / "later.json").read_text())
    assert [one.get("row") or one["model"] for one in report["runs"]] == [
        "transformer", "blocks", "parallel", "attention", "mixer"
    ]  # fmt: skip
    assert all(one["code"] for one in report["runs"])
    text = (out / "later.md").read_text()
    assert "| blocks" in text and "mask-predict, 1 iteration " in text and "| mixer" in text
    for name in ("later-steps", "later-listops"):
        assert (out / f"{name}.svg").stat().st_size > 1000 and (out / f"{name}.png").exists()
    blocks, transformer = report["runs"][1], report["runs"][0]
    greedy, wide = transformer["writings"]
    assert blocks["perplexity"] == pytest.approx(transformer["perplexity"], rel=1e-5), "it is the model that it was"
    assert blocks["writings"][0]["bleu"] == greedy["bleu"]
    assert greedy["tokens_a_step"] == 1.0 == wide["tokens_a_step"] <= blocks["writings"][0]["tokens_a_step"]
    assert report["runs"][2]["writings"][1]["steps_a_sentence"] <= 3


def test_what_is_done_is_not_done_again(runs: Path, data: Path, trained: list[str]) -> None:
    assert len(again(runs, data)["runs"]) == 5 and trained == []


def test_figures_of_other_code_or_settings_are_not_taken(
    runs: Path, data: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("transformer-1", "listops-16-1-mixer"):
        path = runs / "out" / name / "later.json"
        figures = json.loads(path.read_text())
        path.write_text(json.dumps({**figures, "code": "of another version"}))
    assert len(again(runs, data)["runs"]) == 5 and trained == ["transformer-1", "listops-16-1-mixer"]
    trained.clear()
    path = runs / "out" / "listops-16-1-mixer" / "later.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "settings": []}))
    assert len(again(runs, data, "--rows", "listops-16-1-mixer")["runs"]) == 5 and trained == ["listops-16-1-mixer"]


def test_a_model_that_is_needed_is_trained_although_its_figures_are_there(
    runs: Path, data: Path, trained: list[str], tmp_path: Path
) -> None:
    (tmp_path / "out" / "transformer-1").mkdir(parents=True)
    figures = (runs / "out" / "transformer-1" / "later.json").read_bytes()
    (tmp_path / "out" / "transformer-1" / "later.json").write_bytes(figures)
    (tmp_path / "plan.toml").write_text(PLAN)
    assert len(again(tmp_path, data, "--rows", "transformer")["runs"]) == 1 and trained == []
    assert len(again(tmp_path, data, "--rows", "blocks-1")["runs"]) == 2 and trained == ["transformer-1", "blocks-1"]


def test_kept_figures_are_reported_without_data(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "results"
    kept.mkdir()
    for name in RUNS[:2]:
        (kept / f"{name}.json").write_bytes((runs / "out" / name / "later.json").read_bytes())
    given = [str(runs / "plan.toml"), "--results", str(kept), "--out", str(tmp_path / "out")]
    assert len(json.loads(regard("paper", "later", *given, "--json"))["runs"]) == 2
    assert (tmp_path / "out" / "later-steps.png").exists() and not (tmp_path / "out" / "later-listops.png").exists()
    paper = Run(monkeypatch, "paper")
    for wrong, reason in (
        (["--results", str(kept), "--out", "x", "--rows", "mamba"], "--rows is for training"),
        (["--results", str(tmp_path / "none"), "--out", "x"], "is not a folder"),
        (["--out", "x"], "give --data to train"),
        (["--results", str(kept)], "--out is missing"),
    ):
        code, _, err = paper("later", *wrong)
        assert code == 2 and reason in err and err.count("\n") == 1


def test_a_signal_to_stop_reaches_the_process_that_trains(tmp_path: Path) -> None:
    child = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(75)); "
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    )
    with pytest.raises(Interrupted, match="run the same command again") as stopped:
        _alone([sys.executable, "-c", child], tmp_path)
    assert stopped.value.code == 75


def test_a_failure_is_told_by_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="^the reason$"):
        _alone([sys.executable, "-c", "import sys; sys.exit('a line\\nthe reason')"], tmp_path)
