"""A small task to train on: numbers in figures to numbers in words, digit by digit, in English and Korean."""

import random
from pathlib import Path

import pytest

from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.config.train import TrainConfig
from regard.data.prepare import prepare
from regard.data.prepared import Prepared

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
HANGUL = ["영", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"]


def write_pairs(folder: Path, name: str, count: int, seed: int) -> None:
    chance = random.Random(seed)
    sources, targets = [], []
    for _ in range(count):
        digits = [chance.randrange(10) for _ in range(chance.randint(1, 9))]
        words = chance.choice((WORDS, HANGUL))
        sources.append(("ko " if words is HANGUL else "en ") + "".join(map(str, digits)))
        targets.append(" ".join(words[digit] for digit in digits))
    (folder / f"{name}.num").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (folder / f"{name}.txt").write_text("\n".join(targets) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared folder of the task."""
    folder = tmp_path_factory.mktemp("digits")
    write_pairs(folder, "train", 600, 1)
    write_pairs(folder, "valid", 40, 2)
    corpora = {
        name: [CorpusConfig(files=(str(folder / f"{name}.num"), str(folder / f"{name}.txt")))]
        for name in ("train", "valid")
    }
    prepare(corpora["train"], corpora["valid"], folder / "data", PrepareConfig(vocabulary=340), cores=1)
    return folder / "data"


@pytest.fixture
def data(digits: Path) -> Prepared:
    return Prepared.open(digits)


@pytest.fixture
def config() -> Config:
    """A model so small that a step takes milliseconds."""
    return Config(
        model=model_config(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, heads=2, dropout=0.1),
        train=TrainConfig(
            steps=12, batch_tokens=150, checkpoint_every=4, log_every=3, average_last=2, keep_last=2,
            final="mean",
            schedule="inverse-sqrt", warmup=5, peak_rate=0.01,
        ),
        decode=DecodeConfig(beam=3),
    )  # fmt: skip
