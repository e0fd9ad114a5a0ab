"""The shared part of the drivers: run commands of regard, a process for each worker, and keep their figures.

A finished run leaves its figures in a folder of results, one small JSON file, so that they can be committed as they
come; what is there with the figures of this code is not run again. `kill PID` stops all processes after their current
step, with everything saved.
"""

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from regard.code_version import MEASURING, code_version  # noqa: E402

FILES = ("train", "val", "test_2016_flickr")
STOPPED = 75


class Workers:
    """The processes that are at work, and where their figures and costs go."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.stopped = threading.Event()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.lock = threading.Lock()

    def regard(
        self, log: Path, *arguments: str, output: Path | None = None, within: Path = ROOT
    ) -> tuple[int, float, float]:
        """Run a command with one thread; return its exit code, the processor's seconds and all seconds.

        Its standard error goes to the log, and its standard output to `output`, if there is one.
        """
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        log.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with log.open("ab") as file, (output or Path(os.devnull)).open("wb") as printed, self.lock:
            if self.stopped.is_set():
                return STOPPED, 0.0, 0.0
            command = [sys.executable, "-m", "regard", *arguments]
            process = subprocess.Popen(command, env=environment, stdout=printed, stderr=file, cwd=within)
            self.processes.add(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self.lock:
            self.processes.remove(process)
        return process.returncode, usage.ru_utime + usage.ru_stime, time.monotonic() - began

    def stop(self, *_: object) -> None:
        self.stopped.set()
        for process in list(self.processes):
            process.terminate()

    def note(self, name: str, cpu: float, wall: float, code: int) -> None:
        """Add what a process cost to costs.jsonl; a run that was stopped has several lines."""
        line = {"run": name, "cpu_seconds": round(cpu), "wall_seconds": round(wall), "exit": code}
        self.given.results.mkdir(parents=True, exist_ok=True)
        with self.lock, (self.given.results / "costs.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"at": time.strftime("%Y-%m-%d %H:%M:%S")}) + "\n")

    def keep(self, kept: Path, folder: Path, figures: str, *command: str, needs: Path | None = None) -> bool:
        """Run a command that leaves figures and a log in a folder, and keep both; True if they are there.

        Figures that are kept already are put back into the folder instead, if the file that others need is there.
        """
        name = kept.stem
        if known(kept) and (needs is None or needs.exists()):
            copy(kept, folder / figures)
            return True
        code, cpu, wall = self.regard(folder.with_name(f"{name}.out"), *command)
        self.note(name, cpu, wall, code)
        if code or not known(folder / figures):
            return False
        (kept.parent / "logs").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "log.jsonl", kept.parent / "logs" / f"{name}.jsonl")
        copy(folder / figures, kept)
        return True

    def all(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Do all jobs, as many at once as there are workers; raise the first error, after the jobs under way."""
        waiting = deque(jobs)
        errors: list[BaseException] = []

        def work() -> None:
            while not errors and not self.stopped.is_set():
                try:
                    job = waiting.popleft()
                except IndexError:
                    return
                try:
                    job()
                except BaseException as error:  # SystemExit would end the thread without a word
                    errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(self.given.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(1)  # so that signals are handled
        if errors:
            raise errors[0]


def known(path: Path) -> bool:
    return path.exists() and json.loads(path.read_bytes()).get("code") == code_version(MEASURING)


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    shutil.copyfile(source, part)
    part.replace(target)


def arguments(description: str, corpus: str = "the folder with Multi30k's .gz files") -> argparse.ArgumentParser:
    """Return a parser of what all drivers are told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--corpus", type=Path, required=True, help=corpus)
    parser.add_argument("--root", type=_folder, required=True, help="where texts, data and runs go")
    parser.add_argument("--results", type=_folder, required=True, help="where figures, logs and costs are kept")
    parser.add_argument("--workers", type=int, default=2, help="how many runs at once, a core each")
    parser.add_argument("--pid", type=Path, help="write the id of the process group into this file")
    return parser


def _folder(name: str) -> Path:
    return Path(name).resolve()


def begin(workers: Workers) -> None:
    """Write the id of the process group, if that is asked for, and stop on a signal."""
    if workers.given.pid:
        workers.given.pid.write_text(f"{os.getpgid(0)}\n", encoding="utf-8")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, workers.stop)


def texts(given: argparse.Namespace, kinds: Sequence[str] = ("raw", "lower")) -> None:
    """Write Multi30k's texts, as they are and in lower case."""
    for kind in kinds:
        folder = given.root / "text" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name in (f"{name}.{language}" for name in FILES for language in ("en", "de")):
            if not (folder / name).exists():
                text = gzip.decompress((given.corpus / f"{name}.gz").read_bytes()).decode()
                (folder / name).write_text(text.lower() if kind == "lower" else text, encoding="utf-8")


def prepare(workers: Workers, folder: str, kind: str, size: str) -> Path:
    """Prepare Multi30k with a vocabulary of a size, unless that is done; return the folder."""
    out: Path = workers.given.root / "data" / folder
    if not out.exists():
        text = workers.given.root / "text" / kind
        train, valid = ([f"{name}.en", f"{name}.de"] for name in ("train", "val"))
        options = ["--from", "en", "--to", "de", "--vocabulary", size, "--out", str(out)]
        # Within the folder: the names of the files are part of the data's checksum.
        command = ["prepare", "--train", *train, "--valid", *valid, *options]
        done(workers, workers.given.root / "prepare.out", *command, within=text)
    return out


def done(workers: Workers, log: Path, *command: str, within: Path = ROOT) -> None:
    """Run a command, and end if it fails."""
    code, _, _ = workers.regard(log, *command, within=within)
    if code:
        sys.exit(f"`regard {command[0]}` failed; see {log}" if code != STOPPED else STOPPED)
