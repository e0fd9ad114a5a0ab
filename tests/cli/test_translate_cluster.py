"""`regard translate --cluster`: what has no effect is rejected before any work; figures and failures are shown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Run

from regard.bulk.run import BulkObserver, BulkProgress, BulkReport
from regard.cli.terminal.cluster import progress_words


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "translate")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--json", "x"], "--json is for many files on a cluster; add --cluster local"),
        (["--workers", "2", "x"], "--workers is for many files on a cluster"),
        (["--column", "2", "x"], "--column is for many files on a cluster"),
        (["--cluster", "local", "--n-best", "2", "a", "--out", "b"], "--n-best has no place beside --cluster"),
        (["--cluster", "local", "--format", "jsonl", "a", "--out", "b"], "--format has no place beside --cluster"),
        (["--cluster", "local", "a"], "--cluster translates files into a folder; name both"),
        (["--cluster", "local", "--out", "b"], "--cluster translates files into a folder; name both"),
        (["--cluster", "local", "absent/*.txt", "--out", "b"], "absent/*.txt: no file matches"),
    ],
)
def test_options_that_have_no_effect(arguments: list[str], words: str, run: Run, folder: Path) -> None:
    code, out, err = run("--model", str(folder), *arguments)
    assert (code, out) == (2, b"") and words in err


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ray://127.0.0.1:10001", "give HOST:PORT of the head node"),
        ("127.0.0.1", "give HOST:PORT of the head node"),
        ("127.0.0.1:1", "no cluster answers there; start one with `ray start --head`, or say local"),
    ],
)
def test_addresses_where_no_cluster_is(address: str, words: str, run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    code, _, err = run("--model", str(folder), "--cluster", address, f"{tmp_path}/*.txt", "--out", f"{tmp_path}/out")
    assert code == 2 and words in err


def report(**failures: str) -> BulkReport:
    return BulkReport(10, 10, 2, 1, len(failures), failures, 61.0, 7200.0, 1 << 20)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks of the library, which reports one failure if asked for `bad`."""
    calls: list[dict[str, Any]] = []

    def fake(pattern: str, out: str, *, observer: BulkObserver, **settings: Any) -> BulkReport:
        calls.append({"pattern": pattern, "out": out, **settings})
        observer.warn("a remark")
        return report(**{"x.txt": "x.txt, line 3: 한국어"} if pattern == "bad" else {})

    monkeypatch.setattr("regard.bulk.translate.translate_shards", fake)
    return calls


def test_figures(run: Run, folder: Path, translated: list[dict[str, Any]]) -> None:
    arguments = ("--model", str(folder), "--cluster", "local", "good", "--out", "o", "--beam", "2", "--cores", "3")
    code, out, err = run(*arguments, "--json", "--force", "--column", "text")
    assert code == 0 and json.loads(out) == asdict(report()) and err == "regard: a remark\n"
    (call,) = translated
    assert (call["pattern"], call["out"], call["model"]) == ("good", "o", [folder])
    assert (call["cores"], call["workers"], call["force"], call["column"]) == (3, None, True, "text")
    assert call["options"].beam == 2 and call["cluster"] == "local"
    assert (
        run(*arguments)[1].decode()
        == "o: 2 shards, 10 rows; 1 shards translated now, in 0:01:01 and 2.000 core-hours\n"
    )


def test_without_a_model_a_pattern_is_not_taken_for_a_text(run: Run, translated: list[dict[str, Any]]) -> None:
    code, _, err = run("--cluster", "local", "corpus/*.txt.zst", "--out", "o")
    assert (code, err, translated[0]["pattern"]) == (0, "regard: a remark\n", "corpus/*.txt.zst")


def test_failures(run: Run, folder: Path, translated: list[dict[str, Any]]) -> None:
    code, out, err = run("--model", str(folder), "--cluster", "local", "bad", "--out", "o", "--json")
    assert code == 1 and json.loads(out)["failures"] == {"x.txt": "x.txt, line 3: 한국어"}
    assert "1 of 3 shards failed, the others are complete: x.txt: x.txt, line 3: 한국어; mend them" in err


def test_words_of_progress() -> None:
    progress = BulkProgress(40, 10, bytes=400, bytes_done=100, rows=5000, seconds=100.0, cpu_seconds=360.0)
    assert progress_words(progress) == "10 of 40 shards, 5,000 rows, 50 rows/s, 0.10 core-hours, 0:05:00 left"
