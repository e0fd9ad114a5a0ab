"""`regard evaluate --gold --parses`."""

import gzip
import json
from pathlib import Path

import pytest
from tests.support.command import Run

CAT = "(TOP (S (NP-SBJ (DT The) (NN 고양이)) (VP (VBD sat)) (. .)))"
DOG = "(TOP (S (NP (DT The) (VBD 고양이)) (NP (VBD sat)) (. .)))"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("gold.mrg").write_text(f"{CAT}\n{CAT}\n{CAT}\n", encoding="utf-8")
    Path("test.mrg").write_text(f"{DOG}\n\n(TOP (S (NN cat)))\n", encoding="utf-8")
    with gzip.open("gold.mrg.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"id\t{CAT}\n" for _ in range(3))
    return Run(monkeypatch, "evaluate")


def test_json(run: Run) -> None:
    code, out, err = run("--gold", "gold.mrg", "--parses", "test.mrg", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    nothing = {"matched": 0, "gold": 0, "test": 0, "crossing": 0, "words": 0, "tags": 0}
    assert found["sentences"] == [
        {"status": 0, "matched": 2, "gold": 3, "test": 3, "crossing": 0, "words": 3, "tags": 2},
        {"status": 2, **nothing},
        {"status": 1, **nothing},
    ]
    figures = found["summary"]
    assert figures["f1"] == figures["recall"] == figures["precision"] == pytest.approx(200 / 3)
    assert [figures[name] for name in ("sentences", "valid", "skipped", "errors")] == [3, 1, 1, 1]
    assert figures["up_to_40"] == {name: value for name, value in figures.items() if name != "up_to_40"}


def test_text_and_compressed_files_and_a_pipe(run: Run) -> None:
    code, out, err = run("--gold", "gold.mrg.gz", "--parses", "-", stdin=f"{CAT}\n{CAT}\n\n".encode())
    assert (code, err) == (0, "") and "F1                         100.00" in out.decode()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--gold gold.mrg", "--gold, the right trees, goes with either --parses or --model"),
        ("--parses test.mrg", "--gold, the right trees, goes with either --parses or --model"),
        ("--gold - --parses -", "standard input (-) is named twice"),
        ("--gold gold.mrg --parses none.mrg", "none.mrg: no such file"),
    ],
)
def test_mistakes(run: Run, arguments: str, sentence: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, b"") and sentence in err and len(err.splitlines()) == 1


def test_a_root_without_a_label_is_told_of(run: Run) -> None:
    Path("test.mrg").write_text(f"{CAT.replace('TOP', '')}\n" * 3, encoding="utf-8")
    code, _, err = run("--gold", "gold.mrg", "--parses", "test.mrg", "--json")
    assert code == 0 and err.startswith("warning: test.mrg has trees with a root without a label")
