"""Translations that loop: whether any passes without a warning.

    python benchmarks/loops.py --pairs ../shared/data/tatoeba/deu-eng.tsv.gz

It trains a model for far too few steps, translates with it without a second search, and takes the first 200 sentences
whose output loops by a definition of its own: some three words come three times. Then it translates those as always,
and counts what still loops by that definition, and how much of that has no warning.
"""

import argparse
import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import regard
from regard.config.checked import check
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config

SETTINGS: dict[str, dict[str, Any]] = {
    "model": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "d_ff": 128, "heads": 2},
    "train": {
        "batch_tokens": 2048,
        "schedule": "inverse-sqrt",
        "peak_rate": 0.002,
        "warmup": 20,
        "average_last": 1,
    },
}
NEVER = 1000  # length of n-grams whose repetition is blocked: longer than any output, so nothing is searched again


def loops(text: str) -> bool:
    words = text.split()
    counts = Counter(zip(words, words[1:], words[2:], strict=False))
    return max(counts.values(), default=0) >= 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="English TAB German, gzipped")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    with gzip.open(arguments.pairs, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    rows = [row for row in rows if len(row[0].split()) >= 8]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, some in (("train", rows[2000:12000]), ("valid", rows[:50])):
            (folder / f"{part}.tsv").write_text("".join("\t".join(row) + "\n" for row in some), encoding="utf-8")
        train, valid = ([CorpusConfig(files=(str(folder / f"{part}.tsv"),))] for part in ("train", "valid"))
        languages = {"source_language": "en", "target_language": "de"}
        regard.prepare(train, valid, folder / "data", PrepareConfig(vocabulary=2000, **languages))
        steps = {"steps": arguments.steps, "checkpoint_every": arguments.steps, "log_every": arguments.steps}
        config = check(Config, {**SETTINGS, "train": {**SETTINGS["train"], **steps}}, "the settings")
        translator = regard.load(regard.train(config, folder / "data", folder / "run"), engine="torch")
        chosen: list[str] = []
        asked = 0
        while len(chosen) < arguments.count and asked < len(rows):
            texts = [row[0] for row in rows[asked : asked + 200]]
            found = translator.window(texts, regard.Options(beam=1, no_repeat=NEVER))
            chosen += [one.source for one in found if loops(one.text)]
            asked += len(texts)
        chosen = chosen[: arguments.count]
        after = translator.window(chosen, regard.Options(beam=1))
        still = [one for one in after if loops(one.text)]
        silent = [one.text for one in still if "repeats" not in one.warnings]
    told = {"asked": asked, "looped": len(chosen), "loop_after": len(still), "without_warning": len(silent)}
    print(json.dumps({**told, "examples": silent[:3]}, ensure_ascii=False))


if __name__ == "__main__":
    main()
