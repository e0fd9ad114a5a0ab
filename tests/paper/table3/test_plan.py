"""Table 3: its rows at a scale, the whole of it on a small task, and what happens when it is stopped."""

import json
import math
import re
import shutil
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
from regard.paper.table3.findings import group
from regard.paper.table3.plan import Table3, chosen, in_order, row_of, rows_at, run_table3
from regard.train.log import Silence
from regard.train.run import settle
from regard.train.step import Update

CODE = """
import sys
from pathlib import Path
from tests.support.experiments import Watched
from regard.data.prepared import Prepared
from regard.paper.experiment import read_experiment, sample_of
from regard.paper.table3.plan import Table3, run_table3
table = read_experiment(Table3, "table3", Path(sys.argv[1]))
data = Prepared.open(sys.argv[2])
run_table3(table, "tiny", data, Path(sys.argv[3]), sample_of(data), Watched(), print)
"""


def run(table: Path, data: Prepared, out: Path, watched: Watched, *wanted: str, fresh: bool = False) -> dict[str, Any]:
    experiment = read_experiment(Table3, "table3", table)
    sample = sample_of(data)
    return run_table3(experiment, "tiny", data, out, sample, watched, watched.warn, rows=wanted, fresh=fresh)


class TestRows:
    table = read_experiment(Table3, "table3", None)

    def test_every_row_that_the_paper_has_figures_for(self) -> None:
        assert sorted(self.table.rows) == sorted(name for name in preset_names() if paper_figures(name) is not None)

    def test_full_is_the_paper(self) -> None:
        rows = dict(rows_at(self.table, "full"))
        assert rows["base-seed1"].model == Config().model and rows["base-seed1"].train.steps == 100_000
        assert rows["big-seed1"].train.steps == 300_000 and rows["big-seed1"].train.average_last == 1

    def test_every_row_has_the_same_seeds_and_base_has_more(self) -> None:
        names = [row.name for row in rows_at(self.table, "small")]
        assert names[:6] == [*(f"base-seed{seed}" for seed in range(1, 6)), "A-1-seed1"]
        assert len(names) == len(set(names)) == 5 + 3 * 19

    def test_small_varies_what_the_paper_varies(self) -> None:
        """A row has the settings of base but for those in which it differs from base in the paper, too."""
        small, full = dict(rows_at(self.table, "small")), dict(rows_at(self.table, "full"))
        assert small.keys() == full.keys()
        for name, row in small.items():
            for section in ("model", "train"):
                here, base = getattr(row, section), getattr(small["base-seed1"], section)
                there, paper = getattr(full[name], section), getattr(full["base-seed1"], section)
                for key in type(here).model_fields:
                    ours, theirs = (getattr(a, key) for a in (here, base)), (getattr(a, key) for a in (there, paper))
                    assert (len(set(ours)) == 1) == (len(set(theirs)) == 1), f"{name}: {key}"
        assert len({row.model_dump_json() for row in small.values()}) == len(small), "no two rows are the same"

    def test_small_keeps_the_proportions(self) -> None:
        small, full = dict(rows_at(self.table, "small")), dict(rows_at(self.table, "full"))
        for name, row in small.items():
            here, there = row.model, full[name].model
            assert (here.d_model * 8, here.d_ff * 8, here.encoder_layers * 2) == (
                there.d_model, there.d_ff, there.encoder_layers
            )  # fmt: skip
            assert here.heads == max(1, there.heads // 2) and here.heads * here.d_v == here.d_model
            assert min(here.d_k, here.d_v) >= 4
            base_k = small["base-seed1"].model.d_k
            if group(name) == "B":
                assert here.d_k / base_k == there.d_k / 64

    def test_rows_by_name_by_group_and_by_seed(self) -> None:
        rows = rows_at(self.table, "small")
        assert [row.name for row in chosen(rows, ["A-1", "base"], [1, 4])] == (
            ["base-seed1", "base-seed4", "A-1-seed1"]
        )
        assert {row_of(row) for row in chosen(rows, ["A"], [])} == {"A-1", "A-4", "A-16", "A-32"}
        assert [row.name for row in chosen(rows, ["C-N2"], [])] == ["C-N2-seed1", "C-N2-seed2", "C-N2-seed3"]
        assert chosen(rows, [], []) == rows

    def test_order_of_training(self) -> None:
        rows = [row.name for row in in_order(self.table, rows_at(self.table, "small"))]
        assert rows[4:9] == ["base-seed5", *(f"D-drop0-seed{seed}" for seed in (1, 2, 3)), "A-1-seed1"]
        assert sorted(rows) == sorted(row.name for row in rows_at(self.table, "small")) and rows[-1] == "big-seed3"
        with pytest.raises(UserError, match="no row is called 'A-2'"):
            in_order(Table3(**{**self.table.model_dump(), "order": ("A-2",)}), [])

    def test_mistakes(self) -> None:
        rows = rows_at(self.table, "small")
        with pytest.raises(UserError, match="no row is called 'C-N3'; did you mean 'C-N"):
            chosen(rows, ["C-N3"], [])
        with pytest.raises(UserError, match="no seed is called '7'; there are 1, 2, 3, 4, 5"):
            chosen(rows, [], [7])
        with pytest.raises(UserError, match="no scale is called 'smal'; did you mean 'small'"):
            rows_at(self.table, "smal")
        values = self.table.model_dump()
        values["scales"]["odd"] = {"rows": {"A-2": {"model": {"heads": 2}}}}
        with pytest.raises(UserError, match="^the scale odd has settings for 'A-2', which is not one of the rows"):
            rows_at(Table3(**values), "odd")


ALL = [(f"{row}-seed{seed}", 8) for row in ("base", "A-1", "D-drop0") for seed in (1, 2)]


def test_whole_table(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    out = tmp_path / "out"
    report = run(table_file, data, out, watched)
    assert watched.runs == ALL
    assert re.fullmatch(r"base-seed2, 2 of 6, about 0 min left", watched.titles[1])
    assert json.loads(json.dumps(report)) == json.loads((out / "table3.json").read_text())
    rows = {row["row"]: row for row in report["rows"]}
    assert rows["A-1"]["paper"] == {"ppl": 5.29, "bleu": 24.9, "parameters": None}
    first, second = rows["base"]["runs"]
    assert (first["seed"], second["seed"]) == (1, 2) and first["ppl"] != second["ppl"] and first["steps"] == 8
    assert rows["base"]["ours"]["ppl"] == pytest.approx((first["ppl"] + second["ppl"]) / 2)
    assert report["deviation"]["degrees"] == 2
    (found,) = report["findings"]
    ratios = [math.log(a["ppl"] / b["ppl"]) for a, b in zip(rows["A-1"]["runs"], (first, second), strict=True)]
    assert found["difference"] == pytest.approx(100 * math.expm1(sum(ratios) / 2))
    assert found["interval"][0] < found["difference"] < found["interval"][1] and found["verdict"] != "not judged"
    page = (out / "table3.md").read_text()
    assert "| A-1 " in page and "5.29" in page and "single head" in page
    assert (out / "table3.svg").read_text().lstrip().startswith("<?xml")

    again = Watched()
    assert run(table_file, data, out, again) == report and again.runs == [], "what is done is not done again"
    some = run(table_file, data, out, again, "A")
    assert some == report, "the report is of all that is done"
    run(table_file, data, out, again, "A", fresh=True)
    assert again.runs == ALL[2:4]


def test_figures_are_known_wherever_the_data_is(
    table_file: Path, digits: Path, data: Prepared, tmp_path: Path, watched: Watched
) -> None:
    run(table_file, data, tmp_path / "out", watched, "A")
    shutil.copytree(digits, tmp_path / "moved")
    run(table_file, Prepared.open(tmp_path / "moved"), tmp_path / "out", watched, "A")
    assert watched.runs == ALL[2:4]


def test_validation_and_test_together(data: Prepared, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("en 12\nko 34\n", encoding="utf-8")
    (tmp_path / "b").write_text("one two\n삼 사\n", encoding="utf-8")
    files = (str(tmp_path / "a"), str(tmp_path / "b"))
    both, alone = sample_of(data, files, together=True), sample_of(data)
    assert both.name == "the validation set and a" and both.pairs == [*alone.pairs, *sample_of(data, files).pairs]
    assert sample_of(data, together=True) == alone


def test_rows_that_another_command_has_run_meanwhile(
    table_file: Path, data: Prepared, tmp_path: Path, watched: Watched
) -> None:
    @contextmanager
    def beside(title: str, steps: int, row: Path) -> Iterator[Silence]:
        run(table_file, data, tmp_path / "out", watched, "base")
        yield Silence()

    table = read_experiment(Table3, "table3", table_file)
    report = run_table3(table, "tiny", data, tmp_path / "out", sample_of(data), beside, print, rows=["A"])
    assert [row["row"] for row in report["rows"] if row["ours"]] == ["base", "A-1"]


def test_figures_are_those_of_the_log(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    report = run(table_file, data, tmp_path / "out", watched, "A")
    last = [json.loads(line) for line in (tmp_path / "out/A-1-seed1/log.jsonl").read_text().splitlines()]
    logged = [record["perplexity"] for record in last if record["event"] == "validation"][-1]
    (ours,) = [row["runs"][0] for row in report["rows"] if row["row"] == "A-1"]
    assert ours["ppl"] == pytest.approx(logged, rel=1e-4)
    assert report["findings"][0]["verdict"] == "not judged"


def test_a_changed_setting_is_noticed(table_file: Path, data: Prepared, tmp_path: Path, watched: Watched) -> None:
    run(table_file, data, tmp_path / "out", watched, "A")
    text = table_file.read_text()
    table_file.write_text(text.replace("warmup = 4", "warmup = 5"))
    with pytest.raises(UserError, match="out/A-1-seed1: train.warmup was 4 when this run began and is now 5"):
        run(table_file, data, tmp_path / "out", watched, "A")
    table_file.write_text(text.replace("steps = 8", "steps = 4"))
    with pytest.raises(UserError, match="out/A-1-seed1: is at step 8 already, beyond the 4"):
        run(table_file, data, tmp_path / "out", watched, "A")
    table_file.write_text(text.replace("steps = 8", "steps = 10"))
    report = run(table_file, data, tmp_path / "out", watched, "A")
    assert [run["steps"] for row in report["rows"] for run in row["runs"]] == [10, 10], "more steps go on"


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
    with pytest.raises(Interrupted, match="out/base-seed1: stopped after its last step") as stopped:
        run_table3(read_experiment(Table3, "table3", table_file), "tiny", data, out, sample_of(data), impatient, print)
    assert stopped.value.code == 75 and not (out / "base-seed2").exists()
    run(table_file, data, out, watched, "base")
    assert watched.runs == ALL[:2]


@pytest.mark.slow
def test_killed_between_and_inside_rows(table_file: Path, digits: Path, data: Prepared, tmp_path: Path) -> None:
    run(table_file, data, tmp_path / "whole", Watched())
    out = tmp_path / "killed"
    for moment in (out / "base-seed1" / "figures.json", out / "base-seed2/checkpoints/step-00000004"):
        kill_at(moment, CODE, str(table_file), str(digits), str(out))
    done = (out / "base-seed1/figures.json").stat().st_mtime_ns
    watched = Watched()
    run(table_file, data, out, watched)
    assert [name for name, _ in watched.runs] == [name for name, _ in ALL[1:]]
    assert (out / "base-seed1/figures.json").stat().st_mtime_ns == done
    for name, _ in ALL:
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
        assert json.loads((done / "A-1-seed1" / FIGURES).read_bytes())["code"] == version
        assert f"Code: {version}." in (done / "table3.md").read_text(encoding="utf-8")
        assert json.loads((done / "table3.json").read_bytes())["code"] == version

    @pytest.mark.parametrize("code", ["0.1.0+0123456789ab", None])
    def test_figures_of_other_code_are_not_reported(
        self, code: str | None, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        rewrite(done / "A-1-seed1" / FIGURES, code)
        report = run(table_file, data, done, watched, "D")
        names = [(row["row"], len(row["runs"])) for row in report["rows"] if row["runs"]]
        assert names == [("A-1", 1), ("D-drop0", 2)] and not watched.runs
        assert [f"A-1-seed1/{FIGURES}" in sentence for sentence in watched.warnings] == [True]
        assert (code or "not recorded") in watched.warnings[0]

    def test_a_run_of_this_code_is_measured_again(
        self, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        before = (done / "A-1-seed1" / FIGURES).read_bytes()
        rewrite(done / "A-1-seed1" / FIGURES, None)
        run(table_file, data, done, watched, "A")
        assert (done / "A-1-seed1" / FIGURES).read_bytes() == before

    @pytest.mark.parametrize("code", ["0.1.0+0123456789ab", None])
    def test_a_run_of_other_code_is_not_gone_on_with(
        self, code: str | None, done: Path, table_file: Path, data: Prepared, watched: Watched
    ) -> None:
        (done / "A-1-seed1" / FIGURES).unlink()
        log = done / "A-1-seed1" / "log.jsonl"
        first, *others = log.read_text(encoding="utf-8").splitlines()
        begun = {key: value for key, value in json.loads(first).items() if key != "code"}
        log.write_text(
            "\n".join([json.dumps(begun | ({"code": code} if code else {})), *others]) + "\n", encoding="utf-8"
        )
        with pytest.raises(UserError, match="trained by other code.*--fresh"):
            run(table_file, data, done, watched, "A")
        run(table_file, data, done, watched, "A", fresh=True)
        assert json.loads((done / "A-1-seed1" / FIGURES).read_bytes())["code"] == code_version(MEASURING)


def rewrite(path: Path, code: str | None) -> None:
    """Figures as another version, or one that did not record itself, has written them."""
    figures = {key: value for key, value in json.loads(path.read_bytes()).items() if key != "code"}
    path.write_text(json.dumps(figures | ({"code": code} if code else {})), encoding="utf-8")
