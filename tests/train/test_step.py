"""One step against Adam written out, and what a step must not do."""

import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.support.training import ALONE, steps, still

from regard.config.presets import preset
from regard.config.run import Config
from regard.config.special_tokens import PAD
from regard.data.batches import Batch, StepBatches
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.build import build
from regard.model.kernels.dropout import keep_scale
from regard.train.distributed import World
from regard.train.micro_batches import MicroBatch, micro_batches
from regard.train.objective.loss import Objective
from regard.train.run import settle
from regard.train.step import Trainer, Update, knows_bf16
from regard.train.threads import TwoThreads

CPU = Path("/proc/cpuinfo")
STEP_PARTS = "regard.train.step.micro_batches"


@pytest.fixture
def doubles() -> Iterator[None]:
    """In float64, where the gradient of a key's bias, which is 0 but for rounding, stays 0 beside Adam's epsilon."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("clip", [None, 0.01])
def test_equals_adam_written_out(config: Config, data: Prepared, group: int, clip: float | None) -> None:
    """Kingma and Ba, algorithm 1, on gradients of the mean loss per token of the whole group."""
    config = still(config, data, clip=clip)
    trainer = Trainer(config.model, config.train, ALONE)
    torch.manual_seed(config.train.seed)
    model = build(config.model)
    moment = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    square = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    for number, step in enumerate(steps(config, data, 4, group), 1):
        update = trainer.update(step, number)
        model.zero_grad()
        total, tokens = torch.tensor(0.0), 0
        for batch in step.batches:
            logits = model.logits(model.features(batch.source_BS, batch.target_BT[:, :-1]))
            expected = batch.target_BT[:, 1:]
            total = total + F.cross_entropy(
                logits.flatten(0, 1), expected.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
            )
            tokens += int((expected != PAD).sum())
        (total / tokens).backward()
        norm = torch.stack([value.grad.square().sum() for value in model.parameters()]).sum().sqrt().item()
        assert update.loss == pytest.approx(total.item(), rel=1e-5) and update.norm == pytest.approx(norm, rel=1e-4)
        assert update.taken and step.target_tokens == tokens
        scale = 1.0 if clip is None else min(1.0, clip / norm)
        with torch.no_grad():
            for name, value in model.named_parameters():
                gradient = value.grad * scale
                moment[name] = 0.9 * moment[name] + 0.1 * gradient
                square[name] = 0.98 * square[name] + 0.02 * gradient**2
                corrected = moment[name] / (1 - 0.9**number)
                value.sub_(update.rate * corrected / ((square[name] / (1 - 0.98**number)).sqrt() + 1e-9))
    for name, value in model.named_parameters():
        torch.testing.assert_close(trainer.weights()[name], value.detach(), atol=1e-7, rtol=1e-5)


def test_a_loss_that_is_not_finite_never_reaches_the_weights(config: Config, data: Prepared) -> None:
    config = still(config, data, moving_average=0.9)
    trainer = Trainer(config.model, config.train, ALONE)
    first, second = steps(config, data, 2)
    trainer.update(first, 1)
    before = {name: tensor.clone() for name, tensor in {**trainer.weights(), **trainer.tensors()}.items()}
    norm = trainer.model.encoder[0].around_attention.norm
    kept = norm.weight.detach().clone()
    with torch.no_grad():
        norm.weight.fill_(float("nan"))
    update = trainer.update(second, 2)
    assert not update.taken
    with torch.no_grad():
        norm.weight.copy_(kept)
    for name, tensor in {**trainer.weights(), **trainer.tensors()}.items():
        assert torch.equal(tensor, before[name]), name
    assert trainer.update(second, 3).taken, "the next finite step goes on"


def test_moving_average(config: Config, data: Prepared) -> None:
    config = still(config, data, moving_average=0.75)
    trainer = Trainer(config.model, config.train, ALONE)
    expected = {name: tensor.clone() for name, tensor in trainer.weights().items()}
    for number, step in enumerate(steps(config, data, 3), 1):
        trainer.update(step, number)
        for name, tensor in trainer.weights().items():
            expected[name] = 0.75 * expected[name] + 0.25 * tensor
    for name, tensor in trainer.evaluated_weights().items():
        torch.testing.assert_close(tensor, expected[name])
    shown = dict(trainer.evaluated().named_parameters())
    assert all(torch.equal(shown[name], tensor) for name, tensor in trainer.evaluated_weights().items())


def test_a_moving_average_begins_with_the_weights_that_are_fine_tuned(config: Config, data: Prepared) -> None:
    config = still(config, data, moving_average=0.75)
    trainer = Trainer(config.model, config.train, ALONE)
    given = {name: torch.randn_like(weight) for name, weight in trainer.weights().items()}
    trainer.assign(given)
    assert all(torch.equal(weight, given[name]) for name, weight in trainer.weights().items())
    assert all(torch.equal(weight, given[name]) for name, weight in trainer.evaluated_weights().items())


def test_what_is_random_depends_on_the_place_alone(config: Config, data: Prepared) -> None:
    """Dropout of a step is the same whatever was drawn before it, and differs from step to step."""
    config = settle(config, data)
    first = steps(config, data, 1)[0]
    losses = []
    for noise, number in ((0, 1), (5, 1), (0, 2)):
        trainer = Trainer(config.model, config.train, ALONE)
        torch.rand(noise)
        losses.append(trainer.update(first, number).loss)
    assert losses[0] == losses[1] != losses[2]


def test_the_seed_of_the_run_decides_what_is_dropped(config: Config, data: Prepared) -> None:
    config = settle(config, data)
    first, losses = steps(config, data, 1)[0], []
    for seed in (1, 2):
        trainer = Trainer(config.model, config.train, ALONE)  # the same weights
        trainer.config = config.train.model_copy(update={"seed": seed})
        losses.append(trainer.update(first, 1).loss)
    assert losses[0] != losses[1]


def twins(step: StepBatches, rows: int, batches: int) -> StepBatches:
    """A step of equal batches of equal pairs."""
    pair = lone(step.batches[0])
    plan = replace(pair.plan, **{name: getattr(pair.plan, name).repeat(rows) for name in _LISTS})
    batch = replace(pair, plan=plan, source_BS=pair.source_BS.repeat(rows, 1), target_BT=pair.target_BT.repeat(rows, 1))
    tokens = {side: batches * getattr(plan, side) for side in ("source_tokens", "target_tokens")}
    return replace(step, batches=(batch,) * batches, **tokens)


def lost(trainer: Trainer, step: StepBatches, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The loss of each part of a step, in the order in which they are summed."""
    found: list[tuple[float, float]] = []
    with monkeypatch.context() as patched:
        for name in ("_two_by_two", "_backward"):
            whole = getattr(Trainer, name)

            def noted(*given: Any, _name: str = name, _whole: Any = whole, **options: Any) -> Any:
                losses = _whole(*given, **options)
                found.extend(losses if _name == "_two_by_two" else [losses] if trainer.threads is None else [])
                return losses

            patched.setattr(Trainer, name, noted)
        trainer.update(step, 1)
    return [loss for loss, _ in found]


@pytest.mark.parametrize("threads", [True, False])
def test_no_two_parts_drop_the_same(
    config: Config, data: Prepared, threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two batches of two equal pairs, a pair in each part: four losses that differ by what is dropped alone."""
    config = settle(config, data)
    monkeypatch.setattr(STEP_PARTS, lambda batch, *_: [MicroBatch(*tensors) for tensors in batch.parts(2)])
    losses = {}
    for dropout in (0.0, 0.5):
        model = config.model.model_copy(update={"dropout": dropout})
        trainer = Trainer(model, config.train, ALONE)
        trainer.threads = TwoThreads() if threads else None
        losses[dropout] = lost(trainer, twins(steps(config, data, 1)[0], rows=2, batches=2), monkeypatch)
    assert [len(found) for found in losses.values()] == [4, 4]
    assert max(losses[0.0]) == pytest.approx(min(losses[0.0]))
    assert len(set(losses[0.5])) == 4


def test_a_batch_drops_the_same_whoever_has_it(config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two batches: alone with both, or as the second of two processes with one each."""
    config = settle(config, data)
    both = twins(steps(config, data, 1)[0], rows=1, batches=2)
    one = replace(both, batches=both.batches[:1])
    first, second = lost(Trainer(config.model, config.train, ALONE), both, monkeypatch)
    assert first != second
    for rank, expected in enumerate((first, second)):
        trainer = Trainer(config.model, config.train, ALONE)
        trainer.world = replace(ALONE, rank=rank, size=2)
        monkeypatch.setattr(World, "total", lambda _, values: values)
        assert lost(trainer, one, monkeypatch)[0] == pytest.approx(expected)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch in three parts, however small."""
    monkeypatch.setattr(STEP_PARTS, lambda batch, *_: [MicroBatch(*tensors) for tensors in batch.parts(3)])


def trained(config: Config, data: Prepared, *, threads: bool = True) -> tuple[list[Update], dict[str, torch.Tensor]]:
    trainer = Trainer(config.model, config.train, ALONE)
    trainer.threads = TwoThreads() if threads else None
    updates = [trainer.update(step, number) for number, step in enumerate(steps(config, data, 4, 2), 1)]
    return updates, trainer.weights()


def test_a_large_batch_is_computed_in_parts(config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settle(config, data)
    batch, most = steps(config, data, 1)[0].batches[0], config.train.batch_tokens
    assert len(micro_batches(batch, ALONE.device)) == 1
    tokens = max(batch.source_BS.numel(), batch.target_BT[:, 1:].numel())
    assert tokens <= most
    monkeypatch.setattr("regard.train.micro_batches.PART", tokens - 1)
    assert len(micro_batches(batch, ALONE.device)) == 2
    one, *again = micro_batches(lone(batch), ALONE.device, at_least=most)
    assert one.share == 1.0 and len(one.source_BS) == 1
    assert len(again) == 1 and not again[0].share, "as many passes as any batch may need"


def lone(batch: Batch) -> Batch:
    """The first pair of a batch."""
    plan = replace(batch.plan, **{name: getattr(batch.plan, name)[:1] for name in _LISTS})
    return replace(batch, plan=plan, source_BS=batch.source_BS[:1], target_BT=batch.target_BT[:1])


_LISTS = ("corpus_B", "index_B", "source_B", "target_B")


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("threads", [True, False])
def test_parts_make_the_gradient_of_the_whole(
    config: Config, data: Prepared, request: pytest.FixtureRequest, threads: bool
) -> None:
    config = still(config, data)
    whole, weights = trained(config, data, threads=False)
    request.getfixturevalue("parts")
    updates, again = trained(config, data, threads=threads)
    assert [update.loss for update in updates] == pytest.approx([update.loss for update in whole], rel=1e-9)
    for name, tensor in weights.items():
        torch.testing.assert_close(again[name], tensor)


@pytest.mark.usefixtures("parts")
def test_two_threads_make_the_same_bits_each_time(config: Config, data: Prepared) -> None:
    """Dropout is on: what one thread draws must not depend on how far the other has come, nor any sum of gradients."""
    config = settle(config, data)
    updates, weights = trained(config, data)
    for _ in range(5):
        again, same = trained(config, data)
        assert again == updates
        assert all(torch.equal(tensor, same[name]) for name, tensor in weights.items())


@pytest.mark.usefixtures("parts")
def test_parts_one_after_the_other_drop_the_same(config: Config, data: Prepared) -> None:
    """As each of several processes has them."""
    config = settle(config, data)
    for one, other in zip(trained(config, data)[0], trained(config, data, threads=False)[0], strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-5)


@pytest.mark.usefixtures("parts")
def test_threads_leave_torch_as_it_was(config: Config, data: Prepared) -> None:
    cores = torch.get_num_threads()
    trained(settle(config, data), data)
    with ThreadPoolExecutor(1) as later:
        assert torch.get_num_threads() == later.submit(torch.get_num_threads).result() == cores
    torch.manual_seed(1)
    drawn = keep_scale(torch.Size([64]), 0.5)
    torch.manual_seed(1)
    assert torch.equal(keep_scale(torch.Size([64]), 0.5), drawn), "this thread draws from torch's generator again"


@pytest.mark.usefixtures("parts")
def test_an_error_in_a_thread_is_seen(config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Objective, "forward", fails)
    with pytest.raises(MemoryError):
        trained(settle(config, data), data)


def test_training_imports_no_compiler_and_no_sharding(config: Config, digits: Path, tmp_path: Path) -> None:
    """They take a second and over 100 MB."""
    code = """
import sys
from pathlib import Path
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.train.loop import train
train(Config.model_validate_json(sys.argv[1]), Prepared.open(Path(sys.argv[2])), Path(sys.argv[3]))
print([name for name in sys.modules if name in sys.argv])
"""
    one = settle(config, Prepared.open(digits))
    one = one.model_copy(update={"train": one.train.model_copy(update={"steps": 1})})
    unwanted = ["torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor", "sympy"]
    command = [sys.executable, "-c", code, one.model_dump_json(), str(digits), str(tmp_path / "run"), *unwanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("name", "layers", "precision", "two"),
    [
        ("lstm-attention", 1, "float32", True),
        ("lstm-attention", 2, "float32", False),
        ("gru-attention", 1, "bf16", False),
    ],
)
def test_recurrent_layers_make_the_same_bits_each_time(
    config: Config, data: Prepared, name: str, layers: int, precision: str, two: bool
) -> None:
    model = preset(name).model
    model = model.model_copy(update={"d_model": 16, "encoder_layers": layers, "decoder_layers": layers})
    config = settle(config.model_copy(update={"model": model}), data)
    config = config.model_copy(update={"train": config.train.model_copy(update={"precision": precision})})
    runs: list[Any] = []
    for _ in range(3):
        trainer = Trainer(config.model, config.train, ALONE)
        assert (trainer.threads is not None) == (two and torch.get_num_threads() % 2 == 0)
        torch.rand(len(runs))
        runs.append([trainer.update(step, number) for number, step in enumerate(steps(config, data, 2, 2), 1)])
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("known", [True, False])
def test_an_lstm_in_bf16_needs_a_processor_that_knows_it(
    config: Config, data: Prepared, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.train.step.knows_bf16", lambda _: known)
    train = config.train.model_copy(update={"precision": "bf16"})
    with nullcontext() if known else pytest.raises(UserError, match="bfloat16.*leave it out"):
        Trainer(preset("lstm", model={"vocabulary": 30, "d_model": 8}).model, train, ALONE)
    Trainer(preset("gru", model={"vocabulary": 30, "d_model": 8}).model, train, ALONE)


def test_bf16_autocast_trains(config: Config, data: Prepared) -> None:
    config = still(config, data, precision="bf16")
    trainer = Trainer(config.model, config.train, ALONE)
    plain = Trainer(config.model, still(config, data, precision="float32").train, ALONE)
    step = steps(config, data, 1)[0]
    rough, exact = trainer.update(step, 1), plain.update(step, 1)
    assert rough.taken and rough.loss == pytest.approx(exact.loss, rel=0.02)
    assert all(tensor.dtype == torch.float32 for tensor in trainer.weights().values())


def test_backward_is_not_under_autocast(config: Config, data: Prepared) -> None:
    """Where it would round the gradients of what forward keeps in 32 bits, such as a state-space layer's kernels."""
    config = still(config, data, precision="bf16")
    trainer = Trainer(config.model, config.train, ALONE)
    seen = []
    for parameter in trainer.parameters.values():
        parameter.register_hook(lambda _: seen.append(torch.is_autocast_enabled("cpu")))
    trainer.update(steps(config, data, 1)[0], 1)
    assert seen and not any(seen)


@pytest.mark.skipif(platform.machine() != "x86_64" or not CPU.exists(), reason="another kind of processor")
def test_a_processor_without_avx512_does_not_know_bfloat16() -> None:
    if not re.search("avx512|avx_ne_convert", CPU.read_text()):
        assert not knows_bf16(torch.device("cpu"))
    elif "avx512_bf16" in CPU.read_text():
        assert knows_bf16(torch.device("cpu"))


def test_restore_is_exact(config: Config, data: Prepared) -> None:
    config = settle(config, data)
    one = Trainer(config.model, config.train, ALONE)
    todo = steps(config, data, 5)
    for number, step in enumerate(todo[:3], 1):
        one.update(step, number)
    two = Trainer(config.model, config.train, ALONE)
    copies = [{name: tensor.clone() for name, tensor in part.items()} for part in (one.weights(), one.tensors())]
    two.restore(copies[0], copies[1], 3)
    for number, step in enumerate(todo[3:], 4):
        assert replace(one.update(step, number)) == two.update(step, number)
    assert all(torch.equal(tensor, two.weights()[name]) for name, tensor in one.weights().items())
