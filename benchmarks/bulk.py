"""Bulk translation on a Ray cluster: equality with one machine, memory, and the speed of two workers beside one.

    python benchmarks/bulk.py equality --lines 200000 --distinct 500
    python benchmarks/bulk.py memory --lines 200000 2000000 --distinct 50
    python benchmarks/bulk.py speed --lines 4000

Lines are sentences of templates, Hangul, right-to-left text and emoji among them. With --distinct only so many of them
are different: within a window of 10,000 lines a sentence is translated once, so that millions of lines pass through
everything but the search in minutes. `speed` takes different ones alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from backports import zstd

import regard

WHO = ["The old woman", "My brother", "A young man with a red hat", "Nobody in this house", "The teacher", "Our dog"]
DOES = [
    "is waiting for the train",
    "has lost the keys",
    "wants to learn 한국어",
    "laughs 👋",
    "buys שלום bread",
    "sleeps",
]
WHEN = ["today", "after the long winter", "in the café", "every morning at seven", "near the river", "without a word"]


def sentence(number: int) -> str:
    rest, who = divmod(number, len(WHO))
    rest, does = divmod(rest, len(DOES))
    return f"{WHO[who]} {DOES[does]} {WHEN[rest % len(WHEN)]}, number {number}."


def write_corpus(folder: Path, lines: int, shards: int, distinct: int | None) -> None:
    folder.mkdir(parents=True)
    for shard in range(shards):
        with zstd.open(folder / f"{shard:03}.txt.zst", "wt", encoding="utf-8") as file:
            for line in range(shard, lines, shards):
                file.write(f"{sentence(line if distinct is None else line % distinct)}\n")


def joined(folder: Path) -> bytes:
    return b"".join(zstd.decompress(path.read_bytes()) for path in sorted(folder.glob("*.zst")))


def translated(arguments: argparse.Namespace, corpus: Path, out: Path, workers: int | None = None) -> dict[str, object]:
    report = regard.translate_shards(
        f"{corpus}/*.zst", out, model=arguments.model, engine=arguments.engine, cluster=arguments.cluster,
        workers=workers,
    )  # fmt: skip
    assert report.failed == 0 and report.lines_in == report.lines_out
    kept = {"lines": report.lines_out, "shards": report.shards, "seconds": report.seconds}
    return {**kept, "cpu_seconds": report.cpu_seconds, "worker_mb": round(report.worker_bytes / 2**20, 1)}


def equality(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """The output of all shards beside that of `regard translate` for their lines."""
    write_corpus(folder / "in", arguments.lines[0], arguments.shards, arguments.distinct)
    figures = translated(arguments, folder / "in", folder / "out")
    command = [sys.executable, "-m", "regard", "translate", "--model", arguments.model, "--engine", arguments.engine]
    alone = subprocess.run(command, input=joined(folder / "in"), capture_output=True, check=True)
    return {**figures, "equal": alone.stdout == joined(folder / "out"), "bytes": len(alone.stdout)}


def memory(arguments: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """The most memory of a worker, and of the process that gives out shards, for several sizes of corpora."""
    found = []
    for lines in arguments.lines:
        write_corpus(folder / f"in-{lines}", lines, arguments.shards, arguments.distinct)
        figures = translated(arguments, folder / f"in-{lines}", folder / f"out-{lines}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found.append({**figures, "driver_mb": round(peak, 1)})
    return found


def speed(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Two workers of one thread beside one, without the time that it takes to start them."""
    write_corpus(folder / "in", arguments.lines[0], arguments.shards, None)
    write_corpus(folder / "empty", 2, 2, None)
    times: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(arguments.rounds):
        for workers in (1, 2) if turn % 2 == 0 else (2, 1):
            begun = time.monotonic()
            translated(arguments, folder / "empty", folder / f"start-{turn}-{workers}", workers)
            start = time.monotonic() - begun
            begun = time.monotonic()
            translated(arguments, folder / "in", folder / f"out-{turn}-{workers}", workers)
            times[workers].append(time.monotonic() - begun - start)
    best = {workers: min(found) for workers, found in times.items()}
    rates = {f"lines_per_second_{workers}": round(arguments.lines[0] / best[workers], 1) for workers in best}
    return {"lines": arguments.lines[0], **rates, "ratio": round(best[1] / best[2], 3), "seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["equality", "memory", "speed"])
    parser.add_argument("--lines", type=int, nargs="+", default=[200_000])
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--distinct", type=int, help="different lines; default: all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--engine", default="native")
    parser.add_argument("--cluster", default="local")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(
            json.dumps({"equality": equality, "memory": memory, "speed": speed}[arguments.what](arguments, Path(name)))
        )


if __name__ == "__main__":
    main()
