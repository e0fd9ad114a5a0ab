"""Runs over many shards: what is done stays, what changed or failed is done again, and nothing is mixed.

Workers are in this process here; tests/bulk/test_cluster.py has them on a real cluster.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.bulk_here import HerePool

import regard
from regard.bulk.events import Event
from regard.bulk.run import BulkObserver, BulkProgress, BulkReport
from regard.bulk.storage import find_files
from regard.bulk.task import Shard
from regard.bulk.translate import RowTranslation, translate_shards
from regard.bulk.worker import BulkJob, ShardWorker, model_checksum, pack, packed_model
from regard.errors import Failed, UserError

pytestmark = pytest.mark.usefixtures("here")
LINES = ["1 2 3", "", "안녕 4", "5 \u202bשלום\u202c e\u0301", "👋 6"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text(
            "".join(f"{number} {line}\n" if line else "\n" for line in LINES)
        )
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".txt"}


def go(corpus: Path, folder: Path, **more: Any) -> BulkReport:
    return translate_shards(f"{corpus}/in/*.txt", corpus / "out", model=folder, **more)


def test_every_shard_is_what_one_translator_makes_of_it(corpus: Path, folder: Path) -> None:
    report = go(corpus, folder)
    translator = regard.load(folder)
    for path in (corpus / "in").iterdir():
        expected = "".join(f"{line}\n" for line in translator.translate(path.read_text().splitlines()))
        assert (corpus / "out" / path.name).read_text() == expected
    assert (report.lines_in, report.lines_out, report.shards, report.failed) == (20, 20, 4, 0)


def test_a_run_that_was_killed_does_what_is_missing(corpus: Path, folder: Path, here: type[HerePool]) -> None:
    here.dies = {"2.txt"}
    with pytest.raises(KeyboardInterrupt):
        go(corpus, folder)
    assert here.translated == ["0.txt", "1.txt"]
    here.dies = set()
    report = go(corpus, folder)
    assert here.translated == ["0.txt", "1.txt", "2.txt", "3.txt"]
    assert (report.shards, report.translated, report.lines_out) == (4, 2, 20)
    again = go(corpus, folder)
    assert again.translated == 0 and len(here.translated) == 4


def test_what_changed_or_was_removed_is_translated_again(corpus: Path, folder: Path, here: type[HerePool]) -> None:
    go(corpus, folder)
    before = contents(corpus / "out")
    (corpus / "in" / "0.txt").write_text((corpus / "in" / "0.txt").read_text())  # touched, but the same
    (corpus / "in" / "1.txt").write_text((corpus / "in" / "1.txt").read_text().replace("3", "7"))
    (corpus / "out" / "2.txt").unlink()
    (corpus / "in" / "3.txt").unlink()
    here.translated = []
    told: list[str] = []

    class Told(BulkObserver):
        def warn(self, sentence: str) -> None:
            told.append(sentence)

    report = go(corpus, folder, observer=Told())
    assert here.translated == ["1.txt", "2.txt"] and "1.txt, 2.txt" in told[0]
    assert (report.shards, report.lines_out) == (3, 15), "a shard whose input is gone is not counted"
    assert contents(corpus / "out")["2.txt"] == before["2.txt"]


def test_shards_of_other_options_or_models_are_not_mixed(corpus: Path, folder: Path, here: type[HerePool]) -> None:
    go(corpus, folder)
    with pytest.raises(
        UserError, match=r"made otherwise \(options\); choose another --out, or start over with --force"
    ):
        go(corpus, folder, options=regard.Options(beam=2))
    here.translated = []
    assert go(corpus, folder, options=regard.Options(beam=2), force=True).translated == 4
    with pytest.raises(UserError, match=r"made otherwise \(options\)"):
        go(corpus, folder)
    manifest = json.loads((corpus / "out" / "manifest.json").read_text())
    manifest["made_by"]["model"] = ["0" * 64]
    (corpus / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"made otherwise \(model\)"):
        go(corpus, folder, options=regard.Options(beam=2))


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "made_by": {}, "shards": {"a": {}}}'])
def test_a_manifest_of_something_else(content: str, corpus: Path, folder: Path) -> None:
    (corpus / "out").mkdir()
    (corpus / "out" / "manifest.json").write_text(content)
    with pytest.raises(UserError, match="manifest.json: (is no manifest of translated shards|format 2 is not one)"):
        go(corpus, folder)


def test_a_shard_that_fails_is_named_and_the_others_are_done(corpus: Path, folder: Path) -> None:
    (corpus / "in" / "1.txt").write_bytes(b"1\n" + b"x" * (1 << 21))
    report = go(corpus, folder)
    assert (report.shards, report.failed, report.lines_out) == (3, 1, 15)
    assert "1.txt, line 2: longer than" in report.failures["1.txt"]
    assert not (corpus / "out" / "1.txt").exists()
    (corpus / "in" / "1.txt").write_bytes(b"1\n")
    mended = go(corpus, folder)
    assert (mended.shards, mended.failed, mended.translated) == (4, 0, 1)
    assert json.loads((corpus / "out" / "manifest.json").read_text())["failed"] == {}


def test_an_output_that_is_not_seen_here(corpus: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when --out is on a disk of each host's own."""
    plain = ShardWorker.translate

    def elsewhere(self: ShardWorker, shard: Shard) -> Iterator[Any]:
        yield from plain(self, shard)
        Path(shard.output.removeprefix("file://")).unlink()

    monkeypatch.setattr(ShardWorker, "translate", elsewhere)
    with pytest.raises(Failed, match="is not seen here; give an --out that all hosts share"):
        go(corpus, folder)


def test_a_worker_of_another_version(folder: Path) -> None:
    worker = ShardWorker(BulkJob(RowTranslation(), version="0.0.1"))
    with pytest.raises(UserError, match="but the run was started by 0.0.1; install the same version on all hosts"):
        worker.load([])


def test_what_a_cluster_can_t_do(corpus: Path, folder: Path, tmp_path: Path) -> None:
    for options, words in (
        (regard.Options(n_best=2), "one translation of each row"),
        (regard.Options(memory=regard.Memory(tmp_path / "m.db", create=True)), "leave out --memory"),
    ):
        with pytest.raises(UserError, match=words):
            go(corpus, folder, options=options)
    with pytest.raises(UserError, match="say --device cuda"):
        go(corpus, folder, device="cuda:1")
    with pytest.raises(UserError, match="would replace its input"):
        translate_shards(f"{corpus}/in/*.txt", corpus / "in", model=folder)
    (corpus / "in" / "manifest.json").write_text("a sentence\n")
    with pytest.raises(UserError, match="manifest.json: its output would have the name of the list"):
        translate_shards(f"{corpus}/in/*.json", corpus / "out", model=folder)


def test_one_run_at_a_time(corpus: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def second(*_: object) -> Iterator[Event]:
        with pytest.raises(UserError, match="another regard process is writing here"):
            go(corpus, folder)
        yield None

    monkeypatch.setattr(HerePool, "run", second)
    go(corpus, folder)


def test_progress_has_rate_and_time_left() -> None:
    progress = BulkProgress(shards=4, shards_done=1, bytes=400, bytes_done=100, rows=50, seconds=10.0)
    assert progress.rows_per_second == 5.0 and progress.seconds_left == 30.0
    assert BulkProgress(4, 0, 400).seconds_left is None


def test_a_host_that_does_not_see_the_model_gets_its_files(folder: Path, corpus: Path) -> None:
    packed = packed_model(folder)
    worker = ShardWorker(BulkJob(RowTranslation()))
    worker.load([replace(packed, folder=corpus / "nowhere")])
    (made,) = worker._made
    assert model_checksum(pack(made)) == packed.checksum
    shard = Shard(find_files(f"{corpus}/in/0.txt")[0], f"file://{corpus}/out/0.txt")
    list(worker.translate(shard))
    assert worker.close() > 0 and not made.exists()
    there = ShardWorker(BulkJob(RowTranslation()))
    there.load([packed])
    list(there.translate(replace(shard, output=f"file://{corpus}/other/0.txt")))
    assert contents(corpus / "out") == contents(corpus / "other") and not there._made
    changed = ShardWorker(BulkJob(RowTranslation()))
    changed.load([replace(packed, checksum="another")])
    assert changed._made, "a folder of that name with another model in it is not used"
    changed.close()


def test_a_model_s_readme_does_not_change_it() -> None:
    files = {"model.safetensors": b"1", "config.json": b"{}", "README.md": b"a"}
    assert model_checksum(files) == model_checksum({**files, "README.md": b"b"})
    assert model_checksum(files) != model_checksum({**files, "model.safetensors": b"2"})
