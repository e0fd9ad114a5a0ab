"""Standard error that is closed or full ends nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import small

from regard.cli.terminal.streams import tolerant_stderr


def test_what_is_full_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Path("/dev/full").open("w", buffering=1)  # noqa: SIM115
    monkeypatch.setattr(sys, "stderr", stream)
    with tolerant_stderr():
        sys.stderr.write("이것은 사라진다\n")
        sys.stderr.write("and so does this\n")
        assert not sys.stderr.isatty()
    assert sys.stderr is stream
    stream.close()  # nothing that it still holds is tried again


def test_what_is_there_is_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with tolerant_stderr():
            sys.stderr.write("안녕 👋\n")
    assert (tmp_path / "said").read_text(encoding="utf-8") == "안녕 👋\n"


def test_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with tolerant_stderr():
        assert sys.stderr is not None
        sys.stderr.write("nobody hears it\n")
        assert not sys.stderr.isatty()


@pytest.mark.parametrize("state", ["full", "closed"])
def test_a_training_goes_on(data: Path, tmp_path: Path, state: str) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "regard", "train", "--preset", "tiny", "--data", str(data), "--out", str(out)]
    command += small("train.steps=2", "train.log_every=1")
    redirection = "2>/dev/full" if state == "full" else "2>&-"
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command]
    done = subprocess.run(shell, stdout=subprocess.PIPE, check=False, timeout=200)
    assert done.returncode == 0 and b"validation_perplexity" in done.stdout
    assert (out / "model" / "model.safetensors").exists()


def test_no_file_takes_the_number_of_a_stream_that_is_closed(tmp_path: Path) -> None:
    """What a library writes to standard error would land in that file."""
    code = (
        "import sys; from regard.cli.terminal.streams import tolerant_stderr\n"
        "with tolerant_stderr(): print(open(sys.argv[1], 'w').fileno())"
    )
    shell = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", sys.executable, "-c", code, str(tmp_path / "file")]
    assert int(subprocess.run(shell, stdout=subprocess.PIPE, check=True, timeout=60).stdout) > 2
