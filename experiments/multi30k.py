"""Multi30k in lower case, as the published results of multi30k-tiny.toml have it.

    python experiments/multi30k.py FOLDER data/text      # FOLDER has train.en.gz, train.de.gz and so on

They are in data/task1/raw of https://github.com/multi30k/dataset under these names; `regard corpora get` gives them
others.
"""

import argparse
import gzip
from pathlib import Path

NAMES = ("train", "val", "test_2016_flickr")


def main() -> None:
    arguments = argparse.ArgumentParser(description="Write Multi30k's texts in lower case.")
    arguments.add_argument("folder", type=Path, help="where the .gz files are")
    arguments.add_argument("out", type=Path)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in (f"{name}.{language}" for name in NAMES for language in ("en", "de")):
        text = gzip.decompress((given.folder / f"{name}.gz").read_bytes()).decode()
        (given.out / name).write_text(text.lower(), encoding="utf-8")


if __name__ == "__main__":
    main()
