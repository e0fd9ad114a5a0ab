"""The one command beside hand-set defaults, on the same pairs and in the same minutes.

    python benchmarks/first_hour.py --pairs kor-eng.tsv.gz --to ko [--count 5000] [--minutes 5] [--processor-time]

The file is a TSV: English TAB the other language. 500 pairs are kept apart by a hash of the English sentence to measure
both models; of the others, `--count` are taken. First runs `regard train --train … --time MINUTESm`. Then what one did
before there was that: `regard prepare --vocabulary 8000` (halved until the text allows it) with 250 pairs (or a tenth)
for validation, and `regard train --preset tiny` with nothing else set, ended by the clock after as many minutes as the
first took in all. Wall-clock time on a busy machine is not comparable: run it on an idle one, or with
`--processor-time`, where the clock of both is the processor time of one thread.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEST = 500
SEED = 1
# As `python -m regard`, but what the program takes for the time is the processor time of its process.
PROCESSOR_TIME = "import time; time.perf_counter = time.process_time; from regard.cli.main import main; main()"


def split(path: Path, count: int, folder: Path, code: str) -> None:
    """Write test.en, pairs.en, train.en and valid.en, each beside its translation; no English sentence is in two."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    rows.sort(key=lambda row: hashlib.sha256(row[0].encode()).digest())
    test = rows[-TEST:]
    tested = {row[0] for row in test}
    rest = [row for row in rows[:-TEST] if row[0] not in tested]
    random.Random(SEED).shuffle(rest)
    pairs = rest[:count]
    apart = min(250, len(pairs) // 10)
    for name, chosen in (("test", test), ("pairs", pairs), ("train", pairs[apart:]), ("valid", pairs[:apart])):
        for side, ending in enumerate(("en", code)):
            (folder / f"{name}.{ending}").write_text("".join(f"{row[side]}\n" for row in chosen), encoding="utf-8")


class Clock:
    """Runs commands, and tells the seconds that they took: of the clock, or of the processor on one thread."""

    def __init__(self, folder: Path, *, processor: bool) -> None:
        self.folder = folder
        self.how = ["-c", PROCESSOR_TIME] if processor else ["-m", "regard"]
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1"} if processor else dict(os.environ)
        self.processor, self.began = processor, 0.0
        self.began = self.seconds()

    def seconds(self) -> float:
        if not self.processor:
            return time.perf_counter() - self.began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime - self.began

    def regard(self, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *self.how, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert fails or done.returncode == 0, done.stderr[-2000:]
        return done


def one_command(clock: Clock, code: str, minutes: float) -> dict[str, Any]:
    started = clock.seconds()
    arguments = ("--train", "pairs.en", f"pairs.{code}", "--out", "new", "--time", f"{minutes}m", "--json")
    outcome = json.loads(clock.regard("train", *arguments).stdout)
    taken = clock.seconds() - started
    return {"minutes": taken / 60, "chosen": outcome["plan"]["reasons"], "written": outcome["final"]}


def by_hand(clock: Clock, code: str, minutes: float) -> dict[str, Any]:
    started = clock.seconds()
    vocabulary = 8000
    files = ("--train", "train.en", f"train.{code}", "--valid", "valid.en", f"valid.{code}", "--out", "data")
    while clock.regard("prepare", *files, "--vocabulary", str(vocabulary), fails=True).returncode:
        vocabulary //= 2
        assert vocabulary >= 300, "no vocabulary fits"
    left = minutes - (clock.seconds() - started) / 60
    limits = ("--set", f"train.max_minutes={left:.3f}", "--set", "train.final=mean")
    clock.regard("train", "--preset", "tiny", "--data", "data", "--out", "old", *limits)
    return {"minutes": (clock.seconds() - started) / 60, "vocabulary": vocabulary}


def scored(clock: Clock, code: str, name: str) -> dict[str, Any]:
    arguments = ("--model", f"{name}/model", "--source", "test.en", "--reference", f"test.{code}", "--json")
    figures = json.loads(clock.regard("evaluate", *arguments).stdout)
    return {key: figures[key] for key in ("bleu", "signature", "chrf", "chrf_signature")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="a .tsv.gz: English TAB the other language")
    parser.add_argument("--to", required=True, metavar="CODE", help="the other language")
    parser.add_argument("--count", type=int, default=5000, help="pairs to train on")
    parser.add_argument("--minutes", type=float, default=5.0, help="time of the one command")
    parser.add_argument("--processor-time", action="store_true", help="minutes of the processor, on one thread")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-") as name:
        folder = Path(name)
        split(given.pairs.resolve(), given.count, folder, given.to)
        clock = Clock(folder, processor=given.processor_time)
        new = one_command(clock, given.to, given.minutes)
        old = by_hand(clock, given.to, new["minutes"])
        found = {"one command": new | scored(clock, given.to, "new"), "by hand": old | scored(clock, given.to, "old")}
    if given.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for kind, figures in found.items():
        print(f"{kind:<12} {figures['minutes']:6.1f} minutes  BLEU {figures['bleu']:6.2f}  chrF {figures['chrf']:6.2f}")
    for choice, reason in new["chosen"].items():
        print(f"  {choice:<14} {reason}")


if __name__ == "__main__":
    main()
