"""Two gloo processes do what one does with accumulation, and their checkpoints load in either."""

import socket
from pathlib import Path

import pytest
import torch
from tests.support.training import CODE, losses, torchrun, with_train
from torch import nn

from regard.config.run import Config
from regard.config.train import TrainConfig
from regard.data.batches import StepBatches
from regard.data.prepared import Prepared
from regard.errors import Failed, UserError
from regard.train import checkpoint
from regard.train.distributed import World, gathered, join
from regard.train.interrupt import StopRequest
from regard.train.log import Silence, records
from regard.train.loop import _Run, train
from regard.train.objective.loss import Objective
from regard.train.run import settle
from regard.train.step import Trainer


@pytest.fixture
def fifty(config: Config, data: Prepared) -> Config:
    """50 steps, dropout on, and gradients clipped."""
    return settle(with_train(config, steps=50, checkpoint_every=25, log_every=10, clip=0.5), data)


@pytest.fixture
def alone(fifty: Config, data: Prepared, tmp_path: Path) -> Path:
    train(with_train(fifty, accumulate=2), data, tmp_path / "alone")
    return tmp_path / "alone"


UNDIVIDED = "from regard.train.step import Trainer\nTrainer.evaluated = None\n"  # nobody may ask for the whole model


# A model that holds the group last would wait, with Python to itself, for threads that wait for Python.
ENDED = """
from pathlib import Path
import torch.distributed as dist
plain = dist.destroy_process_group
def destroy():
    plain()
    names = []
    for one in Path("/proc/self/task").glob("*/comm"):  # which only Linux has
        try:
            names.append(one.read_text())
        except OSError:  # it ended just now
            continue
    assert not any("gloo" in name for name in names), names
dist.destroy_process_group = destroy
"""


@pytest.mark.slow
def test_no_thread_outlives_the_group_of_a_run_that_was_stopped(fifty: Config, digits: Path, tmp_path: Path) -> None:
    stopped = """
import os, signal, regard.train.loop as loop
class Stops(loop.Silence):
    def step(self, number, update):
        os.kill(os.getpid(), signal.SIGTERM)
""" + CODE.replace("Path(sys.argv[3]))", "Path(sys.argv[3]), observer=Stops())")
    done = torchrun(fifty, digits, tmp_path / "run", code=ENDED + stopped)
    assert done.returncode != 0 and "with everything saved" in done.stderr
    assert "AssertionError" not in done.stderr


@pytest.mark.parametrize("sharding", [pytest.param("ddp", marks=pytest.mark.slow), "fsdp"])
def test_two_processes_equal_one_that_accumulates(
    fifty: Config, alone: Path, data: Prepared, digits: Path, tmp_path: Path, sharding: str
) -> None:
    config = with_train(fifty, sharding=sharding)
    done = torchrun(config, digits, tmp_path / "two", code=(UNDIVIDED if sharding == "fsdp" else ENDED) + CODE)
    assert done.returncode == 0, done.stderr
    assert "FutureWarning" not in done.stderr
    assert losses(tmp_path / "two") == pytest.approx(losses(alone), abs=1e-4)
    ours = checkpoint.load(checkpoint.folder(tmp_path / "two" / "checkpoints", 50))
    theirs = checkpoint.load(checkpoint.folder(alone / "checkpoints", 50))
    assert ours.progress.position == theirs.progress.position and ours.progress.tokens == theirs.progress.tokens
    for name, tensor in theirs.weights.items():
        assert ours.weights[name].shape == tensor.shape
    # The same run goes on in one process with accumulation, from what two wrote.
    longer = with_train(config, steps=60, accumulate=2)
    train(longer, data, tmp_path / "two")
    train(with_train(fifty, steps=60, accumulate=2), data, alone)
    assert losses(tmp_path / "two")[-1] == pytest.approx(losses(alone)[-1], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_two_processes_equal_one_that_computes_by_parts(
    fifty: Config, data: Prepared, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharding: str
) -> None:
    """It computes two parts at once, each of them one part after the other, and the same is dropped.

    The last batch of an epoch has but few pairs, which FSDP must not be stopped by.
    """
    monkeypatch.setattr("regard.train.micro_batches.PART", fifty.train.batch_tokens // 3)
    train(with_train(fifty, accumulate=2), data, tmp_path / "alone")
    code = (
        f"import regard.train.micro_batches\nregard.train.micro_batches.PART = {fifty.train.batch_tokens // 3}\n" + CODE
    )
    done = torchrun(with_train(fifty, sharding=sharding), digits, tmp_path / "two", code=code)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "alone"), abs=1e-4)


@pytest.mark.slow
def test_one_process_goes_on_as_two(fifty: Config, alone: Path, digits: Path, tmp_path: Path, data: Prepared) -> None:
    first = with_train(fifty, steps=25, accumulate=2)
    train(first, data, tmp_path / "run")
    done = torchrun(with_train(fifty, sharding="fsdp"), digits, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "run")[-1] == pytest.approx(losses(alone)[-1], abs=1e-4)


@pytest.mark.slow
def test_three_processes_that_resume_end_with_the_same_bits(fifty: Config, digits: Path, tmp_path: Path) -> None:
    """The sum of three gradients depends on their order, and so on where DDP puts them."""
    short = with_train(fifty, steps=30, checkpoint_every=15)
    for steps in (15, 30):
        done = torchrun(with_train(short, steps=steps), digits, tmp_path / "twice", processes=3)
        assert done.returncode == 0, done.stderr
    done = torchrun(short, digits, tmp_path / "once", processes=3)
    assert done.returncode == 0, done.stderr
    twice, once = (
        checkpoint.load(checkpoint.folder(tmp_path / name / "checkpoints", 30)) for name in ("twice", "once")
    )
    assert all(torch.equal(twice.weights[name], tensor) for name, tensor in once.weights.items())


LOST = CODE.replace(
    "train(Config",
    """
import os, regard.train.loop as loop
class Dies(loop.Silence):
    def step(self, number, update):
        if number == 30 and os.environ["RANK"] == "1" and os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0":
            os.kill(os.getpid(), 9)
train(Config""",
).replace("Path(sys.argv[3]))", "Path(sys.argv[3]), observer=Dies())")


@pytest.mark.slow
def test_a_lost_worker_ends_the_run_and_a_restart_goes_on(
    fifty: Config, alone: Path, digits: Path, tmp_path: Path
) -> None:
    done = torchrun(fifty, digits, tmp_path / "run", code=LOST, restarts=1)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "run") == pytest.approx(losses(alone), abs=1e-4)
    events = [record["event"] for record in records(tmp_path / "run" / "log.jsonl")]
    assert events.count("resume") == 1
    told, ended = "another process of this run was lost after step", "closing signal SIGTERM"
    assert told in done.stderr or ended in done.stderr, "torchrun may end the others before they notice"


DISAGREE = """
import os, regard.train.loop as loop
plain, asked = loop.validation_losses, iter(range(100))
def losses(*arguments):  # the second process finds every validation worse than the one before
    loss, nll = plain(*arguments)
    return loss, nll + 10 * next(asked) * (os.environ["RANK"] == "1")
loop.validation_losses = losses
"""


def test_all_processes_stop_at_the_same_step(fifty: Config, digits: Path, tmp_path: Path) -> None:
    """As when processors of two kinds round differently: the first one's figures count for both."""
    config = with_train(fifty, steps=9, checkpoint_every=3, patience=1)
    done = torchrun(config, digits, tmp_path / "run", code=CODE.replace("train(Config", f"{DISAGREE}train(Config"))
    assert done.returncode == 0, done.stderr
    assert checkpoint.steps(tmp_path / "run" / "checkpoints")[-1] == 9


NOT_FINITE = """
from regard.train.step import Trainer
plain = Trainer._gradients
def broken(self, step, number):
    loss, nll, reward = plain(self, step, number)
    return (float("nan"), nll, reward) if number == 2 else (loss, nll, reward)
Trainer._gradients = broken
"""


@pytest.mark.slow
def test_a_skipped_step_is_logged_with_the_pairs_of_all_processes(
    fifty: Config, digits: Path, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = with_train(fifty, steps=3)
    done = torchrun(config, digits, tmp_path / "two", code=CODE.replace("train(Config", f"{NOT_FINITE}train(Config"))
    assert done.returncode == 0, done.stderr
    plain = Trainer._gradients

    def broken(self: Trainer, step: StepBatches, number: int) -> tuple[float, float, float]:
        loss, nll, reward = plain(self, step, number)
        return (float("nan"), nll, reward) if number == 2 else (loss, nll, reward)

    monkeypatch.setattr(Trainer, "_gradients", broken)
    train(with_train(config, accumulate=2), data, tmp_path / "alone")
    two, alone = (
        [record for record in records(tmp_path / name / "log.jsonl") if record["event"] == "skipped"]
        for name in ("two", "alone")
    )
    assert [record["step"] for record in two] == [2]
    assert two[0]["pairs"] == alone[0]["pairs"] and len(two[0]["pairs"]) > 2


def test_what_is_divided_is_never_whole_on_the_device(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built on the CPU; FSDP then moves a layer, divides it and goes on to the next."""

    class Divided(Exception):
        pass

    places: list[str] = []

    def divide(module: nn.Module) -> None:
        places.extend(parameter.device.type for parameter in module.parameters())
        if isinstance(module, Objective):
            raise Divided

    monkeypatch.setattr("torch.distributed.fsdp.fully_shard", divide)
    with pytest.raises(Divided):
        Trainer(config.model, with_train(config, sharding="fsdp").train, World(0, 2, torch.device("meta")))
    assert set(places) == {"cpu"}


def test_only_the_first_process_keeps_what_is_saved() -> None:
    tensors = {"a": torch.ones(2), "b": torch.zeros(3)}
    first, second = (gathered(tensors, World(rank, 2, torch.device("cpu"))) for rank in (0, 1))
    assert all(torch.equal(first[name], tensor) for name, tensor in tensors.items()) and not second


def test_more_processes_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(UserError, match="process 2 of this machine finds 1 GPUs; ask for --nproc-per-node 1"), join():
        pass


@pytest.mark.slow
@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_gradients_are_exchanged_in_bf16_and_in_small_buckets(
    fifty: Config, alone: Path, digits: Path, tmp_path: Path, sharding: str
) -> None:
    buckets = {"bucket_mb": 0.01} if sharding == "ddp" else {}
    config = with_train(fifty, sharding=sharding, communication="bf16", update_batches=2, **buckets)
    done = torchrun(config, digits, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "two") == pytest.approx(losses(alone), abs=0.05)
    assert losses(tmp_path / "two") != pytest.approx(losses(alone), abs=1e-5), "the gradients are rounded"


def test_one_process_takes_all_batches_of_an_update(fifty: Config, alone: Path, data: Prepared, tmp_path: Path) -> None:
    train(with_train(fifty, update_batches=2), data, tmp_path / "run")
    assert losses(tmp_path / "run") == losses(alone)


def test_an_update_that_can_t_be_shared_evenly(fifty: Config, data: Prepared, tmp_path: Path) -> None:
    world = World(0, 2, torch.device("cpu"))
    config = with_train(fifty, update_batches=3)
    with pytest.raises(UserError, match="update_batches=3 can't be shared evenly by 2 processes; set it to a multiple"):
        _Run(config, data, tmp_path, world, StopRequest(), None, Silence())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"update_batches": 2, "accumulate": 2}, "update_batches replaces accumulate"),
        ({"bucket_mb": 1.0, "sharding": "fsdp"}, "bucket_mb goes with sharding = 'ddp'"),
        ({"wait_minutes": 0}, "greater than 0"),
    ],
)
def test_settings_without_effect_are_rejected(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrainConfig.model_validate(settings)


def test_processes_that_do_not_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Failed, match="did not find each other .*; check that the hosts reach each other"), join(0.01):
        pass
