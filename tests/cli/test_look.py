"""`regard look`."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.support.command import Run

from regard.look.page import page
from regard.translate.translator import Options, Translator

TEXT = "The old woman sees 12 apples"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "look")


def test_a_page(run: Run, folder: Path, translator: Translator, tmp_path: Path) -> None:
    out = tmp_path / "attention.html"
    code, told, complaint = run("--model", str(folder), TEXT, "--out", str(out))
    assert (code, complaint) == (0, "")
    assert told.decode() == f"{translator.translate(TEXT, Options(protect=False, force=True))}\n{out}\n"
    assert out.read_text(encoding="utf-8") == page(translator.look(TEXT).to_json())


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_figure(run: Run, folder: Path, tmp_path: Path, ending: str) -> None:
    if ending != "svg":
        pytest.importorskip("matplotlib", reason="no matplotlib; pip install 'regard[paper]'")
    out = tmp_path / f"head.{ending}"
    line = f"--layer 2 --head 2 --kind cross --json --out {out}"
    code, told, complaint = run("--model", str(folder), TEXT, *line.split())
    assert code == 0 and (not complaint or ("no installed font has" in complaint and ending != "svg"))
    assert json.loads(told)["out"] == str(out) and json.loads(told)["layer"] == 2
    if ending == "svg":
        assert ElementTree.fromstring(out.read_text(encoding="utf-8")).tag.endswith("svg")


def test_data(run: Run, folder: Path, translator: Translator, tmp_path: Path) -> None:
    code, told, _ = run("--model", str(folder), TEXT, "--format", "json")
    assert (code, told.decode().strip()) == (0, translator.look(TEXT).to_json())
    out = tmp_path / "head_view.json"
    assert run("--model", str(folder), TEXT, "--format", "bertviz", "--out", str(out))[0] == 0
    arguments = json.loads(out.read_text())
    wanted = translator.look(TEXT).bertviz()
    assert arguments["cross_attention"][1] == wanted["cross_attention"][1].tolist()
    assert arguments["encoder_tokens"] == wanted["encoder_tokens"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("x", "--out is missing"),
        ("x --out a.gif", "ends with neither"),
        ("x --out a.svg", "name it with --layer and --head"),
        ("x --out a.html --layer 1", "are for a figure"),
        ("x --out a.svg --layer 9 --head 1", "there is no layer 9"),
        ("x --out a.svg --layer 1 --head 0", "there is no head 0"),
    ],
)
def test_mistakes(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, complaint = run("--model", str(folder), *line.split())
    assert (code, out) == (2, b"") and told in complaint and complaint.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_text_that_is_not_utf_8(run: Run, folder: Path, translator: Translator, tmp_path: Path) -> None:
    """As `regard translate` reads it."""
    out = tmp_path / "a.json"
    assert run("--model", str(folder), "A \udcff man.", "--out", str(out))[0] == 0
    assert out.read_text(encoding="utf-8") == translator.look("A \ufffd man.").to_json()


def test_nothing_to_look_at(run: Run, folder: Path, tmp_path: Path) -> None:
    code, _, complaint = run("--model", str(folder), "  ", "--out", str(tmp_path / "a.html"))
    assert code == 2 and "blank" in complaint


def test_several_sentences_and_a_figure(run: Run, folder: Path, tmp_path: Path) -> None:
    line = f"--layer 1 --head 1 --out {tmp_path / 'a.svg'}"
    code, _, complaint = run("--model", str(folder), "A man. A woman.", *line.split())
    assert code == 0 and "the first of 2 sentences" in complaint
