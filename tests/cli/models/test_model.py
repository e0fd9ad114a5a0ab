import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from regard.cli.main import app
from regard.config.presets import preset_names
from regard.errors import UserError


def report(*arguments: str) -> Any:
    done = CliRunner().invoke(app, ["model", *arguments, "--json"], catch_exceptions=False)
    return json.loads(done.stdout)


def test_base() -> None:
    figures = report("base")
    assert figures["parameters"] == 63_082_496 and figures["paper_parameters"] == 65_000_000
    assert figures["model"]["d_model"] == 512 and figures["training_flops"] == 3 * figures["forward_flops"]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset(name: str) -> None:
    figures = report(name, "--vocabulary", "37000")
    assert figures["parameters"] == sum(figures["parts"].values())


def test_vocabulary_and_lengths() -> None:
    assert report("tiny", "--vocabulary", "500")["parts"]["embedding"] == 500 * 128
    assert report("tiny", "--source-tokens", "50")["forward_flops"] > report("tiny")["forward_flops"]


def test_a_run_file(tmp_path: Path) -> None:
    path = tmp_path / "런.toml"
    path.write_text('preset = "base"\n[model]\nheads = 4\n')
    assert report(str(path))["model"]["d_k"] == 128


def test_table_for_people() -> None:
    done = CliRunner().invoke(app, ["model", "big"], catch_exceptions=False)
    assert "213 M" in done.stdout and "decoder cross" in done.stdout and "GFLOP" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bsae"], "did you mean 'base'"),
        (["base", "--vocabulary", "3"], "model.vocabulary"),
        (["no.toml"], "no such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CliRunner().invoke(app, ["model", *arguments], catch_exceptions=False)
