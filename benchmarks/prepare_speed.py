"""How fast `regard prepare` is beside bare sentencepiece, and how its memory grows.

    python benchmarks/prepare_speed.py [--json]             lines/s on 1 and 2 cores, as a part of sentencepiece's own
    python benchmarks/prepare_speed.py --memory [--json]    peak memory of all its processes on 1 and 10 million lines

Speed is measured on Multi30k (../shared/data or $REGARD_DATA), several times over, with a number after each copy's
lines so that copies are no duplicates. The limit is sentencepiece's `encode` of lists of the same normalised lines,
already in memory, in one process and in two at once. Rounds alternate between the two, and the median counts. A pair is
two lines.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 8192  # lines in a list: as many as prepare gives it at once
REQUIRED = 0.70


def corpus(folder: Path, copies: int) -> tuple[Path, Path]:
    """Multi30k, several times over, without duplicates."""
    data = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data")) / "multi30k"
    for language in ("en", "de"):
        with gzip.open(data / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")[:-1]
        with (folder / f"train.{language}").open("w", encoding="utf-8") as file:
            for copy in range(copies):
                file.writelines(f"{line} {copy}\n" for line in lines)
    return folder / "train.en", folder / "train.de"


def ours(files: tuple[Path, Path], out: Path, cores: int) -> dict[str, float]:
    """Lines/s of the second pass alone, and of all but the learning of subwords, whose time depends on the sample."""
    from regard.config.data import CorpusConfig, PrepareConfig
    from regard.data.prepare import prepare

    config = PrepareConfig(vocabulary=8000, sample=29_000)
    report = prepare([CorpusConfig(files=tuple(map(str, files)))], [], out, config, cores=cores, force=True)
    times = report.timings
    assert times is not None
    lines = 2 * report.train[0].kept
    return {
        "encode": lines / times.encoding,
        "total": lines / (times.reading + times.encoding + times.writing),
        "seconds": times.reading + times.encoding + times.writing,
    }


def bare(files: tuple[Path, Path], model: Path, processes: int) -> float:
    """Lines/s of sentencepiece alone."""
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(processes), context.SimpleQueue()
    workers = [
        context.Process(target=_bare, args=(files, model, part, processes, barrier, queue)) for part in range(processes)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    return float(sum(lines for lines, _ in results) / max(seconds for _, seconds in results))


def _bare(files: tuple[Path, Path], model: Path, part: int, parts: int, barrier: Barrier, queue: Any) -> None:
    from sentencepiece import SentencePieceProcessor

    from regard.text.normalise import normalise

    processor = SentencePieceProcessor(model_file=str(model))
    lines = [normalise(line) for path in files for line in path.read_text(encoding="utf-8").split("\n")[:-1]][
        part::parts
    ]
    batches = [lines[at : at + BATCH] for at in range(0, len(lines), BATCH)]
    barrier.wait()
    begin = time.perf_counter()
    for batch in batches:
        processor.Encode(batch, num_threads=1)
    queue.put((len(lines), time.perf_counter() - begin))


def speed(copies: int, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = corpus(folder, copies)
        ours(files, folder / "out", 1)  # the model, and warm caches
        model = folder / "out" / "subwords.model"
        runs: list[dict[str, float]] = []
        for number in range(rounds):
            run: dict[str, float] = {}
            for cores in (1, 2):
                measured = ours(files, folder / "out", cores)
                limit = bare(files, model, cores)
                run |= {f"{key}_{cores}": value for key, value in measured.items()} | {f"limit_{cores}": limit}
                run |= {f"{key}_ratio_{cores}": measured[key] / limit for key in ("encode", "total")}
            runs.append(run)
            print(
                f"round {number + 1} of {rounds}", json.dumps({k: round(v, 3) for k, v in run.items()}), file=sys.stderr
            )
    medians = {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}
    passed = min(medians[f"{key}_ratio_{cores}"] for key in ("encode", "total") for cores in (1, 2)) >= REQUIRED
    return {"lines": 2 * 29_000 * copies, "rounds": rounds, **medians, "required_ratio": REQUIRED, "passed": passed}


def synthetic(path: Path, lines: int, seed: int) -> None:
    """Lines of 3 to 25 words; of 50,000 words, the frequent ones are as frequent as in language."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, size=2 + int(size))) for size in random.poisson(4, 50_000)]
    weights = 1 / np.arange(1, len(words) + 1)
    weights /= weights.sum()
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, lines, 100_000):
            sizes = random.integers(3, 26, min(100_000, lines - start))
            chosen = iter(random.choice(len(words), int(sizes.sum()), p=weights).tolist())
            file.writelines(" ".join([words[next(chosen)] for _ in range(size)]) + "\n" for size in sizes.tolist())


def peak_memory(command: list[str]) -> tuple[int, float]:
    """The most that a command and all its children held at one moment, in MiB, and its seconds."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return peak >> 20, time.perf_counter() - begin


def _resident(pid: int) -> int:
    """Bytes that a process and its children hold."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        children = "".join(path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children"))
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(_resident(int(child)) for child in children.split())


def memory(sizes: list[int], cores: int, sample: int) -> dict[str, Any]:
    """Subwords are learned from all pairs up to `sample`, so only sizes beyond it can be compared."""
    runs = []
    for lines in sizes:
        with tempfile.TemporaryDirectory() as name:
            files = [Path(name) / "train.xx", Path(name) / "train.yy"]
            for seed, path in enumerate(files):
                synthetic(path, lines, seed)
            command = [sys.executable, "-m", "regard", "prepare", "--train", *map(str, files), "--vocabulary", "8000"]
            command += ["--cores", str(cores), "--sample", str(sample), "--out", f"{name}/out"]
            peak, seconds = peak_memory(command)
            megabytes = sum(path.stat().st_size for path in files) >> 20
        runs.append({"pairs": lines, "input_MiB": megabytes, "peak_MiB": peak, "seconds": round(seconds, 1)})
        print(json.dumps(runs[-1]), file=sys.stderr)
    return {
        "cores": cores,
        "sample": sample,
        "runs": runs,
        "growth": round(runs[-1]["peak_MiB"] / runs[0]["peak_MiB"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--copies", type=int, default=20, help="of Multi30k's 29,000 pairs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="measure memory, not speed")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000], help="pairs, for --memory")
    parser.add_argument("--cores", type=int, default=2, help="for --memory")
    parser.add_argument("--sample", type=int, default=500_000, help="pairs to learn subwords from, for --memory")
    asked = parser.parse_args()
    result = memory(asked.sizes, asked.cores, asked.sample) if asked.memory else speed(asked.copies, asked.rounds)
    result |= {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "python": platform.python_version()}
    if asked.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:<16} {value}")


if __name__ == "__main__":
    main()
