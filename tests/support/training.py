"""Steps of training, alone and with two processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import torch

from regard.config.run import Config
from regard.data.batches import Batches, StepBatches
from regard.data.prepared import Prepared
from regard.train.distributed import World
from regard.train.log import Silence, records
from regard.train.run import settle
from regard.train.step import Update

ALONE = World(0, 1, torch.device("cpu"))


def steps(config: Config, data: Prepared, count: int, group: int = 1) -> list[StepBatches]:
    batches = Batches(data.train, batch_tokens=config.train.batch_tokens, seed=1)
    return [step for step, _ in zip(batches.steps(group=group), range(count), strict=False)]


CODE = """
import json, sys
from pathlib import Path
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.train.loop import train
train(Config.model_validate_json(sys.argv[1]), Prepared.open(Path(sys.argv[2])), Path(sys.argv[3]))
"""


def torchrun(
    config: Config, digits: Path, out: Path, *, code: str = CODE, restarts: int = 0, processes: int = 2
) -> subprocess.CompletedProcess[str]:
    script = out.parent / f"{out.name}.py"
    script.write_text(code)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += ["--max-restarts", str(restarts), str(script), config.model_dump_json(), str(digits), str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def with_train(config: Config, **values: object) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update=values)})


def losses(run: Path) -> list[float]:
    return [record["loss"] for record in records(run / "log.jsonl") if record["event"] in ("train", "validation")]


class Watcher(Silence):
    """Remembers what it is told, and can send a signal at a step."""

    def __init__(self, stop_at: int = 0, number: int = signal.SIGTERM) -> None:
        self.stop_at, self.number = stop_at, number
        self.warnings: list[str] = []

    def step(self, number: int, update: Update) -> None:
        if number == self.stop_at:
            signal.raise_signal(self.number)

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)


def still(config: Config, data: Prepared, **train: object) -> Config:
    """Without dropout, so that a plain second implementation can follow."""
    config = settle(config, data)
    return config.model_copy(
        update={
            "model": config.model.model_copy(update={"dropout": 0.0}),
            "train": config.train.model_copy(update=train),
        }
    )
