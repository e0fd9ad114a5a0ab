"""Labels of texts: an encoder alone beside a bag of words (naive Bayes), by macro F1.

    python benchmarks/labels.py $REGARD_DATA/korean/train.tsv.gz --work runs/labels

The task is to tell where a Korean sentence is from: a Bible, the help of an office program, a game, the documentation
of a database and so on. The file has English TAB Korean TAB source. Of each of the sources with the most sentences
3,000 different ones are drawn, by a hash of their text: 2,500 to train, 200 to validate and 300 to test. Each seed is
trained by the commands that anyone would use; told are its figures, those of naive Bayes, and the mean of the seeds.

Stopped or killed, the same command goes on.
"""

import argparse
import gzip
import hashlib
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SPLIT = {"test": 300, "valid": 200, "train": 2500}


def regard(*arguments: str | Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def place(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def split(pairs: Path, out: Path, sources: int) -> None:
    """Write texts and their sources: train.tsv, valid.tsv, test.tsv."""
    texts: dict[str, set[str]] = defaultdict(set)
    seen: dict[str, str] = {}
    with gzip.open(pairs, "rt", encoding="utf-8") as file:
        for line in file:
            _, korean, source = line.rstrip("\n").split("\t")
            if len(korean.split()) >= 3 and seen.setdefault(korean, source) == source:
                texts[source].add(korean)
    largest = sorted(texts, key=lambda source: (-len(texts[source]), source))[:sources]
    order = {source: sorted(texts[source], key=place) for source in largest}
    parts, first = {}, 0
    for part, count in SPLIT.items():
        lines = [f"{text}\t{source}" for source in largest for text in order[source][first : first + count]]
        parts[part] = sorted(lines, key=place)
        first += count
    out.mkdir(parents=True, exist_ok=True)
    for part, lines in parts.items():
        (out / f"{part}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def trained(work: Path, seed: int, settings: list[str]) -> Path:
    data = work / "data"
    if not data.exists():
        files = ["--train", str(work / "train.tsv"), "--valid", str(work / "valid.tsv")]
        regard("prepare", "--task", "labels", *files, "--vocabulary", "8000", "--out", data)
    changed = [part for one in (f"train.seed={seed}", *settings) for part in ("--set", one)]
    run = work / f"seed{seed}"
    regard("train", "--preset", "encoder-only", *changed, "--data", data, "--out", run)
    return run / "model"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="English TAB Korean TAB source, gzipped")
    parser.add_argument("--work", type=Path, required=True, help="where texts, data and runs go")
    parser.add_argument("--sources", type=int, default=12)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the training")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    if not (given.work / "test.tsv").exists():
        split(given.pairs, given.work, given.sources)
    settings = ["train.steps=1500", "train.batch_tokens=2048", *given.set]
    rows: dict[str, Any] = {}
    for seed in given.seeds:
        model = trained(given.work, seed, settings)
        texts = ["--test", given.work / "test.tsv", "--baseline", given.work / "train.tsv"]
        figures = json.loads(regard("classify", "--model", model, *texts, "--json"))
        rows |= {"naive Bayes": figures["naive Bayes"], f"seed {seed}": figures["model"]}
    own = [rows[f"seed {seed}"]["macro_f1"] for seed in given.seeds]
    if given.json:
        print(json.dumps({"rows": rows, "mean_macro_f1": statistics.mean(own)}, ensure_ascii=False))
        return
    print(f"{'':12} {'texts':>7} {'accuracy':>9} {'macro F1':>9}")
    for name, scores in rows.items():
        print(f"{name:12} {scores['texts']:7,} {scores['accuracy']:9.4f} {scores['macro_f1']:9.4f}")
    print(f"mean of the seeds: macro F1 {statistics.mean(own):.4f}")


if __name__ == "__main__":
    main()
