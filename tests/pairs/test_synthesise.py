"""Pairs from text in one language: what is written, what is dropped and why, and that a killed run loses no line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.files import write_json
from regard.pairs import synthesise as module
from regard.pairs.synthesise import Synthesis, synthesise
from regard.search.sampling import Sampling
from regard.translate.load import load
from regard.translate.translator import Options

LINES = [
    "Good morning.",
    "",
    "Where is the station?",
    "한국어로 쓴 문장입니다.",
    "I am very tired.",
    "התחנה הזאת יפה מאוד.",
    "My sister is a doctor.",
    "e\u0301 cafe\u0301 🙂 is open.",
    "x" * 1001,
    "It is raining\tagain.",
    "We have no bread.",
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    path.write_bytes("\n".join(LINES).encode() + b"\n\xff bad\n")
    return path


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 3)


def test_back_and_forward_pairs_are_the_translators_own(text: Path, tmp_path: Path) -> None:
    kept = ["Good morning.", "Where is the station?", "I am very tired.", "My sister is a doctor."]
    kept += ["é café 🙂 is open.", "It is raining again.", "We have no bread."]
    written = load("en-de").translate(kept)
    report = synthesise("en-de", text, tmp_path / "bt.tsv")
    pairs = [line.split("\t") for line in (tmp_path / "bt.tsv").read_text(encoding="utf-8").splitlines()]
    assert pairs == [list(pair) for pair in zip(written, kept, strict=True)]
    synthesise("en-de", text, tmp_path / "ft.tsv", Synthesis(kind="forward"))
    again = [line.split("\t") for line in (tmp_path / "ft.tsv").read_text(encoding="utf-8").splitlines()]
    assert again == [pair[::-1] for pair in pairs]
    assert report.dropped == {"blank": 1, "wrong language": 2, "too long": 1, "not valid UTF-8": 1}
    assert (report.lines, report.written) == (len(LINES) + 1, 7)


def test_low_confidence_is_dropped_and_counted(text: Path, tmp_path: Path) -> None:
    report = synthesise("en-de", text, tmp_path / "bt.tsv", Synthesis(min_confidence=1.0))
    assert report.written == 0 and report.dropped["low confidence"] == 7


def test_greedy_search_has_a_confidence_too(text: Path, tmp_path: Path) -> None:
    options = Options(beam=1)
    all_pairs = synthesise("en-de", text, tmp_path / "all.tsv", options=options)
    report = synthesise("en-de", text, tmp_path / "sure.tsv", Synthesis(min_confidence=0.01), options=options)
    assert (report.written, report.dropped) == (all_pairs.written, all_pairs.dropped)
    assert (tmp_path / "sure.tsv").read_bytes() == (tmp_path / "all.tsv").read_bytes()


def test_without_the_check_another_language_stays(text: Path, tmp_path: Path) -> None:
    report = synthesise("en-de", text, tmp_path / "bt.tsv", Synthesis(check_language=False))
    assert "wrong language" not in report.dropped
    assert sum(report.dropped.values()) + report.written == report.lines


class Killed(BaseException):
    pass


def _dying(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Let the run die at the n-th moment of: output written but not recorded, and recorded."""
    moments = iter(range(1000))
    real_fsync, real_write = os.fsync, write_json

    def fsync(descriptor: int) -> None:
        real_fsync(descriptor)
        if next(moments) == at:
            raise Killed

    def write(path: Path, value: object) -> None:
        real_write(path, value)
        if next(moments) == at:
            raise Killed

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(module, "write_json", write)


@pytest.mark.parametrize("sampling", [None, Sampling(top_k=5)])
def test_killed_at_any_moment_it_ends_with_the_same_bytes(
    text: Path, tmp_path: Path, sampling: Sampling | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(sampling=sampling, beam=2)
    translator = load("en-de")
    monkeypatch.setattr(module, "load", lambda model, engine: translator)
    whole = synthesise("en-de", text, tmp_path / "whole.tsv", options=options)
    for at in (0, 1, 7, 13) if sampling is None else (7,):
        out = tmp_path / f"killed-{at}.tsv"
        with monkeypatch.context() as patch, pytest.raises(Killed):
            _dying(patch, at)
            synthesise("en-de", text, out, options=options)
        assert not out.exists(), "it has its name only when it is complete"
        assert synthesise("en-de", text, out, options=options) == whole
        assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
        assert synthesise("en-de", text, out, options=options) == whole, "a third time nothing is left to do"


def test_what_does_not_fit_the_run_is_rejected(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "bt.tsv"
    synthesise("en-de", text, out)
    with pytest.raises(UserError, match="begun with another synthesis"):
        synthesise("en-de", text, out, Synthesis(kind="forward"))
    text.write_text("Another text.\n", encoding="utf-8")
    with pytest.raises(UserError, match="begun with another text"):
        synthesise("en-de", text, out)
    assert synthesise("en-de", text, out, force=True).lines == 1
    (tmp_path / "bt.tsv.progress.json").unlink()
    with pytest.raises(UserError, match="exists already"):
        synthesise("en-de", text, out)
    with pytest.raises(UserError, match="standard input"):
        synthesise("en-de", "-", tmp_path / "other.tsv")
    with pytest.raises(UserError, match="no such file"):
        synthesise("en-de", tmp_path / "nothing", tmp_path / "other.tsv")
    (tmp_path / "other.tsv.progress.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match="no record of a run"):
        synthesise("en-de", text, tmp_path / "other.tsv")


def _many(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{'x' * 40} {number}\n" for number in range(count))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """Five million lines that are too long to translate take as much memory as fifty thousand."""
    peaks = []
    for count in (50_000, 5_000_000):
        text = tmp_path / f"{count}.txt"
        _many(text, count)
        code = (
            "import resource, sys\nfrom regard.pairs.synthesise import Synthesis, synthesise\n"
            "report = synthesise('en-de', sys.argv[1], sys.argv[2], Synthesis(max_characters=9))\n"
            f"assert report.dropped['too long'] == report.lines == {count}\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, text, tmp_path / f"{count}.tsv"], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.1 * peaks[0], peaks


@pytest.mark.slow
def test_killed_by_the_system_again_and_again(tmp_path: Path) -> None:
    """SIGKILL at whatever moment, until the run ends by itself; then every line is there once and in order."""
    text, out = tmp_path / "mono.en", tmp_path / "bt.tsv"
    text.write_text("".join(f"I have {number} books.\n" for number in range(6000)), encoding="utf-8")
    command = [sys.executable, "-m", "regard", "synthesise", "--model", "en-de", "--any-language", "--kind", "forward"]
    command += ["--text", str(text), "--out", str(out), "--beam", "1", "--json"]
    kills = 0
    for wait in _waits():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            printed, _ = process.communicate(timeout=wait)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
    report = json.loads(printed)
    sources = [line.split("\t")[0] for line in out.read_text(encoding="utf-8").splitlines()]
    assert kills and report["lines"] == 6000 and report["written"] == len(sources)
    numbers = [int(source.split()[2]) for source in sources]
    assert numbers == sorted(set(numbers)) and len(numbers) + sum(report["dropped"].values()) == 6000


def _waits() -> Iterator[float]:
    """Yield ever longer times, so that the run ends at last on a slow machine, too."""
    wait = 2.0
    while True:
        yield wait
        wait *= 1.4
        time.sleep(0.01)
