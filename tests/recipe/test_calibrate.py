"""The speed of this machine is measured in a bounded number of steps and in a bounded time."""

import pytest

from regard.data.batches import StepBatches
from regard.data.prepared import Prepared
from regard.recipe.calibrate import FIRST, STEPS, tokens_per_second
from regard.train.step import Trainer

SMALL = {"model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}}


class Machine:
    """A clock, and steps that take so many of its seconds each."""

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.now, self.steps = seconds, 0.0, list[StepBatches]()

    def clock(self) -> float:
        return self.now

    def update(self, _: Trainer, step: StepBatches, number: int) -> None:
        assert number == len(self.steps) + 1
        self.now += self.seconds[min(number, len(self.seconds)) - 1]
        self.steps.append(step)

    def measured(self, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> float:
        monkeypatch.setattr(Trainer, "update", lambda trainer, *given, **_: self.update(trainer, *given))
        return tokens_per_second(data, "tiny", SMALL, seconds=2.0, clock=self.clock)

    def tokens(self, first: int = 0) -> int:
        return sum(step.source_tokens + step.target_tokens for step in self.steps[first:])


@pytest.mark.parametrize(
    ("seconds", "steps", "counted"),
    [
        ((0.01,), FIRST + STEPS, STEPS),  # a fast machine: enough steps
        ((1.5, 0.5), FIRST + 5, 5),  # the first step, which is slow, does not count; then the seconds are over
        ((600.0,), 1, 1),  # no time: one step, which counts
        ((1.0, 600.0), 2, 1),
    ],
)
def test_measuring_ends(
    data: Prepared, monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], steps: int, counted: int
) -> None:
    machine = Machine(*seconds)
    rate = machine.measured(data, monkeypatch)
    assert len(machine.steps) == steps
    taken = counted * seconds[-1]
    assert rate == pytest.approx(machine.tokens(steps - counted) / taken)


def test_real_steps(data: Prepared) -> None:
    ticks = iter(range(1000))
    rate = tokens_per_second(data, "tiny", SMALL, seconds=0.5, clock=lambda: float(next(ticks)))
    assert rate > 0
