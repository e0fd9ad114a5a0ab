"""The commands of training as a person types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.main import app
from regard.errors import UserError
from regard.files import sha256

SMALL = [
    "model.d_model=16", "model.d_ff=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
    "train.batch_tokens=200", "train.checkpoint_every=5", "train.log_every=5", "train.steps=10", "train.average_last=2",
]  # fmt: skip


def small(*more: str) -> list[str]:
    return [word for setting in (*SMALL, *more) for word in ("--set", setting)]


def regard(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"number {n}\t{n} 번 {chr(0x1F600 + n % 40)}" for n in range(300)]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "valid.tsv").write_text("\n".join(lines[:20]) + "\n", encoding="utf-8")
    regard(
        "prepare", "--train", str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv"), "--vocabulary", "330",
        "--from", "en", "--to", "ko", "--cores", "1", "--out", str(folder / "data"),
    )  # fmt: skip
    return folder / "data"


def test_train_average_and_runs(data: Path, tmp_path: Path) -> None:
    common = ["--preset", "tiny", "--data", str(data), *small()]
    figures = json.loads(regard("train", *common, "--out", str(tmp_path / "x"), "--json"))
    assert figures["step"] == 10 and figures["validation_perplexity"] > 1
    again = json.loads(regard("train", *common, "--out", str(tmp_path / "x"), "--json"))
    assert again["step"] == 10
    regard("train", *common, "--out", str(tmp_path / "y"), "--tensorboard")
    assert sha256(tmp_path / "x/model/model.safetensors") == sha256(tmp_path / "y/model/model.safetensors")
    assert list((tmp_path / "y" / "tensorboard").iterdir())

    assert "steps 5, 10" in regard("average", str(tmp_path / "x"), "--last", "2", "--out", str(tmp_path / "averaged"))
    compared = json.loads(regard("runs", str(tmp_path / "x"), str(tmp_path / "y"), "--json"))
    assert compared[str(tmp_path / "x")]["step"] == 10
    assert "tokens" in regard("runs", str(tmp_path / "x"), "--plot", str(tmp_path / "curves.svg"))
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")


def test_a_run_file_and_its_copy(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('preset = "tiny"\n[train]\nseed = 3\n')
    regard("train", str(tmp_path / "run.toml"), "--data", str(data), "--out", str(tmp_path / "x"), *small())
    regard("train", str(tmp_path / "x" / "run.toml"), "--out", str(tmp_path / "y"))
    assert sha256(tmp_path / "x/model/model.safetensors") == sha256(tmp_path / "y/model/model.safetensors")


def test_fine_tuning(data: Path, tmp_path: Path) -> None:
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    regard(
        "train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "y"),
        "--from", str(tmp_path / "x/model"),
        "--set", "train.steps=3", "--set", "train.batch_tokens=200", "--set", "model.dropout=0",
    )  # fmt: skip
    assert json.loads((tmp_path / "y/model/config.json").read_text())["model"]["d_model"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "tiny"], "--out"),
        (["--preset", "tiny", "--out", "o"], "--data"),
        (["--out", "o", "--data", "d"], "either a run file or a --preset"),
        (["--preset", "tiny", "--out", "o", "--data", "nowhere"], "nowhere: not prepared data"),
        (["--preset", "tiny", "--out", "o", "--data", "d", "--set", "train.stpes=3"], "did you mean 'train.steps'"),
        (["--preset", "tiny", "--out", "o", "--data", "d", "--set", "steps=3"], "SECTION.KEY=VALUE"),
        (["none.toml", "--out", "o", "--data", "d"], "none.toml: no such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        regard("train", *arguments)
    assert not (tmp_path / "o").exists()


def test_fine_tuning_with_other_subwords_is_refused(data: Path, tmp_path: Path) -> None:
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    lines = [f"{n * 7919:x} dogs\t개 {n * 104729:x}" for n in range(300)]
    (tmp_path / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    common = ["prepare", "--train", str(tmp_path / "other.tsv"), "--cores", "1"]
    regard(*common, "--vocabulary", "330", "--out", str(tmp_path / "other"))
    tune = ["train", "--preset", "tiny", "--out", str(tmp_path / "y"), "--from", str(tmp_path / "x/model")]
    tune += ["--set", "train.steps=2", "--set", "train.batch_tokens=200"]
    with pytest.raises(UserError, match="its subwords are not those of the data.*--subwords-from"):
        regard(*tune, "--data", str(tmp_path / "other"))
    regard(*common, "--subwords-from", str(tmp_path / "x/model"), "--out", str(tmp_path / "fitting"))
    regard(*tune, "--data", str(tmp_path / "fitting"))
    assert (tmp_path / "y" / "model" / "config.json").exists()


def test_runs_of_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a training run"):
        regard("runs", str(tmp_path))
    with pytest.raises(UserError, match="no such file"):
        regard("average", str(tmp_path), "--out", str(tmp_path / "out"))


def test_torchrun(data: Path, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard", "train",
        "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "z"), *small(),
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "z" / "model" / "model.safetensors").exists()
    assert done.stdout.count("validation_perplexity") == 1, "one process speaks"
