"""A saved model and a command to run on it in this process, for the tests of commands that use a model."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.saving import save_built
from typer.testing import CliRunner

from regard.cli.main import app, main
from regard.config.run import Config
from regard.saved.folder import LoadedModel


@pytest.fixture(scope="session")
def folder(saved: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model that nobody trained."""
    path = tmp_path_factory.mktemp("models") / "model"
    save_built(
        path, saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords, languages=("en", "de")
    )
    return path


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


class Run:
    """The command in this process: its input as bytes, its output as bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        self.monkeypatch, self.command = monkeypatch, command

    def __call__(self, *arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
        texts: list[Any] = [
            io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))),
            io.TextIOWrapper(io.BytesIO()),
            io.StringIO(),
        ]
        for name, text in zip(("stdin", "stdout", "stderr"), texts, strict=True):
            self.monkeypatch.setattr(sys, name, text)
        self.monkeypatch.setattr(sys, "argv", ["regard", self.command, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        texts[1].flush()
        out: Any = texts[1].buffer
        code = ended.value.code
        return (code if isinstance(code, int) else 0), out.getvalue(), texts[2].getvalue()  # type: ignore[attr-defined]
