import sys
from pathlib import Path

import pytest
from tests.support.command import Run

from regard.cli import serve
from regard.saved import bundled
from regard.serve.limits.keys import read_keys


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    return Run(monkeypatch, "serve")


def test_a_key_is_made(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    code, out, _ = run("--keys", str(file), "--new-key", "me")
    assert code == 0
    assert read_keys(file).holder(out.decode().strip()) == "me"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--new-key", "me"), "name it with --keys"),
        (("--model", "nowhere", "--port", "0"), "no such folder"),
        (("--model", "x", "--set", "charakters=1"), "unknown key 'charakters'; did you mean 'characters'?"),
        (("--model", "x", "--set", "characters=0"), "characters: Input should be greater than 0"),
        (("--model", "x", "--host", "256.0.0.1"), "256.0.0.1:5000: can't listen there"),
        (("--model", "x", "--host", "a..b"), "a..b:5000: can't listen there"),
        (("--model", "x", "--keys", "nowhere.txt", "--port", "0"), "nowhere.txt: no such file"),
    ],
)
def test_mistakes(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert sentence in err


def test_without_a_model_all_bundled_ones_are_served(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    served: list[list[str]] = []
    monkeypatch.setattr(serve, "_listen", lambda host, port, models, *_: served.append(models))
    assert run()[0] == 0
    assert run("--model", "en-ko")[0] == 0
    assert served == [list(bundled.translation_models()), ["en-ko"]]
    assert served[0][0] == bundled.DEFAULT
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    code, _, err = run()
    assert (code, "--model is missing" in err) == (2, True)


def test_what_is_absent_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run("--model", "x")
    assert code == 2
    assert "pip install 'regard[serve]'" in err
