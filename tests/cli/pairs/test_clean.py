"""`regard clean` as it is typed."""

import json
from pathlib import Path

import pytest
from tests.support.command import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "clean")


def test_two_files_tell_their_languages(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("Where is the station?\nI have no time today.\n", encoding="utf-8")
    (tmp_path / "a.ko").write_text("역이 어디예요?\nI have no time today.\n", encoding="utf-8")
    line = [str(tmp_path / "a.en"), str(tmp_path / "a.ko"), "--check-language", "--out", str(tmp_path / "out.tsv")]
    code, printed, _ = run(*line, "--json")
    assert (code, json.loads(printed)["dropped"]) == (0, {"target in another language": 1})
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == "Where is the station?\t역이 어디예요?\n"
    assert b"2 read, 1 kept" in run(*line)[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "nothing to clean by"),
        ("--keep 0.5", "go with --model"),
        ("--check-language", "--from and --to"),
        ("--near-duplicates 0.7 --from en", "are for --check-language"),
        ("b.tsv c.tsv --near-duplicates 0.7", "one corpus at a time"),
    ],
)
def test_mistakes(run: Run, tmp_path: Path, options: str, words: str) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    code, _, told = run(str(tmp_path / "a.tsv"), *options.split(), "--out", str(tmp_path / "out.tsv"))
    assert code == 2 and words in told and told.count("\n") == 1
