"""What the shell is told: versions, exit codes, one sentence for a mistake."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.support.waiting import until

import regard
from regard.cli import main
from regard.errors import Failed, Interrupted, UserError


def run(*arguments: str, **named: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", **named.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-m", "regard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **named)  # type: ignore[call-overload,no-any-return]


def test_version() -> None:
    done = run("--version")
    assert done.stdout == f"regard {regard.__version__}\n" and done.returncode == 0


def test_help_of_everything() -> None:
    listed = run("--help").stdout
    for command in main.app.registered_commands:
        assert command.name is not None and command.name in listed
    assert "..." not in listed.split("Commands:")[1]  # no summary is cut
    for name in ("train", "model"):
        done = run(name, "--help")
        assert done.returncode == 0 and "--json" in done.stdout


def test_no_color() -> None:
    plain = run("--help", env={"NO_COLOR": "1", "FORCE_COLOR": ""})
    assert "\x1b[3" not in plain.stdout


def test_completion_is_offered() -> None:
    assert "--install-completion" in run("--help").stdout
    asked = {"_REGARD_COMPLETE": "complete_bash", "COMP_WORDS": "regard mod", "COMP_CWORD": "1"}
    command = Path(sys.executable).with_name("regard")
    done = subprocess.run([command], capture_output=True, text=True, env={**os.environ, **asked}, check=False)
    assert done.stdout.split() == ["model"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("file.txt, line 3: no tab; add one"), 2, "regard: file.txt, line 3: no tab; add one\n"),
        (Failed("the disk is full"), 1, "regard: the disk is full\n"),
        (Interrupted("stopped", 75), 75, "regard: stopped\n"),
        (KeyboardInterrupt(), 130, "regard: interrupted\n"),
        (FileNotFoundError(2, "No such file or directory", "x.txt"), 2, "regard: x.txt: no such file or directory\n"),
        (
            OSError(28, "No space left on device", "x.txt"),
            1,
            "regard: x.txt: no space left on device; make room there\n",
        ),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr(main, "app", fails)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("ask", [lambda: bytearray(1 << 62), lambda: torch.empty(1 << 60)], ids=["Python", "torch"])
def test_memory_that_does_not_suffice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ask: Callable[[], object]
) -> None:
    monkeypatch.setattr(main, "app", ask)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    assert capsys.readouterr().err.startswith("regard: the memory does not suffice; give it less at once")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
def test_output_that_finds_the_disk_full() -> None:
    command = [sys.executable, "-m", "regard", "--version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "regard: what is written to: no space left on device; make room there\n",
    )


@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch, kind: type[Exception]) -> None:
    def fails() -> None:
        raise kind("ours")

    monkeypatch.setattr(main, "app", fails)
    with pytest.raises(kind, match="ours"):
        main.main()


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["model"], ["model", "base", "--vocabulary", "x"], ["train", "--nope"]]
)
def test_a_mistyped_command_is_the_users(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_bug() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "model", "base", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read().decode()
    process.stderr.close()
    process.wait()


def test_ctrl_c(tmp_path: Path) -> None:
    """Interrupted while it reads a pipe that never ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "prepare", "--train", "-", "--out", str(tmp_path / "out")],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"one\teins\n" * 10)
    process.stdin.flush()
    until((tmp_path / ".out.partial").exists)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert not (tmp_path / "out").exists()
