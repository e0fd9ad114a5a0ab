import math

import pytest

from regard.config.train import TrainConfig
from regard.train.optimizer.schedule import rate


@pytest.mark.parametrize("step", [1, 10, 3999, 4000, 4001, 100_000])
def test_the_papers_schedule(step: int) -> None:
    """Equation 3."""
    assert rate(step, TrainConfig(), 512) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))


def test_inverse_square_root_peaks_at_the_end_of_the_warmup() -> None:
    config = TrainConfig(schedule="inverse-sqrt", peak_rate=0.005, warmup=2000)
    assert rate(1000, config, 128) == pytest.approx(0.0025)
    assert rate(2000, config, 128) == pytest.approx(0.005)
    assert rate(8000, config, 128) == pytest.approx(0.0025)


def test_cosine_ends_at_zero() -> None:
    config = TrainConfig(schedule="cosine", peak_rate=1.0, warmup=10, steps=110)
    assert rate(10, config, 1) == pytest.approx(1.0)
    assert rate(60, config, 1) == pytest.approx(0.5)
    assert rate(110, config, 1) == pytest.approx(0.0)
    assert rate(35, config, 1) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))


def test_cosine_follows_the_clock_of_a_slow_run() -> None:
    config = TrainConfig(schedule="cosine", peak_rate=1.0, warmup=10, steps=110)
    assert rate(60, config, 1, time=0.4) == rate(60, config, 1), "in time: the steps count"
    assert rate(35, config, 1, time=0.75) == pytest.approx(0.5 * (1 + math.cos(0.75 * math.pi)))
    assert rate(35, config, 1, time=1.5) == pytest.approx(0.0)
    assert rate(5, config, 1, time=0.9) == pytest.approx(0.5), "the warmup goes by steps"
    assert rate(5, TrainConfig(), 512, time=0.9) == rate(5, TrainConfig(), 512)


def test_constant_and_no_warmup() -> None:
    config = TrainConfig(schedule="constant", peak_rate=0.1, warmup=0)
    assert {rate(step, config, 1) for step in (1, 2, 1000)} == {0.1}
    assert rate(1, TrainConfig(warmup=0), 4) == pytest.approx(0.5)
