"""`regard synthesise` as it is typed."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Run

from regard.bulk.run import BulkObserver, BulkReport
from regard.pairs.synthesise import Synthesis
from regard.search.sampling import Sampling
from regard.translate.translator import Options


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
        ("--to fr", "not into fr"),
        ("--sample --temperature 0", "a temperature is between"),
    ],
)
def test_mistakes(run: Run, tmp_path: Path, options: str, words: str) -> None:
    text = tmp_path / "mono.en"
    text.write_text("Good morning.\n", encoding="utf-8")
    code, _, told = run(*f"--model en-de --text {text} --out {tmp_path / 'bt.tsv'} {options}".split())
    assert code == 2 and words in told and told.count("\n") == 1
    assert not (tmp_path / "bt.tsv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--workers 2", "--workers is for many files on a cluster; add --cluster local"),
        ("--cores 2", "--cores is for many files on a cluster; add --cluster local"),
        ("--cluster local --text absent/*.txt", "absent/*.txt: no file matches"),
        ("--cluster 127.0.0.1:1", "no cluster answers there"),
        ("--cluster local --temperature 0.5", "add --sample"),
    ],
)
def test_mistakes_with_a_cluster(run: Run, tmp_path: Path, options: str, words: str) -> None:
    text = tmp_path / "mono.en"
    text.write_text("Good morning.\n", encoding="utf-8")
    code, out, told = run(*f"--model en-de --text {text} --out {tmp_path / 'bt'} {options}".split())
    assert (code, out) == (2, b"") and words in told and told.count("\n") == 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks of the library, which reports one failure if asked for `bad`."""
    calls: list[dict[str, Any]] = []

    def fake(pattern: str, out: str, config: Synthesis, *, observer: BulkObserver, **settings: Any) -> BulkReport:
        calls.append({"pattern": pattern, "out": out, "config": config, **settings})
        observer.warn("a remark")
        failures = {"x.txt": "x.txt: 한국어"} if pattern == "bad" else {}
        return BulkReport(10, 7, 2, 1, len(failures), failures, 61.0, 7200.0, 1 << 20, {"blank": 2, "too long": 1})

    monkeypatch.setattr("regard.pairs.synthesise_shards.synthesise_shards", fake)
    return calls


def test_figures_of_a_cluster(run: Run, made: list[dict[str, Any]]) -> None:
    line = "--cluster local --model en-de --text good --out s3://b/o --kind forward --min-confidence 0.5 --any-language"
    more = "--max-characters 9 --beam 2 --to en --sample --top-k 3 --workers 4 --cores 2 --engine native --force"
    code, out, err = run(*f"{line} {more} --json".split())
    figures = json.loads(out)
    assert (code, err) == (0, "regard: a remark\n")
    assert {key: figures[key] for key in ("out", "lines", "written", "dropped", "done", "shards", "translated")} == {
        "out": "s3://b/o", "lines": 10, "written": 7, "dropped": {"blank": 2, "too long": 1}, "done": True,
        "shards": 2, "translated": 1,
    }  # fmt: skip
    (call,) = made
    assert call == {
        "pattern": "good", "out": "s3://b/o", "config": Synthesis("forward", 0.5, False, 9), "model": Path("en-de"),
        "options": Options(beam=2, target="en", sampling=Sampling(top_k=3)), "engine": "native", "force": True,
        "cluster": "local", "workers": 4, "cores": 2,
    }  # fmt: skip
    assert run(*line.split())[1].decode().splitlines() == [
        "lines      10 read, 7 pairs written: s3://b/o",
        "dropped    2 blank, 1 too long",
        "shards     2; 1 shards translated now, in 0:01:01 and 2.000 core-hours",
    ]
    assert (made[1]["workers"], made[1]["cores"]) == (None, 1)


def test_failures_on_a_cluster(run: Run, made: list[dict[str, Any]]) -> None:
    code, out, err = run(*["--cluster", "local", "--model", "en-de", "--text", "bad", "--out", "o", "--json"])
    assert code == 1 and json.loads(out)["failures"] == {"x.txt": "x.txt: 한국어"} and not json.loads(out)["done"]
    assert "1 of 3 shards failed, the others are complete: x.txt: x.txt: 한국어; mend them" in err
