"""Input without end, or with nothing in it: refused as soon as a limit is passed, or done fast."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest
from tests.support.command import Run

from regard.config.data import FilterConfig
from regard.data.lines import LONGEST_LINE
from regard.data.passes import stages
from regard.data.passes.stages import Clean, Cleaned
from regard.data.raw_pairs import CorpusFormat, LineSettings, RawChunk
from regard.errors import UserError
from regard.evaluate import aligned
from regard.translate.parser import Parser
from regard.translate.translator import WINDOW_LINES, Translator

ZERO = "/dev/zero"


@pytest.fixture(autouse=True)
def ended_in_time() -> Iterator[None]:
    """What reads for ever fails."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError("still reading")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "line",
    [
        "translate --model {folder} {zero}",
        "translate --model {folder} --format jsonl {zero}",
        "score --model {folder} --source {zero} --target {zero}",
        "evaluate --hypothesis {zero} --reference {zero}",
        "evaluate --model {folder} --source {zero} --reference {zero}",
        "evaluate --gold {zero} --parses {zero}",
        "evaluate --gold {zero} --model {folder}",
        "parse {zero}",
        "prepare --train {zero} {zero} --valid {zero} {zero} --out {out} --cores 1",
        "prepare --train {zero} --valid {zero} --out {out} --cores 1",
        "prepare --skip-invalid --train {zero} --valid {zero} --out {out} --cores 1",
        "prepare --task parsing --train {zero} --valid {zero} --out {out} --cores 1",
    ],
)
def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, line: str) -> None:
    out = tmp_path / "out"
    name, *arguments = line.format(zero=ZERO, folder=folder, out=out).split()
    code, written, said = Run(monkeypatch, name)(*arguments)
    assert (code, written) == (2, b"") and not out.exists()
    most = 64 << 20 if "--skip-invalid" in line else LONGEST_LINE
    sentence = f"regard: /dev/zero, line 1: longer than {most} bytes; if this is a file of lines, break it into"
    assert said.splitlines()[-1].startswith(sentence)


def test_a_pipe_that_stays_open(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    """The lines before are translated; the writer has not ended the long one, and the reader does not wait for it."""
    pipe, done = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(b"The old man.\n\n" + b"x" * (LONGEST_LINE + 2))
            done.wait()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        code, written, said = Run(monkeypatch, "translate")("--model", str(folder), "--beam", "1", str(pipe))
    finally:
        done.set()
        writer.join()
    assert code == 2 and said.startswith(f"regard: {pipe}, line 3: longer than {LONGEST_LINE} bytes")
    assert written.count(b"\n") == 2 and written.strip()


def counted(window: Callable[..., Any], given: list[int]) -> Callable[..., Any]:
    """A method that translates lines, and notes how many it is given."""

    def around(self: object, lines: list[str], *more: Any) -> Any:
        given.append(len(lines))
        return window(self, lines, *more)

    return around


@pytest.mark.parametrize(("name", "model"), [("translate", None), ("parse", "en-trees")])
def test_blank_lines_are_no_work(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, name: str, model: str | None
) -> None:
    """They are not given to the translator, which would take 8 seconds for a million; the sentence after them is."""
    file = tmp_path / "blank"
    file.write_bytes(b"\n" * 1_000_000 + b"\r\n" * 100_000 + b"The old man.\n")
    run = Run(monkeypatch, name)
    arguments = ["--model", model or str(folder), "--beam", "1"]
    given: list[int] = []
    for owner in (Translator, Parser):
        monkeypatch.setattr(owner, "window", counted(owner.window, given))
    code, written, said = run(*arguments, str(file))
    assert (code, said) == (0, "")
    assert given and sum(given) <= WINDOW_LINES, "no window but the last"
    assert written.startswith(b"\n" * 1_100_000) and written[1_100_000:].count(b"\n") == 1
    assert len(written) > 1_100_001


@pytest.mark.parametrize("kind", ["parallel", "tsv", "json"])
def test_blank_pairs_are_no_work(kind: CorpusFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ("a", "b") if kind == "parallel" else ("a",)
    clean = Clean(LineSettings(files), "NFC", FilterConfig(), "")
    assert clean(RawChunk(kind, 1, 3, (b"\n \n",) * len(files))).dropped == Counter(empty=3)

    def parse_chunk(*_: object) -> NoReturn:
        raise AssertionError("they are parsed")

    monkeypatch.setattr(stages, "parse_chunk", parse_chunk)
    found = clean(RawChunk(kind, 1, 1_000_000, (b"\n" * 999_999,) * len(files)))
    assert found == Cleaned(0, b"", b"", b"", Counter(empty=1_000_000))


def test_blank_lines_have_their_numbers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    run = Run(monkeypatch, "translate")
    code, written, _ = run("--model", str(folder), "--n-best", "1", "--beam", "1", stdin=b"\n" * 20_000 + b"A man.\n")
    assert code == 0
    assert [int(line.split(b" |||")[0]) for line in written.splitlines()] == list(range(20_001))


def test_lines_that_must_all_be_held_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligned, "MOST_LINES", 100)
    (tmp_path / "most").write_bytes(b"\n" * 100)
    (tmp_path / "more").write_bytes(b"\n" * 101)
    assert len(aligned.read_aligned([str(tmp_path / "most")])[0]) == 100
    with pytest.raises(UserError, match="more: more than 100 lines; measure a part of them"):
        aligned.read_aligned([str(tmp_path / "more")])
