"""Table 3: its rows at a scale, the whole of it on a small task, and what happens when it is stopped."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.experiments import Watched, kill_at

from regard.code_version import MEASURING, code_version
from regard.config.presets import paper_figures, preset_names
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Interrupted, UserError
from regard.files import sha256
from regard.paper.experiment import FIGURES, Row, read_experiment, run_rows, sample_of
from regard.paper.table3 import Table3, chosen, rows_at, run_table3
from regard.train.loop import Silence
from regard.train.run import settle
from regard.train.step import Update

CODE = """
import sys
from pathlib import Path
from tests.support.experiments import Watched
from regard.data.prepared import Prepared
from regard.paper.experiment import read_experiment
from regard.paper.table3 import Table3, run_table3
table = read_experiment(Table3, "table3", Path(sys.argv[1]))
run_table3(table, "tiny", Prepared.open(sys.argv[2]), Path(sys.argv[3]), [], Watched(), print, fresh=False)
"""


def run(table: Path, data: Prepared, out: Path, watched: Watched, *wanted: str, fresh: bool = False) -> dict[str, Any]:
    experiment = read_experiment(Table3, "table3", table)
    return run_table3(experiment, "tiny", data, out, wanted, watched, watched.warn, fresh=fresh)


class TestRows:
    table = read_experiment(Table3, "table3", None)

    def test_every_row_that_the_paper_has_figures_for(self) -> None:
        assert sorted(self.table.rows) == sorted(name for name in preset_names() if paper_figures(name) is not None)

    def test_full_is_the_paper(self) -> None:
        rows = dict(rows_at(self.table, "full"))
        assert rows["base"].model == Config().model and rows["base"].train.steps == 100_000
        assert rows["big"].train.steps == 300_000 and rows["big"].train.average_last == 1

    def test_small_shrinks_all_rows_alike(self) -> None:
        small, full = dict(rows_at(self.table, "small")), dict(rows_at(self.table, "full"))
        assert small.keys() == full.keys() and len(small) == 22
        for name, row in small.items():
            was = full[name]
            assert row.model.d_model * 8 == was.model.d_model and row.model.d_ff * 8 == was.model.d_ff
            assert (row.model.d_k * 8, row.model.d_v * 8) == (was.model.d_k, was.model.d_v)
            assert row.model.encoder_layers * 2 == was.model.encoder_layers
            assert row.train.steps * 50 == was.train.steps
            for key in ("heads", "dropout", "positions"):
                assert getattr(row.model, key) == getattr(was.model, key)
            assert row.train.label_smoothing == was.train.label_smoothing
        different = {row.model_dump_json() for row in small.values()}
        assert len(different) == 22, "no two rows have become the same"

    def test_a_size_that_can_not_be_divided(self) -> None:
        values = self.table.model_dump()
        values["scales"]["odd"] = {"divide": {"model": {"d_model": 5}}}
        with pytest.raises(UserError, match="^base: model.d_model is 512, which can't be divided by 5"):
            rows_at(Table3(**values), "odd")

    def test_rows_by_name_and_by_group(self) -> None:
        rows = rows_at(self.table, "small")
        assert [row.name for row in chosen(rows, ["A", "base"])] == (
            ["base", "base-seed2", "base-seed3", "A-1", "A-4", "A-16", "A-32"]
        )
        assert [row.name for row in chosen(rows, ["C-N2"])] == ["C-N2"]
        assert chosen(rows, []) == rows

    def test_mistakes(self) -> None:
        with pytest.raises(UserError, match="no row is called 'C-N3'; did you mean 'C-N"):
            chosen(rows_at(self.table, "small"), ["C-N3"])
        with pytest.raises(UserError, match="no scale is called 'smal'; did you mean 'small'"):
            rows_at(self.table, "smal")


def test_whole_table(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    out = tmp_path / "out"
    report = run(table_file, data, out, watched)
    assert watched.runs == [("base", 8), ("base-seed2", 8), ("A-1", 8), ("D-drop0", 8)]
    assert re.fullmatch(r"base-seed2, 2 of 4, about 0 min left", watched.titles[1])
    assert report == json.loads((out / "table3.json").read_text())
    rows = {row["row"]: row for row in report["rows"]}
    assert rows["A-1"]["paper"] == {"ppl": 5.29, "bleu": 24.9, "parameters": None}
    assert rows["base"]["ours"]["ppl"] != rows["base-seed2"]["ours"]["ppl"]
    assert rows["base"]["ours"]["ppl"] > 1 and rows["base"]["ours"]["steps"] == 8
    assert report["spread"]["ppl"] == abs(rows["base"]["ours"]["ppl"] - rows["base-seed2"]["ours"]["ppl"])
    assert report["findings"][0]["verdict"] != "not judged"
    page = (out / "table3.md").read_text()
    assert "| A-1 " in page and "5.29" in page and "single head" in page
    assert (out / "table3.svg").read_text().lstrip().startswith("<?xml")

    again = Watched()
    assert run(table_file, data, out, again) == report and again.runs == [], "what is done is not done again"
    some = run(table_file, data, out, again, "A")
    assert some == report, "the report is of all that is done"
    run(table_file, data, out, again, "A", fresh=True)
    assert again.runs == [("A-1", 8)]


def test_rows_that_another_command_has_run_meanwhile(
    table_file: Path, data: Prepared, tmp_path: Path, watched: Watched
) -> None:
    @contextmanager
    def beside(title: str, steps: int, row: Path) -> Iterator[Silence]:
        run(table_file, data, tmp_path / "out", watched, "base")
        yield Silence()

    table = read_experiment(Table3, "table3", table_file)
    report = run_table3(table, "tiny", data, tmp_path / "out", ["A"], beside, print, fresh=False)
    assert [row["row"] for row in report["rows"] if row["ours"]] == ["base", "base-seed2", "A-1"]


def test_figures_are_those_of_the_log(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    report = run(table_file, data, tmp_path / "out", watched, "A")
    last = [json.loads(line) for line in (tmp_path / "out/A-1/log.jsonl").read_text().splitlines()]
    logged = [record["perplexity"] for record in last if record["event"] == "validation"][-1]
    (ours,) = [row["ours"] for row in report["rows"] if row["row"] == "A-1"]
    assert ours["ppl"] == pytest.approx(logged, rel=1e-4)
    assert report["findings"][0]["verdict"] == "not judged"


def test_a_changed_setting_is_noticed(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    run(table_file, data, tmp_path / "out", watched, "A")
    text = table_file.read_text()
    table_file.write_text(text.replace("warmup = 4", "warmup = 5"))
    with pytest.raises(UserError, match="out/A-1: train.warmup was 4 when this run began and is now 5"):
        run(table_file, data, tmp_path / "out", watched, "A")
    table_file.write_text(text.replace("steps = 12500", "steps = 25000"))
    with pytest.raises(UserError, match="out/A-1: is at step 8 already, beyond the 4"):
        run(table_file, data, tmp_path / "out", watched, "A")
    table_file.write_text(text.replace("steps = 12500", "steps = 10000"))
    report = run(table_file, data, tmp_path / "out", watched, "A")
    assert [row["ours"]["steps"] for row in report["rows"] if row["ours"]] == [10], "more steps go on"


def test_one_that_fails_does_not_stop_the_others(
    config: Config, data: Prepared, tmp_path: Path, watched: Watched
) -> None:
    wild = config.train.model_copy(update={"schedule": "constant", "peak_rate": 1e30, "bad_steps": 1})
    rows = [Row("wild", config.model_copy(update={"train": wild})), Row("tame", config)]
    outcomes = run_rows(rows, data, tmp_path, sample_of(data), watched, watched.warn)
    wild_one, tame = outcomes["wild"], outcomes["tame"]
    assert isinstance(wild_one, str) and "not finite" in wild_one
    assert not isinstance(tame, str) and tame.config == settle(config, data) and tame.step == 12


class Impatient(Silence):
    """Asks to stop when the last step is done."""

    def step(self, number: int, update: Update) -> None:
        if number == 8:
            signal.raise_signal(signal.SIGTERM)


@contextmanager
def impatient(title: str, steps: int, run: Path) -> Iterator[Impatient]:
    yield Impatient()


def test_stopped_at_the_last_step_of_a_row(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    out = tmp_path / "out"
    with pytest.raises(Interrupted, match="out/base: stopped after its last step") as stopped:
        run_table3(read_experiment(Table3, "table3", table_file), "tiny", data, out, [], impatient, print, fresh=False)
    assert stopped.value.code == 75 and not (out / "base-seed2").exists()
    run(table_file, data, out, watched, "base")
    assert watched.runs == [("base", 8), ("base-seed2", 8)]


def test_killed_between_and_inside_rows(table_file: Path, digits: Path, data: Prepared, tmp_path: Path) -> None:
    run(table_file, data, tmp_path / "whole", Watched())
    out = tmp_path / "killed"
    for moment in (out / "base" / "figures.json", out / "base-seed2/checkpoints/step-00000004"):
        kill_at(moment, CODE, str(table_file), str(digits), str(out))
    done = (out / "base/figures.json").stat().st_mtime_ns
    watched = Watched()
    run(table_file, data, out, watched)
    assert [name for name, _ in watched.runs] == ["base-seed2", "A-1", "D-drop0"]
    assert (out / "base/figures.json").stat().st_mtime_ns == done
    for name in ("base", "base-seed2", "A-1", "D-drop0"):
        path = f"{name}/model/model.safetensors"
        assert sha256(out / path) == sha256(tmp_path / "whole" / path)


class TestOtherCode:
    """Results of two versions of the code never stand in one table."""

    @pytest.fixture
    def done(self, table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> Path:
        run(table_file, data, tmp_path / "out", watched, "A", "D")
        watched.runs.clear()
        return tmp_path / "out"

    def test_a_row_records_its_code(self, done: Path) -> None:
        version = code_version(MEASURING)
        assert json.loads((done / "A-1" / FIGURES).read_bytes())["code"] == version
        assert f"Code: {version}." in (done / "table3.md").read_text(encoding="utf-8")
        assert json.loads((done / "table3.json").read_bytes())["code"] == version

    @pytest.mark.parametrize("code", ["0.1.0+0123456789ab", None])
    def test_figures_of_other_code_are_not_reported(
        self, code: str | None, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        rewrite(done / "A-1" / FIGURES, code)
        report = run(table_file, data, done, watched, "D")
        assert {row["row"] for row in report["rows"] if row["ours"]} == {"D-drop0"} and not watched.runs
        assert [f"A-1/{FIGURES}" in sentence for sentence in watched.warnings] == [True]
        assert (code or "not recorded") in watched.warnings[0]

    def test_a_run_of_this_code_is_measured_again(
        self, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        before = (done / "A-1" / FIGURES).read_bytes()
        rewrite(done / "A-1" / FIGURES, None)
        run(table_file, data, done, watched, "A")
        assert (done / "A-1" / FIGURES).read_bytes() == before

    @pytest.mark.parametrize("code", ["0.1.0+0123456789ab", None])
    def test_a_run_of_other_code_is_not_gone_on_with(
        self, code: str | None, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        (done / "A-1" / FIGURES).unlink()
        log = done / "A-1" / "log.jsonl"
        first, *others = log.read_text(encoding="utf-8").splitlines()
        begun = {key: value for key, value in json.loads(first).items() if key != "code"}
        log.write_text(
            "\n".join([json.dumps(begun | ({"code": code} if code else {})), *others]) + "\n", encoding="utf-8"
        )
        with pytest.raises(UserError, match="trained by other code.*--fresh"):
            run(table_file, data, done, watched, "A")
        run(table_file, data, done, watched, "A", fresh=True)
        assert json.loads((done / "A-1" / FIGURES).read_bytes())["code"] == code_version(MEASURING)


def rewrite(path: Path, code: str | None) -> None:
    """Figures as another version, or one that did not record itself, has written them."""
    figures = {key: value for key, value in json.loads(path.read_bytes()).items() if key != "code"}
    path.write_text(json.dumps(figures | ({"code": code} if code else {})), encoding="utf-8")
