"""The one command beside hand-set defaults, on the same pairs and in the same minutes.

    python benchmarks/first_hour.py --pairs kor-eng.tsv.gz --to ko [--count 5000] [--minutes 5] [--processor-time]
    python benchmarks/first_hour.py --table $REGARD_DATA/tatoeba --out first_hour.json [--minutes 5] [--threads 2]

The second command measures every row of ROWS and prints the table. Each row is written to `--out` as soon as it is
done; the same command, started again, measures only the rows that it lacks.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEST = 500
SEED = 1
ROWS = (("kor-eng.tsv.gz", "ko", 500), ("kor-eng.tsv.gz", "ko", 5000),
        ("fra-eng.tsv.gz", "fr", 500), ("fra-eng.tsv.gz", "fr", 5000), ("fra-eng.tsv.gz", "fr", 50_000))  # fmt: skip
CHOICES = ("model", "vocabulary", "dropout", "steps")
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

    def __init__(self, folder: Path, *, processor: bool, threads: int | None = None) -> None:
        self.folder = folder
        self.how = ["-c", PROCESSOR_TIME] if processor else ["-m", "regard"]
        if processor:
            threads = 1
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads)} if threads else dict(os.environ)
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
    left = max(0.05, minutes - (clock.seconds() - started) / 60)
    limits = ("--set", f"train.max_minutes={left:.3f}", "--set", "train.final=mean")
    clock.regard("train", "--preset", "tiny", "--data", "data", "--out", "old", *limits)
    return {"minutes": (clock.seconds() - started) / 60, "vocabulary": vocabulary}


def scored(clock: Clock, code: str, name: str) -> dict[str, Any]:
    arguments = ("--model", f"{name}/model", "--source", "test.en", "--reference", f"test.{code}", "--json")
    figures = json.loads(clock.regard("evaluate", *arguments).stdout)
    return {key: figures[key] for key in ("bleu", "signature", "chrf", "chrf_signature")}


def measured(pairs: Path, code: str, count: int, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of both ways on so many pairs; Korean has fewer than 5,000 besides the test."""
    with tempfile.TemporaryDirectory(prefix="regard-") as name:
        folder = Path(name)
        split(pairs, count, folder, code)
        clock = Clock(folder, processor=given.processor_time, threads=given.threads)
        new = one_command(clock, code, given.minutes)
        old = by_hand(clock, code, new["minutes"])
        taken = len((folder / "pairs.en").read_text(encoding="utf-8").splitlines())
        return {
            "pairs": taken,
            "one command": new | scored(clock, code, "new"),
            "by hand": old | scored(clock, code, "old"),
        }


def measure_table(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure the rows that the results lack, and write them after each."""
    settings = {"minutes": given.minutes, "threads": given.threads, "processor_time": given.processor_time}
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else []
    for name, code, count in ROWS:
        row = {"to": code, "asked": count, **settings}
        if (given.only and f"{code}:{count}" not in given.only) or any(row.items() <= one.items() for one in found):
            continue
        print(f"{code} {count:,} …", file=sys.stderr, flush=True)
        found.append(row | measured(given.table / name, code, count, given))
        partial = given.out.with_suffix(".part")
        partial.write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
        partial.replace(given.out)
    return [one for one in found if settings.items() <= one.items()]


def show_table(rows: Sequence[dict[str, Any]]) -> None:
    print("| pairs | minutes | one command: BLEU / chrF | by hand: BLEU / chrF | what it chose |")
    print("|---|---|---|---|---|")
    for row in rows:
        new, old = row["one command"], row["by hand"]
        chosen = "; ".join(new["chosen"][key].split(":")[0] for key in CHOICES if key in new["chosen"])
        print(
            f"| {row['to']} {row['pairs']:,} | {new['minutes']:.1f} | {new['bleu']:.1f} / {new['chrf']:.1f} "
            f"| {old['bleu']:.1f} / {old['chrf']:.1f} | {chosen} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, metavar="FOLDER", help="measure all rows on the files of this folder")
    parser.add_argument("--out", type=Path, default=Path("first_hour.json"), help="results of --table")
    parser.add_argument("--only", nargs="*", metavar="CODE:PAIRS", help="of --table, these rows, such as ko:500")
    parser.add_argument("--pairs", type=Path, help="a .tsv.gz: English TAB the other language")
    parser.add_argument("--to", metavar="CODE", help="the other language")
    parser.add_argument("--count", type=int, default=5000, help="pairs to train on")
    parser.add_argument("--minutes", type=float, default=5.0, help="time of the one command")
    parser.add_argument("--threads", type=int, help="by default as many as torch takes")
    parser.add_argument("--processor-time", action="store_true", help="minutes of the processor, on one thread")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.table:
        show_table(measure_table(given))
        return
    if not (given.pairs and given.to):
        parser.error("give --pairs and --to, or --table")
    found = measured(given.pairs.resolve(), given.to, given.count, given)
    if given.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for kind in ("one command", "by hand"):
        figures = found[kind]
        print(f"{kind:<12} {figures['minutes']:6.1f} minutes  BLEU {figures['bleu']:6.2f}  chrF {figures['chrf']:6.2f}")
    for choice, reason in found["one command"]["chosen"].items():
        print(f"  {choice:<14} {reason}")


if __name__ == "__main__":
    main()
