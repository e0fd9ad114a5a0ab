"""Run the experiments of Table 3, and then Multi30k as published; the same command goes on where it was stopped.

    python experiments/run_findings.py --corpus FOLDER --root runs --results experiments/results

FOLDER has Multi30k's train.en.gz, train.de.gz and so on. Runs go into --root, a process for each of --workers. Each
finished run leaves its figures (one small JSON file), its log and its cost in --results; what is there with the figures
of this code is not run again. Runs of other code are never mixed in, so go on from the commit that the results name.
`kill PID` stops after the current step with everything saved.
"""

import argparse
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from workers import ROOT, STOPPED, Workers, arguments, begin, prepare, texts

from regard.code_version import MEASURING, code_version
from regard.paper.experiment import FIGURES, read_experiment
from regard.paper.table3.plan import Table3, in_order, row_of, rows_at, seed_of

GATE = ("base-seed1", "D-drop0-seed1")
TINY = "multi30k-tiny"
TURNED = 1.01  # the gate: the last validation loss is this much above the lowest, at least


class Queue(Workers):
    """The runs of Table 3, and Multi30k as published."""

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.table = given.root / "table3"
        self.results = given.results / "table3"

    def row(self, name: str, row: str, seed: int) -> None:
        """Train and measure a run of Table 3, and keep its figures and its log."""
        raw = self.given.root / "text" / "raw"
        test = [str(raw / f"test_2016_flickr.{language}") for language in ("en", "de")]
        where = ["--data", str(self.given.root / "data" / "m30k"), "--out", str(self.table)]
        which = ["--scale", "small", "--rows", row, "--seeds", str(seed), "--test", *test]
        self.keep(self.results / f"{name}.json", self.table / name, FIGURES, "paper", "table3", *which, *where)

    def tiny(self) -> None:
        """Train by experiments/multi30k-tiny.toml, and measure on the test set once, at the end."""
        run, kept = self.given.root / TINY, self.given.results / f"{TINY}.json"
        if kept.exists():
            return
        log, data = self.given.root / f"{TINY}.out", self.given.root / "data" / "m30k-lower"
        plan = str(ROOT / "experiments" / f"{TINY}.toml")
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


def gate(queue: Queue) -> dict[str, Any]:
    """Say whether the validation loss of the row without dropout has turned up before the end."""
    log = queue.results / "logs" / f"{GATE[1]}.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    curve = [(line["step"], line["nll"]) for line in lines if line["event"] == "validation"]
    lowest, last = min(curve, key=lambda point: point[1]), curve[-1]
    passed = last[1] >= TURNED * lowest[1]
    return {"run": GATE[1], "lowest": lowest, "last": last, "turned_up": passed, "code": code_version(MEASURING)}


def main() -> None:
    parser = arguments("Run Table 3, and then Multi30k as published.")
    parser.add_argument("--no-gate", action="store_true", help="go on although the gate was not passed")
    given = parser.parse_args()
    queue = Queue(given)
    begin(queue)
    texts(given)
    prepare(queue, "m30k", "raw", "4000")
    prepare(queue, "m30k-lower", "lower", "10000")
    plan = read_experiment(Table3, "table3", None)
    runs = in_order(plan, rows_at(plan, "small"))
    jobs = {run.name: partial(queue.row, run.name, row_of(run), seed_of(run)) for run in runs}
    queue.all([job for name, job in jobs.items() if name in GATE])
    if queue.stopped.is_set():
        sys.exit(STOPPED)
    passed = gate(queue)
    (queue.results / "gate.json").write_text(json.dumps(passed, indent=1) + "\n", encoding="utf-8")
    if not passed["turned_up"] and not given.no_gate:
        sys.exit(f"the gate was not passed: {passed}; plan more passes over the data, or give --no-gate")
    queue.all([*(job for name, job in jobs.items() if name not in GATE), queue.tiny])
    sys.exit(STOPPED if queue.stopped.is_set() else 0)


if __name__ == "__main__":
    main()
