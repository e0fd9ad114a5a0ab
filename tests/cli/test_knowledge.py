"""Glossaries, memories and confidence from the command line."""

import json
import shutil
from pathlib import Path

import pytest
from tests.support.command import Run

from regard.saved.calibration import read_calibration

TEXT = "The old woman sees 12 apples."


def command(monkeypatch: pytest.MonkeyPatch, name: str) -> Run:
    return Run(monkeypatch, name)


def test_memory(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    run, place = command(monkeypatch, "memory"), str(tmp_path / "work.db")
    languages = ("--from", "en", "--to", "de", "--memory", place)
    code, out, _ = run("add", TEXT, "Die Alte. 👩\u200d👧", *languages, "--author", "안나")
    assert (code, out) == (0, b"stored as 1\n")
    (tmp_path / "more.tsv").write_text("사과\tApfel\nצהריים\tMittag\n", encoding="utf-8")
    code, out, _ = run("import", str(tmp_path / "more.tsv"), *languages, "--json")
    assert json.loads(out) == {"pairs": 2, "new": 2, "size": 3}
    code, out, _ = run("search", TEXT.replace("12", "13"), *languages, "--json")
    assert [(one["percent"], one["author"]) for one in json.loads(out)] == [(96, "안나")]
    code, out, _ = run("list", "--memory", place)
    assert [line.split("\t")[2] for line in out.decode().splitlines()] == [TEXT, "사과", "צהריים"]
    for suffix in ("tmx", "tsv", "jsonl"):
        assert run("export", str(tmp_path / f"all.{suffix}"), "--memory", place)[0] == 0
        assert "Apfel" in (tmp_path / f"all.{suffix}").read_text(encoding="utf-8")
    code, _, error = run("export", str(tmp_path / "all.tmx"), "--memory", place)
    assert (code, "exists already" in error) == (2, True)
    code, _, error = run("export", str(tmp_path / "all.doc"), "--memory", place)
    assert (code, "ends with none of" in error) == (2, True)
    assert run("remove", "2", "3", "--memory", place)[:2] == (0, b"removed 2\n")
    code, _, error = run("remove", "2", "--memory", place)
    assert (code, "has no pair 2" in error) == (2, True)
    assert run("check", "--memory", place, "--json")[1] == b'{"pairs": 1, "whole": true}\n'
    translate = command(monkeypatch, "translate")
    assert translate("--model", str(folder), "--memory", place, TEXT)[1].decode() == "Die Alte. 👩\u200d👧\n"
    code, out, _ = translate("--model", str(folder), "--memory", place, "--format", "jsonl", stdin=TEXT[:-1].encode())
    (sentence,) = json.loads(out)["sentences"]
    assert sentence["fuzzy"]["percent"] == 96
    code, _, error = translate("--model", str(folder), "--memory", "absent.db", TEXT)
    assert (code, "no such memory" in error) == (2, True)


def test_a_glossary_and_what_it_could_not_place(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    run, terms = command(monkeypatch, "translate"), tmp_path / "terms.tsv"
    terms.write_text("woman\tWeib\n")
    given = ("--model", str(folder), "--glossary", str(terms), "--no-protect", "--force")
    code, out, error = run(*given, TEXT)
    assert (code, b"Weib" in out, "placed" in error) == (0, True, False)
    code, out, error = run(*given, "--ban", "Weib", TEXT)
    assert (code, out, "Weib" in error) == (2, b"", True)
    long = "가" * 60  # more subwords than are required of a sentence
    terms.write_text(f"woman\t{long}\n")
    code, out, error = run(*given, stdin=f"x\n{TEXT}\n".encode())
    assert (code, out.count(b"\n"), f"line 2: 'woman' could not be placed as '{long}'" in error) == (0, 2, True)
    code, out, _ = run(*given, "--format", "jsonl", TEXT)
    assert json.loads(out)["sentences"][0]["terms"] == [{"source": "woman", "targets": [long], "placed": False}]
    terms.write_text("woman\tWeib\n")
    code, out, _ = run(*given, "--format", "jsonl", TEXT)
    assert json.loads(out)["sentences"][0]["terms"] == [{"source": "woman", "targets": ["Weib"], "placed": True}]
    terms.write_text("woman\n")
    code, _, error = run(*given, TEXT)
    assert (code, "terms.tsv, line 1: needs a source and a target" in error) == (2, True)
    code, _, error = command(monkeypatch, "evaluate")(
        "--glossary", str(terms), "--hypothesis", str(terms), "--reference", str(terms)
    )
    assert (code, "--glossary has no effect with --hypothesis" in error) == (2, True)


def test_confidence(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "model"))
    run, given = command(monkeypatch, "translate"), ("--model", str(folder))
    code, _, error = run(*given, "--min-confidence", "0.4", TEXT)
    assert (code, "run `regard calibrate`" in error) == (2, True)
    for name in ("source", "reference"):
        (tmp_path / name).write_text("".join(f"the {name} number {n}\n" for n in range(100)))
    files = ("--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference"))
    code, out, _ = command(monkeypatch, "calibrate")(*given, *files, "--json")
    assert (code, json.loads(out)["pairs"]) == (0, 100)
    assert read_calibration(folder) is not None
    code, out, _ = run(*given, "--format", "jsonl", TEXT)
    assert 0 <= json.loads(out)["confidence"] <= 1
    code, out, error = run(*given, "--min-confidence", "1", TEXT)
    assert (code, out.decode(), "line 1: left untranslated (confidence" in error) == (0, f"{TEXT}\n", True)
    code, _, error = command(monkeypatch, "calibrate")(*given)
    assert (code, "give either --data" in error) == (2, True)
