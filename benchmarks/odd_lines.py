"""What lines with a URL, CAPITALS or another language cost beside ordinary ones, in CPU-seconds.

    python benchmarks/odd_lines.py $REGARD_DATA/tatoeba/deu-eng.tsv.gz [--lines 1000] [--share 0.2]

Lines of Tatoeba are translated as they are, and again with a share of them made odd, each in a process of its own, so
that loading what only odd lines need counts. Each figure is the least of three.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ODD = (
    lambda line: f"{line} See https://example.org/a?b=1.",
    lambda line: line.upper(),
    lambda line: "안녕하세요, 만나서 반갑습니다.",
    lambda line: "Je ne sais pas où se trouve la gare de cette ville.",
    lambda line: "qwrtz zxcv bnmp qqqq",
)
CHILD = """
import json, sys, time
import regard
lines = json.load(sys.stdin)
translator = regard.load("en-de")
start = time.process_time()
found = translator.translate(lines)
print(json.dumps([time.process_time() - start, "torch" in sys.modules]))
"""


def cost(lines: Sequence[str]) -> tuple[float, bool]:
    """Return the CPU-seconds of a translation on one thread, and whether torch was loaded for it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", CHILD], input=json.dumps(lines), env=environment, text=True,
                stdout=subprocess.PIPE, check=True,
            ).stdout
        )
        for _ in range(3)
    ]  # fmt: skip
    return min(seconds for seconds, _ in runs), any(torch for _, torch in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="Tatoeba's pairs: English TAB German, gzipped")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.2, help="of odd lines")
    given = parser.parse_args()
    with gzip.open(given.pairs, "rt", encoding="utf-8") as file:
        rows = list(dict.fromkeys(line.split("\t")[0] for line in file))
    ordinary = rows[:: max(1, len(rows) // given.lines)][: given.lines]
    every = round(1 / given.share)
    odd = [ODD[n // every % len(ODD)](line) if n % every == 0 else line for n, line in enumerate(ordinary)]
    for name, lines in (("ordinary", ordinary), (f"{given.share:.0%} odd", odd)):
        seconds, torch = cost(lines)
        print(f"{name:<10} {seconds:6.2f} CPU-s   torch {'loaded' if torch else 'not loaded'}")


if __name__ == "__main__":
    main()
