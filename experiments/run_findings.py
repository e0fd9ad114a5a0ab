"""Run the experiments of Table 3, and then Multi30k as published; the same command goes on where it was stopped.

    python experiments/run_findings.py --corpus FOLDER --root runs --results experiments/results

FOLDER has Multi30k's train.en.gz, train.de.gz and so on. Runs go into --root, a process for each of --workers. Each
finished run leaves its figures (one small JSON file), its log and its cost in --results; what is there with the figures
of this code is not run again. Runs of other code are never mixed in, so go on from the commit that the results name.
`kill PID` stops after the current step with everything saved.
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
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOUSE / "src"))

from regard.code_version import MEASURING, code_version  # noqa: E402
from regard.paper.experiment import FIGURES, read_experiment  # noqa: E402
from regard.paper.table3.plan import Table3, in_order, row_of, rows_at, seed_of  # noqa: E402

FILES = ("train", "val", "test_2016_flickr")
GATE = ("base-seed1", "D-drop0-seed1")
TINY = "multi30k-tiny"
TURNED = 1.01  # the gate: the last validation loss is this much above the lowest, at least


class Queue:
    """The runs that wait, in order, and the processes that are at work."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.table = given.root / "table3"
        self.results = given.results / "table3"
        self.stopped = threading.Event()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.guard = threading.Lock()

    def regard(
        self, log: Path, *arguments: str, output: Path | None = None, within: Path = HOUSE
    ) -> tuple[int, float, float]:
        """Run a command with one thread; return its exit code, the processor's seconds and all seconds.

        Its standard error goes to the log, and its standard output to `output`, if there is one.
        """
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HOUSE / "src")}
        log.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with log.open("ab") as file, (output or Path(os.devnull)).open("wb") as printed, self.guard:
            if self.stopped.is_set():
                return 75, 0.0, 0.0
            command = [sys.executable, "-m", "regard", *arguments]
            process = subprocess.Popen(command, env=environment, stdout=printed, stderr=file, cwd=within)
            self.processes.add(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self.guard:
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
        with self.guard, (self.given.results / "costs.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"at": time.strftime("%Y-%m-%d %H:%M:%S")}) + "\n")

    def row(self, name: str, row: str, seed: int) -> None:
        """Train and measure a run of Table 3, and keep its figures and its log."""
        kept = self.results / f"{name}.json"
        if known(kept):
            restore(kept, self.table / name / FIGURES)
            return
        raw = self.given.root / "text" / "raw"
        test = [str(raw / f"test_2016_flickr.{language}") for language in ("en", "de")]
        where = ["--data", str(self.given.root / "data" / "m30k"), "--out", str(self.table)]
        which = ["--scale", "small", "--rows", row, "--seeds", str(seed), "--test", *test]
        code, cpu, wall = self.regard(self.table / f"{name}.out", "paper", "table3", *which, *where)
        self.note(name, cpu, wall, code)
        if code == 0 and known(self.table / name / FIGURES):
            (self.results / "logs").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.table / name / "log.jsonl", self.results / "logs" / f"{name}.jsonl")
            restore(self.table / name / FIGURES, kept)

    def tiny(self) -> None:
        """Train by experiments/multi30k-tiny.toml, and measure on the test set once, at the end."""
        run, kept = self.given.root / TINY, self.given.results / f"{TINY}.json"
        if kept.exists():
            return
        log, data = self.given.root / f"{TINY}.out", self.given.root / "data" / "m30k-lower"
        plan = str(HOUSE / "experiments" / f"{TINY}.toml")
        code, cpu, wall = self.regard(log, "train", plan, "--data", str(data), "--out", str(run))
        self.note(TINY, cpu, wall, code)
        if code == 0:
            sides = [str(self.given.root / "text" / "lower" / f"test_2016_flickr.{side}") for side in ("en", "de")]
            measured = self.given.root / f"{TINY}.json"
            options = ["--source", sides[0], "--reference", sides[1], "--json"]
            code, _, _ = self.regard(log, "evaluate", "--model", str(run / "model"), *options, output=measured)
            if code == 0:
                shutil.copyfile(run / "log.jsonl", self.given.results / f"{TINY}.log.jsonl")
                shutil.copyfile(measured, kept)

    def work(self, waiting: deque[tuple[str, str, int]]) -> None:
        while not self.stopped.is_set():
            try:
                name, row, seed = waiting.popleft()
            except IndexError:
                return
            if name == TINY:
                self.tiny()
            else:
                self.row(name, row, seed)

    def all(self, runs: list[tuple[str, str, int]]) -> None:
        waiting = deque(runs)
        threads = [threading.Thread(target=self.work, args=(waiting,)) for _ in range(self.given.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(1)  # so that signals are handled


def known(path: Path) -> bool:
    return path.exists() and json.loads(path.read_bytes()).get("code") == code_version(MEASURING)


def restore(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    shutil.copyfile(source, part)
    part.replace(target)


def gate(queue: Queue) -> dict[str, Any]:
    """Say whether the validation loss of the row without dropout has turned up before the end."""
    log = queue.results / "logs" / f"{GATE[1]}.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    curve = [(line["step"], line["nll"]) for line in lines if line["event"] == "validation"]
    lowest, last = min(curve, key=lambda point: point[1]), curve[-1]
    passed = last[1] >= TURNED * lowest[1]
    return {"run": GATE[1], "lowest": lowest, "last": last, "turned_up": passed, "code": code_version(MEASURING)}


def texts(given: argparse.Namespace) -> None:
    """Write Multi30k's texts, as they are and in lower case."""
    for kind in ("raw", "lower"):
        folder = given.root / "text" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name in (f"{name}.{language}" for name in FILES for language in ("en", "de")):
            if not (folder / name).exists():
                text = gzip.decompress((given.corpus / f"{name}.gz").read_bytes()).decode()
                (folder / name).write_text(text.lower() if kind == "lower" else text, encoding="utf-8")


def prepare(queue: Queue) -> None:
    """Prepare the data of both experiments."""
    for folder, kind, size in (("m30k", "raw", "4000"), ("m30k-lower", "lower", "10000")):
        out = queue.given.root / "data" / folder
        if not out.exists():
            text = queue.given.root / "text" / kind
            train, valid = ([f"{name}.en", f"{name}.de"] for name in ("train", "val"))
            options = ["--from", "en", "--to", "de", "--vocabulary", size, "--out", str(out)]
            command = ["prepare", "--train", *train, "--valid", *valid, *options]
            # Within the folder: the names of the files are part of the data's checksum.
            code, _, _ = queue.regard(queue.given.root / "prepare.out", *command, within=text)
            if code:
                sys.exit(f"preparing failed; see {queue.given.root / 'prepare.out'}")


def main() -> None:
    arguments = argparse.ArgumentParser(description="Run Table 3, and then Multi30k as published.")
    arguments.add_argument("--corpus", type=Path, required=True, help="the folder with Multi30k's .gz files")
    arguments.add_argument("--root", type=Path, required=True, help="where texts, data and runs go")
    arguments.add_argument("--results", type=Path, required=True, help="where figures, logs and costs are kept")
    arguments.add_argument("--workers", type=int, default=2, help="how many runs at once, a core each")
    arguments.add_argument("--pid", type=Path, help="write the id of the process group into this file")
    arguments.add_argument("--no-gate", action="store_true", help="go on although the gate was not passed")
    given = arguments.parse_args()
    given.root, given.results = given.root.resolve(), given.results.resolve()
    if given.pid:
        given.pid.write_text(f"{os.getpgid(0)}\n", encoding="utf-8")
    queue = Queue(given)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, queue.stop)
    texts(given)
    prepare(queue)
    plan = read_experiment(Table3, "table3", None)
    runs = [(run.name, row_of(run), seed_of(run)) for run in in_order(plan, rows_at(plan, "small"))]
    queue.all([run for run in runs if run[0] in GATE])
    if queue.stopped.is_set():
        sys.exit(75)
    passed = gate(queue)
    (queue.results / "gate.json").write_text(json.dumps(passed, indent=1) + "\n", encoding="utf-8")
    if not passed["turned_up"] and not given.no_gate:
        sys.exit(f"the gate was not passed: {passed}; plan more passes over the data, or give --no-gate")
    queue.all([*(run for run in runs if run[0] not in GATE), (TINY, "", 0)])
    sys.exit(75 if queue.stopped.is_set() else 0)


if __name__ == "__main__":
    main()
