"""Run the experiment of Table 4 (table4.toml); the same command goes on where it was stopped.

    python experiments/run_table4.py --corpus FOLDER --root runs --results experiments/results

FOLDER has craft/craft.{train,dev,test}.trees.gz and gum/gum.{train.by,train.by-sa,dev}.trees.gz. First a parser of each
arm is trained, then the other seeds, a process for each of --workers. Each finished parser leaves its figures and its
log in --results/table4; one that is there, with the figures of this code, is not run again. `kill PID` stops after the
current step with everything saved.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from workers import STOPPED, Workers, arguments, begin, done

from regard.paper.experiment import FIGURES, read_experiment
from regard.paper.semi_supervised import Table4

TREES = {
    "gold": ("craft/craft.train",),
    "silver": ("gum/gum.train.by", "gum/gum.train.by-sa"),
    "valid": ("craft/craft.dev",),
    "test": ("craft/craft.test",),
    "agreement": ("gum/gum.dev",),
}


class Queue(Workers):
    """The parsers of the experiment."""

    def command(self, *which: str) -> list[str]:
        """Return the command that trains and reports on some parsers, or on all."""
        files = [
            part
            for option, names in TREES.items()
            for name in names
            for part in (f"--{option}", str((self.given.corpus / f"{name}.trees.gz").resolve()))
        ]
        plan = ["--plan", str(self.given.plan)] if self.given.plan else []
        return ["paper", "table4", "--run", *plan, *files, *which, "--out", str(self.given.root / "table4")]

    def parser(self, arm: str, seed: int) -> None:
        """Train and measure a parser, and keep its figures and its log."""
        name = f"{arm}-seed{seed}"
        kept, folder = self.given.results / "table4" / f"{name}.json", self.given.root / "table4" / name
        self.keep(kept, folder, FIGURES, *self.command("--arms", arm, "--seeds", str(seed)))


def main() -> None:
    parser = arguments("Run the experiment of Table 4.", corpus="the folder with craft and gum")
    parser.add_argument("--plan", type=Path, help="another plan")
    given = parser.parse_args()
    given.plan = given.plan and given.plan.resolve()
    queue = Queue(given)
    begin(queue)
    plan = read_experiment(Table4, "table4", given.plan)
    first, *others = plan.seeds
    queue.all([partial(queue.parser, arm, first) for arm in plan.arms])  # each prepares its arm's data
    queue.all([partial(queue.parser, arm, seed) for seed in others for arm in plan.arms])
    if queue.stopped.is_set():
        sys.exit(STOPPED)
    names = [f"{arm}-seed{seed}" for arm in plan.arms for seed in plan.seeds]
    missing = [name for name in names if not (given.results / "table4" / f"{name}.json").exists()]
    if missing:
        sys.exit(f"these failed; see their .out files in {given.root / 'table4'}: {', '.join(missing)}")
    done(queue, given.root / "table4.out", *queue.command())


if __name__ == "__main__":
    main()
