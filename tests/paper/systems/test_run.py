"""Table 2 end to end on a small task: rates, moments, refinement, ensemble, and that nothing is run twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.experiments import Watched, kill_at

from regard.data.prepared import Prepared, RawPair
from regard.errors import UserError
from regard.paper.experiment import Sample, sample_of
from regard.paper.systems.plan import Table2
from regard.paper.systems.report import as_markdown, losses, write_table2
from regard.paper.systems.run import SystemResult, Table2Experiment, remove_system, run_table2, step_at

SMALL = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
TRAIN = {"batch_tokens": 150, "warmup": 2, "checkpoint_every": 2, "log_every": 2, "average_last": 2, "keep_last": 2}
REWARD = {"objective": "reward", "samples": 2, "steps": 2, "bleu": True, "best": "bleu"}
PLAN: dict[str, Any] = {
    "steps": 6,
    "rate_share": 0.34,
    "set": {"model": SMALL, "train": TRAIN},
    "systems": [
        {"name": "transformer", "preset": "tiny", "rates": [0.001, 0.01], "published": "Transformer base"},
        {"name": "gnmt", "preset": "gnmt", "rates": [0.01], "seeds": [1, 2], "set": {"model": {"encoder_layers": 2}}},
        {
            "name": "gnmt-rl", "preset": "gnmt", "rates": [0.0001, 0.001], "seeds": [1, 2], "refines": "gnmt",
            "published": "GNMT + RL", "ensemble": "GNMT + RL, ensemble",
            "set": {"model": {"encoder_layers": 2}, "train": REWARD},
        },
        {"name": "lstm", "preset": "lstm", "rates": [0.01]},
    ],
}  # fmt: skip


def bench_of(data: Prepared, out: Path, watched: Watched) -> Table2Experiment:
    return Table2Experiment(Table2.model_validate(PLAN), data, out, sample_of(data), watched, watched.warn)


def log_of(system: Path, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (system / "seed-1" / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def test_the_experiment_end_to_end(data: Prepared, tmp_path: Path) -> None:
    watched = Watched()
    experiment = bench_of(data, tmp_path, watched)
    outcomes = run_table2(experiment, ["gnmt-rl"])
    assert list(outcomes) == ["transformer", "gnmt", "gnmt-rl"]
    base, gnmt, refined = (outcomes[name] for name in outcomes)
    assert isinstance(base, SystemResult) and isinstance(gnmt, SystemResult) and isinstance(refined, SystemResult)

    tried = json.loads((tmp_path / "transformer" / "rate.json").read_text())
    tried_losses = tried["validation_loss"]
    assert set(tried_losses) == {"0.001", "0.01"} and tried_losses[f"{tried['rate']:g}"] == min(tried_losses.values())
    assert base.tokens == base.time, "the baseline's moments coincide"
    for seed, tested in gnmt.tokens.items():
        assert (tested.step == 6 and tested.tokens == base.tokens[1].tokens) or seed != 1, "the same batches"
        assert gnmt.time[seed].cpu_seconds >= base.tokens[1].cpu_seconds
        assert refined.tokens[seed].tokens > tested.tokens and refined.tokens[seed].flops > tested.flops
    assert refined.ensemble is not None
    assert refined.ensemble.flops == pytest.approx(sum(one.flops for one in refined.tokens.values()))

    report = write_table2(tmp_path, experiment.plan, outcomes, experiment.sample)
    assert report["not_run"] == ["lstm"] and report == json.loads((tmp_path / "table2.json").read_text())
    entry = report["systems"]["gnmt-rl"]
    assert entry["published"]["bleu"]["en-de"] == 24.6 and entry["ensemble"]["members"] == 2
    assert 0 <= entry["same_tokens"]["seeds"]["2"]["p"] <= 1
    assert "| gnmt-rl, 2 together" in as_markdown(report)

    assert {path.name for path in tmp_path.glob("table2*.svg")} == {"table2-length.svg", "table2-time.svg"}
    curve = losses(tmp_path / "transformer" / "seed-1")
    assert [loss for _, loss in curve] == [line["nll"] for line in log_of(tmp_path / "transformer", "validation")]
    assert curve[-1][0] == base.tokens[1].cpu_seconds and len(curve) == 3

    again = Watched()
    assert run_table2(bench_of(data, tmp_path, again), ["gnmt-rl"]) == outcomes and again.runs == []
    assert run_table2(bench_of(data, tmp_path, again), ["transformer"]) == outcomes, "others that are done are shown"
    anew = Watched()
    run_table2(bench_of(data, tmp_path, anew), ["transformer"], fresh=True)
    assert {name for name, _ in anew.runs} == {"rate-0.001", "rate-0.01", "seed-1"}


TWO = {**PLAN, "systems": [{"name": "transformer", "preset": "tiny", "rates": [0.01]}, PLAN["systems"][-1]]}


def run_two(data: Prepared, out: Path, watched: Watched) -> tuple[SystemResult, SystemResult]:
    experiment = Table2Experiment(Table2.model_validate(TWO), data, out, sample_of(data), watched, watched.warn)
    base, other = run_table2(experiment, []).values()
    assert isinstance(base, SystemResult) and isinstance(other, SystemResult)
    return base, other


def test_a_time_that_the_baseline_no_longer_has_is_tested_anew(data: Prepared, tmp_path: Path) -> None:
    _, found = run_two(data, tmp_path, Watched())
    later = found.time[1].cpu_seconds + 0.2
    for name in ("same-tokens.json", "same-time.json"):
        path = tmp_path / "transformer" / "seed-1" / name
        path.write_text(json.dumps({**json.loads(path.read_text()), "cpu_seconds": later}))
    _, again = run_two(data, tmp_path, Watched())
    assert again.tokens == found.tokens and again.time[1].cpu_seconds >= later > found.time[1].cpu_seconds


def test_another_text_to_test_on_is_noticed(data: Prepared, tmp_path: Path) -> None:
    """Also if its file is called the same; the runs themselves are not trained again."""
    found = []
    for target in ("one two", "삼 사"):
        sample, watched = Sample("a", [RawPair("en 12", target, None)] * 3), Watched()
        alone = {**PLAN, "systems": [TWO["systems"][0]]}
        experiment = Table2Experiment(Table2.model_validate(alone), data, tmp_path, sample, watched, watched.warn)
        base = run_table2(experiment, [])["transformer"]
        assert isinstance(base, SystemResult)
        found.append((base.tokens[1], watched.runs))
    (first, trained), (second, untrained) = found
    assert first.sample != second.sample and first.measured_on == second.measured_on == "a"
    assert first.step == second.step and trained and not [run for run in untrained if run[0].startswith("rate")]


CODE = """
import sys
from pathlib import Path
from tests.paper.systems.test_run import run_two
from tests.support.experiments import Watched, kill_at
from regard.data.prepared import Prepared
run_two(Prepared.open(sys.argv[1]), Path(sys.argv[2]), Watched())
"""


@pytest.mark.slow
def test_killed_inside_a_system(digits: Path, data: Prepared, tmp_path: Path) -> None:
    kill_at(tmp_path / "lstm/seed-1/checkpoints/step-00000002", CODE, str(digits), str(tmp_path))
    _, found = run_two(data, tmp_path, Watched())
    assert found.tokens[1].step == 6


def test_a_step_for_a_time(tmp_path: Path) -> None:
    lines = [{"event": "train", "step": step, "cpu_seconds": step / 2.0} for step in (5, 10, 15, 20)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert step_at(tmp_path, 10, 10.0) == 20, "reached"
    assert step_at(tmp_path, 10, 100.0) == 20 + 90, "half of the way to 200"
    assert step_at(tmp_path, 10, 11.0) == 30, "at least a checkpoint further"
    with pytest.raises(UserError, match="went on beyond 4 seconds"):
        step_at(tmp_path, 10, 4.0)
    assert step_at(tmp_path / "none", 10, 4.0) == 10


def test_only_the_experiments_own_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(UserError, match=r"thesis.txt, which is no part"):
        remove_system(tmp_path)
    (tmp_path / "thesis.txt").unlink()
    remove_system(tmp_path)
    assert not tmp_path.exists()
    remove_system(tmp_path)
