"""SIGKILL at any moment, also while saving; the run that is started again ends with the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.config import Config
from regard.data.prepared import Prepared
from regard.files import sha256
from regard.train.loop import train
from regard.train.run import settle

# Checkpoints at every step, so that a kill may fall into a save as well as into a step.
CODE = """
import sys
from pathlib import Path
from regard.config import read
from regard.data.prepared import Prepared
from regard.train.loop import train
train(read(Path(sys.argv[1])), Prepared.open(Path(sys.argv[2])), Path(sys.argv[3]))
"""
STEPS = 30


def kill_and_restart(digits: Path, config: Config, data: Prepared, folder: Path, kills: int) -> None:
    settings = {"steps": STEPS, "checkpoint_every": 1, "log_every": 2, "average_last": 3}
    config = settle(config.model_copy(update={"train": config.train.model_copy(update=settings)}), data)
    train(config, data, folder / "unbroken")
    command = [sys.executable, "-c", CODE, str(folder / "unbroken" / "run.toml"), str(digits), str(folder / "killed")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    chance = random.Random(kills)
    checkpoints = folder / "killed" / "checkpoints"
    for number in range(kills):
        process = subprocess.Popen(command, env=environment)
        # Let it get on by a step or so, however slow the machine is, and then strike at a random moment.
        goal = (number + 1) * STEPS * 2 // (3 * kills)
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            newest = max((int(path.name[-8:]) for path in checkpoints.glob("step-*")), default=-1)
            if newest >= goal:
                break
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (-signal.SIGKILL, 0)
    subprocess.run(command, env=environment, check=True, timeout=300)
    for name in ("model/model.safetensors", f"checkpoints/step-{STEPS:08d}/training.safetensors"):
        assert sha256(folder / "killed" / name) == sha256(folder / "unbroken" / name)
    steps = [
        line.split('"step": ')[1].split(",")[0]
        for line in (folder / "killed/log.jsonl").read_text().splitlines()
        if '"event": "train"' in line
    ]
    assert steps == [str(step) for step in range(2, STEPS + 1, 2)]
    assert not list((folder / "killed" / "checkpoints").glob(".*")), "nothing half written is left"


def test_three_kills(digits: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    kill_and_restart(digits, config, data, tmp_path, 3)


@pytest.mark.slow
def test_twenty_four_kills(digits: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    kill_and_restart(digits, config, data, tmp_path, 24)
