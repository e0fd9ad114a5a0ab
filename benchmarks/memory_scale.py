"""A translation memory at scale: time and size of an import, exact and fuzzy look-ups, writers that are killed.

    python benchmarks/memory_scale.py --pairs 1000000 --sentences ../shared/data/tatoeba/deu-eng.tsv.gz

The pairs are sentences of the file, and again variations of them with other words, until there are enough.
"""

import argparse
import gzip
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.memory.exchange import import_file
from regard.memory.pair import Pair
from regard.memory.store import Memory

WRITER = """
import sys
from regard.memory.pair import Pair
from regard.memory.store import Memory
with Memory(sys.argv[1], create=True) as memory:
    number = 0
    while True:
        memory.add(Pair("en", "de", f"{sys.argv[2]} wrote sentence {number}", str(number)))
        memory.matches("en", "de", f"{sys.argv[2]} wrote sentence {number + 1}")
        print(number, flush=True)
        number += 1
"""


def lines(path: Path, count: int) -> Iterator[str]:
    """Yield so many different pairs as TSV."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        known = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    dice, words = random.Random(1), [word for source, _ in known for word in source.split()]
    for number in range(count):
        source, target = known[number % len(known)]
        for _ in range(number // len(known)):
            parts = source.split()
            parts[dice.randrange(len(parts))] = dice.choice(words)
            source = " ".join(parts)
        yield f"{source}\t{target}\n"


def milliseconds(memory: Memory, asked: list[str], *, fuzzy: bool) -> dict[str, float]:
    times, worked = [], time.process_time()
    for text in asked:
        begun = time.perf_counter()
        if fuzzy:
            memory.matches("en", "de", text)
        else:
            memory.exact("en", "de", [text])
        times.append(1000 * (time.perf_counter() - begun))
    times.sort()
    figures = {"median": statistics.median(times), "p95": times[int(0.95 * len(times))], "max": times[-1]}
    figures["mean_cpu"] = 1000 * (time.process_time() - worked) / len(times)
    return {name: round(value, 2) for name, value in figures.items()}


def killed(place: Path, writers: int, seconds: float) -> dict[str, int]:
    """Let writers write and search at once, kill them, and count what of what they had reported is lost."""
    Memory(place, create=True).close()
    begun = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(place), f"w{n}"], stdout=subprocess.PIPE, text=True)
        for n in range(writers)
    ]
    time.sleep(seconds)
    reported = 0
    lost = 0
    for writer in begun:
        os.kill(writer.pid, signal.SIGKILL)
    with Memory(place) as memory:
        memory.database.check()
        for number, writer in enumerate(begun):
            said, _ = writer.communicate()
            whole = [line for line in said.split("\n")[:-1] if line]
            for line in whole:
                text = f"w{number} wrote sentence {line}"
                reported += 1
                lost += text not in memory.exact("en", "de", [text])
        return {"writers": writers, "reported": reported, "stored": len(memory), "lost": lost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path, required=True, help="English TAB German, gzipped")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long the writers write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, place = Path(folder) / "all.tsv", Path(folder) / "work.db"
        file.write_text("".join(lines(arguments.sentences, arguments.pairs)), encoding="utf-8")
        with Memory(place, create=True) as memory:
            begun, worked = time.perf_counter(), time.process_time()
            read, new = import_file(memory, file, source="en", target="de")
            told: dict[str, Any] = {"pairs": read, "new": new, "import_seconds": round(time.perf_counter() - begun, 1)}
            told["import_cpu_seconds"] = round(time.process_time() - worked, 1)
            memory.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            told["megabytes"] = round(place.stat().st_size / 1e6)
            dice = random.Random(2)
            stored = [pair.source for pair in memory.get(dice.randint(1, new) for _ in range(arguments.queries))]
            words = " ".join(stored).split()
            asked = []
            for text in stored:
                parts = text.split()
                parts[dice.randrange(len(parts))] = dice.choice(words)
                asked.append(" ".join(parts))
            told["fuzzy_ms"] = milliseconds(memory, asked, fuzzy=True)
            told["exact_ms"] = milliseconds(memory, stored, fuzzy=False)
            found = sum(bool(memory.matches("en", "de", text)) for text in asked)
            told["found"] = round(found / len(asked), 3)
            begun = time.perf_counter()
            memory.add(Pair("en", "de", "one more", "noch eins"))
            told["add_ms"] = round(1000 * (time.perf_counter() - begun), 2)
        begun = time.perf_counter()
        Memory(place).close()
        told["open_ms"] = round(1000 * (time.perf_counter() - begun), 1)
        told["killed"] = killed(Path(folder) / "killed.db", 8, arguments.seconds)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
