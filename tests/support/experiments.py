"""A small task, and Table 3 at a size at which a row takes a second."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.train.log import Observer, Silence

TABLE = """
rows = ["base", "A-1", "D-drop0"]
seeds = [1, 2]

[set]
train = { average_last = 1, keep_last = 1 }

[scales.tiny.set]
model = { encoder_layers = 1, decoder_layers = 1, d_model = 16, d_ff = 32, heads = 2 }
train = { steps = 8, batch_tokens = 150, warmup = 4, checkpoint_every = 2, log_every = 2 }

[scales.tiny.rows]
A-1.model = { heads = 1, d_k = 16, d_v = 16 }

[[findings]]
row = "A-1"
says = "a single head is worse than several"
ppl = "higher"
bleu = "lower"
"""


@pytest.fixture
def table_file(tmp_path: Path) -> Path:
    path = tmp_path / "table.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


class Watched:
    """Notes which runs were trained, and until which step."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, int]] = []
        self.titles: list[str] = []
        self.warnings: list[str] = []

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)

    @contextmanager
    def __call__(self, title: str, steps: int, run: Path) -> Iterator[Observer]:
        self.runs.append((run.name, steps))
        self.titles.append(title)
        yield Silence()


@pytest.fixture
def watched() -> Watched:
    return Watched()


def kill_at(moment: Path, code: str, *arguments: str) -> None:
    """Run a program until a file of its is there, and kill it."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment)
    deadline = time.monotonic() + 300
    while process.poll() is None and not moment.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and moment.exists()
