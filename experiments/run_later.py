"""Run the experiment on what came after the paper (later.toml); the same command goes on where it was stopped.

    python experiments/run_later.py --corpus FOLDER --root runs --results experiments/results

FOLDER has Multi30k's train.en.gz, train.de.gz and so on. Runs go into --root, a process for each of --workers: first
the Transformer, whose translations of the training texts are the distilled data, then all others. Each finished run
leaves its figures (one small JSON file), its log and its cost in --results; what is there with the figures of this code
is not run again. `kill PID` stops after the current step with everything saved.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from workers import STOPPED, Workers, arguments, begin, done, prepare, texts

from regard.paper.experiment import read_experiment
from regard.paper.later.plan import Later, runs_of
from regard.paper.later.run import FIGURES


class Queue(Workers):
    """The runs of the experiment."""

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.runs: Path = given.root / "later"
        self.data: Path = given.root / "data" / "m30k"
        self.distilled: Path = given.root / "data" / "m30k-distilled"
        self.plan = [str(given.plan)] if given.plan else []

    def run(self, name: str, *, needed: bool = False) -> None:
        """Train and measure a run, and keep its figures and its log; if it is `needed`, its model must be there."""
        command = ["paper", "later", *self.plan, "--rows", name, "--data", str(self.data)]
        if self.distilled.exists():
            command += ["--distilled", str(self.distilled)]
        raw = self.given.root / "text" / "raw"
        command += ["--test", *(str(raw / f"test_2016_flickr.{language}") for language in ("en", "de"))]
        kept, folder = self.given.results / "later" / f"{name}.json", self.runs / name
        needs = folder / "model" if needed else None
        self.keep(kept, folder, FIGURES, *command, "--out", str(self.runs), needs=needs)

    def distil(self, teacher: Path) -> None:
        """Prepare the training texts with the teacher's translations, unless that is done."""
        if self.distilled.exists():
            return
        raw, pairs = self.given.root / "text" / "raw", self.given.root / "text" / "distilled.tsv"
        log = self.given.root / "distil.out"
        if not pairs.exists():
            what = ["--model", str(teacher), "--text", str(raw / "train.en"), "--kind", "forward", "--any-language"]
            done(self, log, "synthesise", *what, "--out", str(pairs))
        texts = ["--train", pairs.name, "--valid", "raw/val.en", "raw/val.de", "--from", "en", "--to", "de"]
        options = ["--subwords-from", str(teacher), "--out", str(self.distilled)]
        done(self, log, "prepare", *texts, *options, within=pairs.parent)


def main() -> None:
    parser = arguments("Run the experiment on what came after the paper.")
    parser.add_argument("--plan", type=Path, help="another plan")
    given = parser.parse_args()
    given.plan = given.plan and given.plan.resolve()
    queue = Queue(given)
    begin(queue)
    texts(given, ("raw",))
    prepare(queue, "m30k", "raw", "4000")
    names = [run.name for run in runs_of(read_experiment(Later, "later", given.plan))]
    teacher = names[0]
    queue.all([partial(queue.run, teacher, needed=True)])
    model = queue.runs / teacher / "model"
    if queue.stopped.is_set():
        sys.exit(STOPPED)
    if not model.exists():
        sys.exit(f"{teacher} failed; see {queue.runs / teacher}.out")
    queue.distil(model)
    queue.all([partial(queue.run, name) for name in names[1:]])
    missing = [name for name in names if not (given.results / "later" / f"{name}.json").exists()]
    if queue.stopped.is_set():
        sys.exit(STOPPED)
    report = ["paper", "later", *queue.plan, "--results", str(given.results / "later"), "--out", str(queue.runs)]
    done(queue, given.root / "report.out", *report)
    sys.exit(f"these failed; see their .out files in {queue.runs}: {', '.join(missing)}" if missing else 0)


if __name__ == "__main__":
    main()
