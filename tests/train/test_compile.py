"""`train.compile`: the objective goes through torch.compile, and a step does what it does without."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.support.training import ALONE, steps
from torch import Tensor

from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.train.run import settle
from regard.train.step import Trainer, Update


def trained(config: Config, data: Prepared, *, compiled: bool, count: int) -> tuple[list[Update], dict[str, Tensor]]:
    config = settle(config, data)
    trainer = Trainer(config.model, config.train.model_copy(update={"compile": compiled}), ALONE)
    updates = [trainer.update(step, number) for number, step in enumerate(steps(config, data, count, 2), 1)]
    return updates, trainer.weights()


def check_alike(config: Config, data: Prepared, count: int) -> None:
    """The same losses, gradients and weights, but for rounding."""
    plain, weights = trained(config, data, compiled=False, count=count)
    updates, again = trained(config, data, compiled=True, count=count)
    assert all(update.taken for update in updates)
    assert [update.loss for update in updates] == pytest.approx([update.loss for update in plain], rel=1e-4)
    assert [update.norm for update in updates] == pytest.approx([update.norm for update in plain], rel=1e-3)
    for name, tensor in weights.items():
        if not name.endswith("key.bias"):  # whose gradient is 0 but for rounding, which Adam makes a step of
            torch.testing.assert_close(again[name], tensor, atol=1e-3, rtol=1e-3)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> tuple[list[dict[str, Any]], list[torch.Size]]:
    """In the place of torch.compile, which takes 20 seconds: what it was asked for, and the calls of what it made."""
    asked: list[dict[str, Any]] = []
    calls: list[torch.Size] = []

    def compile_(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        asked.append(options)

        def called(source: Tensor, target: Tensor, weight: Tensor | None = None) -> Any:
            calls.append(source.shape)
            return function(source, target, weight)

        return called

    monkeypatch.setattr(torch, "compile", compile_)
    return asked, calls


def test_every_part_goes_through_what_was_compiled(
    config: Config, data: Prepared, compiled: tuple[list[dict[str, Any]], list[torch.Size]]
) -> None:
    """Compiled once for any sizes; without train.compile, not at all."""
    asked, calls = compiled
    check_alike(config, data, 2)
    assert asked == [{"dynamic": True}]
    assert len(calls) == 4 and len(set(calls)) > 1, "two steps of two batches, of different sizes"


@pytest.mark.usefixtures("compiled")
def test_no_two_threads_share_what_was_compiled(
    config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settle(config, data)
    for compiles in (False, True):
        trainer = Trainer(config.model, config.train.model_copy(update={"compile": compiles}), ALONE)
        with monkeypatch.context() as patched:
            patched.setattr(torch, "get_num_threads", lambda: 2)
            assert trainer._can_use_two_threads(trainer.model) != compiles


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the compiler itself
@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="needs a C++ compiler")
def test_compiled_kernels_make_the_same_steps(config: Config, data: Prepared) -> None:
    import torch._dynamo  # a second and 70 MB, for this test alone

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    # Without dropout: on a CPU each is a break in the graph, and 20 parts take a compiler minutes.
    still = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})
    check_alike(still, data, 2)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0, "something was compiled"
