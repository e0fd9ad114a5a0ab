r"""The texts of the English-Korean model: pairs under open licences, weighted by source and tagged by direction.

    python experiments/korean_en_ko.py korean data/ko-text
    sh data/ko-text/prepare.sh data/ko
    regard train experiments/korean-en-ko.toml --data data/ko --out runs/en-ko

The folder `korean` has train.tsv.gz: English TAB Korean TAB source. The Bible is left out (archaic Korean). `regard
prepare --speech-levels` tells the speech level of Korean sentences from their endings and says it in the tag of half of
them: `<2ko:formal>`, `<2ko:polite>`, `<2ko:plain>`; the others have `<2ko>`. `--protect` lets reserved tokens stand for
addresses, placeholders, paths and code, of which manuals are full.

500 of Tatoeba's English sentences are for testing (test.tatoeba.tsv) and 600 pairs of all sources for validation; no
pair with one of their texts, compared without case, spaces and punctuation, is trained on. The choice depends on the
sentences alone.
"""

import argparse
import gzip
import hashlib
import random
import re
from collections import defaultdict
from pathlib import Path

from tatoeba_en_de import varied

TEST, VALID = 500, 600
LEFT_OUT = {"bible"}
EVERYDAY = {"tatoeba": 8.0, "african-storybook": 4.0, "scratch": 2.0, "renpy": 2.0, "a-dark-room": 2.0, "evolve": 1.5}
WEIGHTS = EVERYDAY | {"microsoft-docs": 0.5}  # of the others: 1. Microsoft's pages are there in several versions

Pair = tuple[str, str]


def read(path: Path) -> list[tuple[str, str, str]]:
    """Return English, Korean and source of each line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(row[0], row[1], row[2]) for row in rows if row[2] not in LEFT_OUT]


def key(text: str) -> str:
    """Return the text without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", text.casefold())


def place(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def write(path: Path, pairs: list[Pair]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def held_out(rows: list[tuple[str, str, str]]) -> tuple[list[Pair], list[Pair]]:
    """Choose test sentences of Tatoeba, and validation pairs of all sources by the square root of their size."""
    english = sorted({row[0] for row in rows if row[2] == "tatoeba"}, key=place)[:TEST]
    chosen = set(english)
    test = [(row[0], row[1]) for row in rows if row[2] == "tatoeba" and row[0] in chosen]
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for source, target, name in rows:
        if source not in chosen:
            by_source[name].append((source, target))
    roots = {name: len(pairs) ** 0.5 for name, pairs in by_source.items()}
    share = VALID / sum(roots.values())
    valid = [
        pair
        for name, pairs in by_source.items()
        for pair in sorted(pairs, key=lambda pair: place(pair[0]))[: round(share * roots[name])]
    ]
    return test, valid


def groups(rows: list[tuple[str, str, str]], held: set[str]) -> dict[tuple[str, float], list[Pair]]:
    """Return the pairs to train on by tag and weight, both directions."""
    found: dict[tuple[str, float], list[Pair]] = defaultdict(list)
    dice = random.Random(1)
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for english, korean, name in rows:
        if key(english) not in held and key(korean) not in held:
            by_source[name].append((english, korean))
    for name, pairs in by_source.items():
        weight = WEIGHTS.get(name, 1.0)
        again = varied(pairs, dice) if name in EVERYDAY else pairs
        found["<2ko>", weight] += again
        back = [(korean, english) for english, korean in pairs]
        found["<2en>", weight] += varied(back, dice) if name in EVERYDAY else back
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="the folder with train.tsv.gz")
    parser.add_argument("out", type=Path, help="the folder to fill")
    arguments = parser.parse_args()
    rows = read(arguments.corpus / "train.tsv.gz")
    test, valid = held_out(rows)
    held = {key(text) for pair in test + valid for text in pair} - {""}
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    write(out / "test.tatoeba.tsv", test)
    write(out / "valid.en-ko.tsv", valid)
    write(out / "valid.ko-en.tsv", [(korean, english) for english, korean in valid])
    options = []
    for number, ((tag, weight), pairs) in enumerate(sorted(groups(rows, held).items())):
        write(out / f"train.{number}.tsv", pairs)
        options.append(f"--train '{out}/train.{number}.tsv' --tag '{tag}' --weight {weight}")
        print(f"{len(pairs):>9,} {tag:<14} x {weight}")
    options.append(
        f"--valid '{out}/valid.en-ko.tsv' --valid-tag '<2ko>' --valid '{out}/valid.ko-en.tsv' --valid-tag '<2en>'"
    )
    command = " \\\n    ".join(
        ["regard prepare", *options, '--protect --speech-levels --from en --to ko --vocabulary 16000 --out "$1"']
    )
    (out / "prepare.sh").write_text(command + "\n", encoding="utf-8")
    print(f"{len(test):,} test pairs, {len(valid):,} validation pairs: {out}; now: sh {out}/prepare.sh DIR")


if __name__ == "__main__":
    main()
