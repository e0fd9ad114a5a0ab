"""Models, prepared data and runs that regard 0.1 wrote still load, translate as they did, and go on."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.main import app
from regard.saved.folder import load_model
from regard.train.log import records
from regard.translate.load import load
from regard.translate.translator import Options

EARLIER = Path(__file__).parent / "version_0_1"
TRANSLATIONS: dict[str, list[str]] = json.loads((EARLIER / "models" / "translations.json").read_text(encoding="utf-8"))
LINES = ["The old woman sees 12 apples.", "할머니가 사과를 봅니다 시장에서. 🎉", "Der junge Mann"]


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_model_of_each_kind_translates_as_it_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Their weights are random, so their outputs loop, which 0.1 did not search again; nor did it protect anything.
    monkeypatch.setattr("regard.translate.terms.search_loops_again", lambda *_: None)
    assert (
        load(EARLIER / "models" / name, engine="torch").translate(LINES, Options(protect=False, force=True))
        == TRANSLATIONS[name]
    )


@pytest.mark.parametrize("name", ["tiny", "lstm"])
def test_a_run_goes_on(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(EARLIER / "runs" / name, run)
    shutil.copytree(EARLIER / "data", tmp_path / "data")
    settings = ["train.steps=3", "train.average_last=1"]
    command = ["train", str(run / "run.toml"), "--data", str(tmp_path / "data"), "--out", str(run)]
    done = CliRunner().invoke(app, [*command, *(word for one in settings for word in ("--set", one))])
    assert done.exit_code == 0, done.output
    assert [record["step"] for record in records(run / "log.jsonl") if record.get("event") == "resume"] == [2]
    assert load_model(run / "model").config.d_model == 8
