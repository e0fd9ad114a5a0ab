"""The one command beside hand-set defaults, on the same pairs and in the same minutes.

    python benchmarks/first_hour.py --pairs kor-eng.tsv.gz --to ko [--count 5000] [--minutes 5] [--json]

The file is a TSV: English TAB the other language. 500 pairs are kept apart by a hash of the English sentence to measure
both models; of the others, `--count` are taken. First runs `regard train --train … --time MINUTESm`. Then what one did
before there was that: `regard prepare --vocabulary 8000` (halved until the text allows it) with 250 pairs (or a tenth)
for validation, and `regard train --preset tiny` with nothing else set, ended by the clock after as many minutes as the
first took in all. Wall-clock time on a busy machine is not comparable: run it on an idle one.
"""

import argparse
import gzip
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEST = 500
SEED = 1


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


def regard(*arguments: str, folder: Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "regard", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert fails or done.returncode == 0, done.stderr[-2000:]
    return done


def one_command(folder: Path, code: str, minutes: float) -> dict[str, Any]:
    started = time.perf_counter()
    arguments = ("--train", "pairs.en", f"pairs.{code}", "--out", "new", "--time", f"{minutes}m", "--json")
    outcome = json.loads(regard("train", *arguments, folder=folder).stdout)
    taken = time.perf_counter() - started
    return {"minutes": taken / 60, "chosen": outcome["plan"]["reasons"], "written": outcome["final"]}


def by_hand(folder: Path, code: str, minutes: float) -> dict[str, Any]:
    started = time.perf_counter()
    vocabulary = 8000
    files = ("--train", "train.en", f"train.{code}", "--valid", "valid.en", f"valid.{code}", "--out", "data")
    while regard("prepare", *files, "--vocabulary", str(vocabulary), folder=folder, fails=True).returncode:
        vocabulary //= 2
        assert vocabulary >= 300, "no vocabulary fits"
    left = minutes - (time.perf_counter() - started) / 60
    limits = ("--set", f"train.max_minutes={left:.3f}", "--set", "train.final=mean")
    regard("train", "--preset", "tiny", "--data", "data", "--out", "old", *limits, folder=folder)
    return {"minutes": (time.perf_counter() - started) / 60, "vocabulary": vocabulary}


def scored(folder: Path, code: str, name: str) -> dict[str, Any]:
    arguments = ("--model", f"{name}/model", "--source", "test.en", "--reference", f"test.{code}", "--json")
    figures = json.loads(regard("evaluate", *arguments, folder=folder).stdout)
    return {key: figures[key] for key in ("bleu", "signature", "chrf", "chrf_signature")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="a .tsv.gz: English TAB the other language")
    parser.add_argument("--to", required=True, metavar="CODE", help="the other language")
    parser.add_argument("--count", type=int, default=5000, help="pairs to train on")
    parser.add_argument("--minutes", type=float, default=5.0, help="time of the one command")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-") as name:
        folder = Path(name)
        split(given.pairs.resolve(), given.count, folder, given.to)
        new = one_command(folder, given.to, given.minutes)
        old = by_hand(folder, given.to, new["minutes"])
        found = {"one command": new | scored(folder, given.to, "new"), "by hand": old | scored(folder, given.to, "old")}
    if given.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for kind, figures in found.items():
        print(f"{kind:<12} {figures['minutes']:6.1f} minutes  BLEU {figures['bleu']:6.2f}  chrF {figures['chrf']:6.2f}")
    for choice, reason in new["chosen"].items():
        print(f"  {choice:<14} {reason}")


if __name__ == "__main__":
    main()
