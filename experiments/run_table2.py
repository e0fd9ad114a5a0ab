"""Run the experiment of Table 2 (table2.toml); the same command goes on where it was stopped.

    python experiments/run_table2.py --corpus FOLDER --root runs --results experiments/results

FOLDER has Multi30k's train.en.gz, train.de.gz and so on. First the baseline is trained, whose processor time the others
are given, then all other systems, a process for each of --workers. Each finished system leaves its figures, its
translations and the logs of its runs in --results/table2; a system that is there, with the figures of this code, is not
run again. `kill PID` stops after the current step with everything saved.

A system is tested at the processor time of the baseline, so all of it has to run on one kind of processor.
"""

import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from workers import STOPPED, Workers, arguments, begin, copy, known, prepare, texts

from regard.paper.experiment import read_experiment
from regard.paper.systems.plan import System, Table2
from regard.paper.systems.run import ENSEMBLE, RATE, TIME, TOKENS
from regard.train.run import LOG

TEXTS = tuple(str(Path(name).with_suffix(".txt")) for name in (TOKENS, TIME, ENSEMBLE))
KEPT = (RATE, ENSEMBLE, TOKENS, TIME, LOG, *TEXTS)


class Queue(Workers):
    """The systems of the experiment."""

    @property
    def runs(self) -> Path:
        folder: Path = self.given.root / "table2"
        return folder

    @property
    def kept(self) -> Path:
        folder: Path = self.given.results / "table2"
        return folder

    def command(self, system: str) -> list[str]:
        raw = self.given.root / "text" / "raw"
        sides = [str(raw / f"test_2016_flickr.{language}") for language in ("en", "de")]
        where = ["--data", str(self.given.root / "data" / "m30k"), "--out", str(self.runs)]
        which = ["--plan", str(self.given.plan)] if self.given.plan else []
        return [
            "paper",
            "table2",
            "--run",
            *which,
            "--systems",
            system,
            *where,
            "--source",
            sides[0],
            "--reference",
            sides[1],
        ]

    def system(self, system: System) -> bool:
        """Train and test a system, and keep what it leaves; True if that is there."""
        code, cpu, wall = self.regard(self.runs / f"{system.name}.out", *self.command(system.name))
        self.note(f"table2 {system.name}", cpu, wall, code)
        if code == 0:
            for path in (self.runs / system.name).rglob("*"):
                if path.name in KEPT and not path.parent.name.startswith("rate-"):
                    copy(path, self.kept / path.relative_to(self.runs))
        return code == 0

    def put_back(self, systems: Sequence[System]) -> None:
        """Give the runs' folder the systems that are kept and not there, as on another machine.

        Figures of other code are not put back, nor those of a system whose models an unfinished one refines.
        """
        needed = {system.refines for system in systems if not self.finished(system.name)}
        for system in systems:
            there = self.runs / system.name
            if system.name not in needed and not there.exists() and self.finished(system.name):
                shutil.copytree(self.kept / system.name, there)

    def finished(self, system: str) -> bool:
        """Return whether the figures of a system are kept, and are of this code."""
        figures = [path for path in (self.kept / system).rglob("*.json") if path.name != RATE]
        return bool(figures) and all(map(known, figures))


def main() -> None:
    parser = arguments("Run the experiment of Table 2.")
    parser.add_argument("--plan", type=Path, help="another plan")
    given = parser.parse_args()
    given.plan = given.plan and given.plan.resolve()
    queue = Queue(given)
    begin(queue)
    texts(given, ("raw",))
    prepare(queue, "m30k", "raw", "4000")
    systems = read_experiment(Table2, "table2", given.plan).systems
    queue.put_back(systems)
    first, *others = systems
    failed: list[str] = []

    def run(system: System) -> None:
        if not queue.system(system) and not queue.stopped.is_set():
            failed.append(system.name)

    queue.all([partial(run, first)])
    refining = [system for system in others if system.refines]
    if not failed:
        queue.all([partial(run, system) for system in others if not system.refines])
        queue.all([partial(run, system) for system in refining if system.refines not in failed])
    if queue.stopped.is_set():
        sys.exit(STOPPED)
    sys.exit(f"these failed; see their .out files in {queue.runs}: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
