"""Pairs of many files: each has the bytes that one machine writes for it, and what is done is not done again.

Workers are in this process here; tests/pairs/test_synthesise_cluster.py has them on a real cluster.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from tests.support.bulk_here import HerePool

import regard
from regard import cores
from regard.bulk.run import BulkReport
from regard.bulk.translate import translate_shards
from regard.data.lines import Lines
from regard.errors import UserError
from regard.pairs import synthesise as module
from regard.pairs.synthesise import Synthesis, SynthesisReport, synthesise
from regard.pairs.synthesise_shards import synthesise_shards
from regard.search.sampling import Sampling
from regard.translate.translator import Options

LINES = [
    "Good morning.",
    "",
    "Where is the {} station?",
    "한국어로 쓴 문장입니다.",
    "I have {} sisters.",
    "התחנה הזאת יפה מאוד.",
    "e\u0301 cafe\u0301 🙂 is open.",
    "x" * 1001,
    "It is raining\tagain.",
    "We have no bread.",
]
OUTPUTS = {"a.txt": "a.tsv", "b.en.gz": "b.en.tsv.gz", "c.txt.zst": "c.tsv.zst", "sub/d": "sub/d.tsv"}


@pytest.fixture(autouse=True)
def small_windows(here: type[HerePool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 3)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for number, name in enumerate(OUTPUTS):
        content = "".join(f"{line}\n" for line in LINES[number:]).replace("{}", str(number)).encode() + b"\xff bad\n"
        pack = {"gz": gzip.compress, "zst": zstd.compress}.get(name.rpartition(".")[2], bytes)
        (tmp_path / "in" / name).write_bytes(pack(content))
    return tmp_path


def go(corpus: Path, config: Synthesis | None = None, **more: Any) -> BulkReport:
    return synthesise_shards(f"{corpus}/in/**", corpus / "bt", config, model="en-de", **more)


def unpacked(path: Path) -> bytes:
    with Lines(str(path)) as lines:
        return b"".join(line + b"\n" for block in lines for line in block)


def alone(corpus: Path, config: Synthesis | None = None, options: Options | None = None) -> list[SynthesisReport]:
    """Make the pairs of every shard on one machine, compare them with the cluster's, and return the reports."""
    reports = []
    for name, output in OUTPUTS.items():
        one = corpus / f"{name.replace('/', '-')}.one.tsv"
        reports.append(synthesise("en-de", corpus / "in" / name, one, config, options=options, force=True))
        assert unpacked(corpus / "bt" / output) == one.read_bytes(), name
    return reports


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (Synthesis(), Options()),
        (Synthesis(kind="forward", check_language=False), Options(beam=2)),
        (Synthesis(min_confidence=0.8, max_characters=30), Options()),
        (Synthesis(check_language=False), Options(sampling=Sampling(top_k=5, seed=7))),
    ],
)
def test_every_shard_has_the_bytes_of_one_machine(corpus: Path, config: Synthesis, options: Options) -> None:
    report = go(corpus, config, options=options)
    reports = alone(corpus, config, options)
    dropped = sum((one.dropped for one in reports), Counter[str]())
    assert report.dropped == dropped and report.dropped["not valid UTF-8"] == 4
    assert report.lines_in == sum(one.lines for one in reports) == report.lines_out + sum(dropped.values())
    assert report.lines_out == sum(one.written for one in reports) > 0
    assert (report.shards, report.translated, report.failed) == (4, 4, 0)
    assert (config.min_confidence is None) == ("low confidence" not in dropped), "the case is one of all filters"
    assert config.check_language == ("wrong language" in dropped)


def test_a_run_that_was_killed_makes_what_is_missing(corpus: Path, here: type[HerePool]) -> None:
    here.dies = {"c.txt.zst"}
    with pytest.raises(KeyboardInterrupt):
        go(corpus)
    assert here.translated == ["a.txt", "b.en.gz"] and not (corpus / "bt" / "c.tsv.zst").exists()
    here.dies = set()
    report = go(corpus)
    assert here.translated == ["a.txt", "b.en.gz", "c.txt.zst", "sub/d"]
    assert (report.shards, report.translated) == (4, 2)
    counted = sum((one.dropped for one in alone(corpus)), Counter[str]())
    assert report.dropped == counted, "with those of the shards before"
    again = go(corpus)
    assert (again.translated, again.dropped, len(here.translated)) == (0, counted, 4)


def test_what_changed_or_was_removed_is_made_again(corpus: Path, here: type[HerePool]) -> None:
    go(corpus)
    (corpus / "in" / "a.txt").write_text("I am tired.\n")
    (corpus / "bt" / "sub" / "d.tsv").unlink()
    here.translated = []
    report = go(corpus)
    assert here.translated == ["a.txt", "sub/d"] and report.translated == 2
    assert report.lines_in == sum(one.lines for one in alone(corpus))


def test_an_endless_line_is_dropped_as_on_one_machine(corpus: Path) -> None:
    (corpus / "in" / "a.txt").write_bytes(b"I am tired.\n" + b"x" * (2 << 20) + b"\nGood morning.\n")
    assert go(corpus).failed == 0
    assert alone(corpus)[0].dropped == {"too long": 1}


def test_pairs_of_other_settings_are_not_mixed(corpus: Path, folder: Path) -> None:
    go(corpus)
    with pytest.raises(UserError, match=r"made otherwise \(synthesis\); choose another --out"):
        go(corpus, Synthesis(kind="forward"))
    with pytest.raises(UserError, match=r"made otherwise \(options\); choose another --out"):
        go(corpus, options=Options(sampling=Sampling()))
    with pytest.raises(UserError, match=r"made otherwise \(synthesis\)"):
        translate_shards(f"{corpus}/in/**", corpus / "bt", model="en-de")
    assert go(corpus, Synthesis(kind="forward"), force=True).translated == 4
    alone(corpus, Synthesis(kind="forward"))


def test_a_shard_that_fails_is_named_and_the_others_are_made(corpus: Path) -> None:
    good = (corpus / "in" / "b.en.gz").read_bytes()
    (corpus / "in" / "b.en.gz").write_bytes(good[:-12])
    report = go(corpus)
    assert (report.shards, report.failed) == (3, 1) and not (corpus / "bt" / "b.en.tsv.gz").exists()
    assert "b.en.gz: broken gzip data after line" in report.failures["b.en.gz"]
    assert json.loads((corpus / "bt" / "manifest.json").read_text())["failed"] == dict(report.failures)
    (corpus / "in" / "b.en.gz").write_bytes(good)
    assert (go(corpus).translated, go(corpus).failed) == (1, 0)
    alone(corpus)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.tsv", "pairs are made of text, a sentence a line, not tsv; extract the text first"),
        ("a.jsonl.gz", "not jsonl"),
        ("a.parquet", "not parquet"),
        ("a", r"a.txt and a would have one output, .*/bt/a.tsv; rename one"),
    ],
)
def test_files_of_which_no_pairs_are_made(name: str, words: str, corpus: Path) -> None:
    (corpus / "in" / name).write_bytes(b"Good morning.\n")
    with pytest.raises(UserError, match=words):
        go(corpus)
    assert not (corpus / "bt").exists()


def test_mistakes_are_told_before_a_worker_starts(corpus: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.bulk.run._ray", lambda: pytest.fail("a worker would start"))
    with pytest.raises(UserError, match="not calibrated, so it has no confidence"):
        synthesise_shards(f"{corpus}/in/**", corpus / "bt", Synthesis(min_confidence=0.5), model=folder)
    with pytest.raises(UserError, match="not into fr"):
        go(corpus, options=Options(target="fr"))
    with pytest.raises(UserError, match="leave out --memory"):
        go(corpus, options=Options(memory=regard.Memory(corpus / "m.db", create=True)))


def test_a_worker_computes_with_the_threads_that_it_is_given(corpus: Path) -> None:
    go(corpus, cores=3)
    assert cores._limit == 3
