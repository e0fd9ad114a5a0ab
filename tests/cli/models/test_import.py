"""`regard import` as its user meets it: a folder in, a model out that translates."""

import json
from pathlib import Path

import pytest
from tests.exchange.marian import publish
from tests.support.command import Run


def test_imports_and_translates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "marian", languages=(">>kor<<", ">>jpn<<"))
    model = tmp_path / "모델"
    code, out, _ = Run(monkeypatch, "import")(str(tmp_path / "marian"), "--out", str(model), "--json")
    assert code == 0 and json.loads(out) == {"model": str(model), "from": str(tmp_path / "marian")}
    translate = Run(monkeypatch, "translate")
    text = "The old woman sees 12 apples.\n\nשלום 👩\u200d👧 e\u0301\n".encode()
    code, out, complaint = translate("--model", str(model), "--to", "kor", "--engine", "torch", stdin=text)
    assert code == 0, complaint
    lines = out.decode().split("\n")
    assert len(lines) == 4 and lines[0] and not lines[1]
    code, _, complaint = translate("--model", str(model), "--engine", "torch", stdin=text)
    assert code == 2 and "<2kor>, <2jpn>" in complaint


def test_a_mistake_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, "import")
    code, _, complaint = run(str(tmp_path / "none"), "--out", str(tmp_path / "model"))
    assert code == 2 and "no such folder" in complaint
    publish(tmp_path / "marian")
    (tmp_path / "model").mkdir()
    code, _, complaint = run(str(tmp_path / "marian"), "--out", str(tmp_path / "model"))
    assert code == 2 and "exists already" in complaint and not list((tmp_path / "model").iterdir())
