"""Small corpora, and their preparation."""

import random
from pathlib import Path
from typing import Any

from regard.config.data import CorpusConfig, PrepareConfig
from regard.data.prepare import prepare
from regard.data.prepare_report import PrepareReport
from regard.data.prepared import Prepared

CONFIG = PrepareConfig(vocabulary=320)


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Numbers, written in figures and in words."""
    words = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
    chosen = [random.Random(seed + number).choices(range(10), k=3 + number % 9) for number in range(count)]
    return [(f"{n}: {' '.join(map(str, c))}", f"{n}: {' '.join(words[d] for d in c)}") for n, c in enumerate(chosen)]


def write(folder: Path, pairs: list[tuple[str, str]], name: str = "train") -> CorpusConfig:
    folder.mkdir(exist_ok=True)
    files = folder / f"{name}.en", folder / f"{name}.de"
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline="\n")
    return CorpusConfig(files=tuple(map(str, files)))


def run(
    train: CorpusConfig | list[CorpusConfig],
    out: Path,
    *valid: CorpusConfig,
    cores: int = 1,
    force: bool = False,
    **changes: Any,
) -> PrepareReport:
    config = CONFIG.model_copy(update=changes)
    return prepare(train if isinstance(train, list) else [train], valid, out, config, cores=cores, force=force)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def texts(prepared: Prepared, split: Any) -> list[tuple[str, str]]:
    decode = prepared.source_subwords.decode, prepared.target_subwords.decode
    pairs = (split.pair(index) for index in range(len(split)))
    return [(decode[0](source.tolist()), decode[1](target.tolist())) for source, target in pairs]
