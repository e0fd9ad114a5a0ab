"""`regard synthesise` as it is typed."""

import json
from pathlib import Path

import pytest
from tests.support.command import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "synthesise")


def test_pairs_and_reports(run: Run, tmp_path: Path) -> None:
    text, out = tmp_path / "mono.de", tmp_path / "bt.tsv"
    text.write_text("Guten Morgen!\n\nIch habe keine Zeit.\n", encoding="utf-8")
    line = f"--model en-de --to en --text {text} --out {out}".split()
    code, printed, _ = run(*line, "--json")
    assert (code, json.loads(printed)) == (
        0,
        {"out": str(out), "lines": 3, "written": 2, "dropped": {"blank": 1}, "size": out.stat().st_size, "done": True},
    )
    assert [pair.split("\t")[1] for pair in out.read_text(encoding="utf-8").splitlines()] == [
        "Guten Morgen!",
        "Ich habe keine Zeit.",
    ]
    assert b"3 read, 2 pairs written" in run(*line)[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--temperature 0.5", "add --sample"),
        ("--to fr", "<2fr>"),
        ("--sample --temperature 0", "a temperature is between"),
    ],
)
def test_mistakes(run: Run, tmp_path: Path, options: str, words: str) -> None:
    text = tmp_path / "mono.en"
    text.write_text("Good morning.\n", encoding="utf-8")
    code, _, told = run(*f"--model en-de --text {text} --out {tmp_path / 'bt.tsv'} {options}".split())
    assert code == 2 and words in told and told.count("\n") == 1
    assert not (tmp_path / "bt.tsv").exists()
