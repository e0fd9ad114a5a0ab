"""SIGKILL at any moment, also while saving; the run that is started again ends with the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.files import sha256
from regard.train.log import Record, records
from regard.train.loop import train
from regard.train.run import settle

# Checkpoints at every step, so that a kill may fall into a save as well as into a step.
CODE = """
import sys
from pathlib import Path
from regard.config.presets import read
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


# Each child is killed one moment later than the one before: at a call that changes the disk, counted from where it
# begins to write a checkpoint, or at last the model. Forks of one process that has loaded torch but not used it cost
# little, so every such moment has its turn.
EVERY_MOMENT = """
import itertools, os, signal, sys
from pathlib import Path
import torch._dynamo  # which Adam would load in every child
import regard.saved.weights, regard.train.checkpoint as checkpoint, regard.train.loop as loop
from regard.config.presets import read
from regard.data.prepared import Prepared
from regard.train.loop import train
CALLS = [(os, "fsync"), (os, "replace"), (os, "rename"), (os, "unlink"), (os, "rmdir"),
         (regard.saved.weights, "save_file"), (checkpoint, "save_file"), (checkpoint, "write_model"),
         (loop, "write_model")]

def kill_at(moment):
    passed = []
    def watched(name, call):
        def around(*arguments, **named):
            if passed or name == "write_model":
                passed.append(name)
            if len(passed) == moment:
                print(name, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)
        return around
    for owner, name in CALLS:
        setattr(owner, name, watched(name, getattr(owner, name)))

config, data, out = read(Path(sys.argv[1])), Prepared.open(Path(sys.argv[2])), Path(sys.argv[3])
"""
FROM_THE_FIRST = """
for writing in ("checkpoints", "the model"):
    for moment in itertools.count(1):
        child = os.fork()
        if child == 0:
            kill_at(moment)
            train(config, data, out)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status == 0:
            break
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
"""

# A run that was stopped at a regular step owes its validation, and writes that step's checkpoint again when it goes on.
A_STEP_AGAIN = """
from regard.errors import Interrupted
from regard.train.log import Silence

class Stopping(Silence):
    def step(self, number, update):
        signal.raise_signal(signal.SIGTERM)

class Telling(Silence):
    def record(self, record):
        if record["event"] == "resume":
            print("resume", record["step"], flush=True)

def stopped():
    try:
        train(config, data, out, observer=Stopping())
    except Interrupted:
        os._exit(0)
    os._exit(1)

child = os.fork()
if child == 0:
    stopped()
assert os.waitpid(child, 0)[1] == 0
first = checkpoint.steps(out / "checkpoints")[-1]
for moment in itertools.count(1):
    child = os.fork()
    if child == 0:
        kill_at(moment)
        train(config, data, out, observer=Telling())
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    if max(checkpoint.steps(out / "checkpoints"), default=0) > first:
        break
train(config, data, out, observer=Telling())
"""


def without_clock(run: Path) -> list[Record]:
    hidden = {"tokens_per_second", "seconds", "cpu_seconds", "pauses", "memory_mb"}
    kept = [record for record in records(run / "log.jsonl") if record["event"] in ("train", "validation")]
    return [{key: value for key, value in record.items() if key not in hidden} for record in kept]


@pytest.mark.slow
def test_killed_at_every_moment_of_saving(digits: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    settings = {"steps": 20, "checkpoint_every": 1, "log_every": 1, "keep_last": 1, "average_last": 2}
    config = settle(config.model_copy(update={"train": config.train.model_copy(update=settings)}), data)
    whole, killed = tmp_path / "unbroken", tmp_path / "killed"
    train(config, data, whole)
    command = [sys.executable, "-c", EVERY_MOMENT + FROM_THE_FIRST, str(whole / "run.toml"), str(digits), str(killed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    places = done.stdout.split()
    assert len(places) > 60, "a save and the removal of an old checkpoint make over 40, the model 20"
    assert set(places) == {"write_model", "fsync", "replace", "rename", "unlink", "rmdir", "save_file"}
    for name in ("model/model.safetensors", "checkpoints/step-00000020/training.safetensors"):
        assert sha256(killed / name) == sha256(whole / name)
    assert without_clock(killed) == without_clock(whole), "no gaps and no repeats"
    assert not list((killed / "checkpoints").glob(".*")), "nothing half written is left"


@pytest.mark.slow
def test_killed_at_every_moment_of_writing_a_step_again(
    digits: Path, config: Config, data: Prepared, tmp_path: Path
) -> None:
    settings = {"steps": 6, "checkpoint_every": 1, "log_every": 1, "keep_last": 1, "average_last": 1}
    config = settle(config.model_copy(update={"train": config.train.model_copy(update=settings)}), data)
    whole, killed = tmp_path / "unbroken", tmp_path / "killed"
    train(config, data, whole)
    command = [sys.executable, "-c", EVERY_MOMENT + A_STEP_AGAIN, str(whole / "run.toml"), str(digits), str(killed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    lines = done.stdout.splitlines()
    resumed = [int(line.split()[1]) for line in lines if line.startswith("resume")]
    assert resumed[0] == 2 and min(resumed) == 2, "the stopped step is never lost"
    assert lines.count("rename") >= 3, "struck before the old one moved aside, before the new one stood, and after"
    for name in ("model/model.safetensors", "checkpoints/step-00000006/training.safetensors"):
        assert sha256(killed / name) == sha256(whole / name)
    assert without_clock(killed) == without_clock(whole), "no gaps and no repeats"
    assert not list((killed / "checkpoints").glob(".*")), "nothing half written is left"
