"""What the benchmarks of training read: Multi30k's lengths in batches, the same for all contenders."""

import gzip
import math
import os
import tempfile
from pathlib import Path

import numpy as np

from regard.config.special_tokens import BOS, EOS, PAD

TOKENS = 4096  # of each side in a batch, at most, padding included
BATCHES = 24

Pair = tuple[list[int], list[int]]


def corpus_folder() -> Path:
    return Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "multi30k"


def real_pairs(folder: Path, vocabulary: int) -> list[Pair]:
    """Multi30k English-German, in subwords of the preset's vocabulary."""
    import sentencepiece

    sides = [gzip.decompress((folder / f"train.{side}.gz").read_bytes()).decode().splitlines() for side in ("en", "de")]
    with tempfile.TemporaryDirectory() as temporary:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sides[0] + sides[1]),
            model_prefix=f"{temporary}/subwords",
            vocab_size=vocabulary,
            model_type="bpe",
            pad_id=PAD,
            unk_id=1,
            bos_id=BOS,
            eos_id=EOS,
            minloglevel=2,
        )
        subwords = sentencepiece.SentencePieceProcessor(model_file=f"{temporary}/subwords.model")
    return list(zip(subwords.encode(sides[0]), subwords.encode(sides[1]), strict=True))


def synthetic_pairs(vocabulary: int) -> list[Pair]:
    """Random tokens with about Multi30k's lengths, where the corpus is not at hand."""
    random = np.random.default_rng(0)
    source = np.clip(random.lognormal(math.log(13.3), 0.32, 29_000), 4, 45).astype(int)
    target = np.clip(source * random.lognormal(0.05, 0.2, 29_000), 3, 50).astype(int)
    return [
        tuple(random.integers(4, vocabulary, n).tolist() for n in pair) for pair in zip(source, target, strict=True)
    ]


def batches_of(vocabulary: int) -> tuple[str, list[dict[str, np.ndarray]]]:
    """What the report calls the corpus, and its batches."""
    folder = corpus_folder()
    if folder.is_dir():
        return "multi30k", batches(real_pairs(folder, vocabulary))
    return "synthetic lengths", batches(synthetic_pairs(vocabulary))


def batches(pairs: list[Pair]) -> list[dict[str, np.ndarray]]:
    """Similar lengths together, at most TOKENS on each side; a few of them drawn from the whole."""
    pairs = sorted((([*source, EOS], [BOS, *target, EOS]) for source, target in pairs), key=lambda p: [*map(len, p)])
    cut: list[list[Pair]] = []
    batch: list[Pair] = []
    longest = 0
    for pair in pairs:
        longest = max(longest, *map(len, pair))
        if (len(batch) + 1) * longest > TOKENS:
            cut.append(batch)
            batch, longest = [], max(map(len, pair))
        batch.append(pair)
    chosen = np.random.default_rng(1).permutation(len(cut))[:BATCHES]
    return [{"source": padded([p[0] for p in cut[i]]), "target": padded([p[1] for p in cut[i]])} for i in chosen]


def padded(rows: list[list[int]]) -> np.ndarray:
    table = np.full((len(rows), max(map(len, rows))), PAD, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table
