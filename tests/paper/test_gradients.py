"""How far back a gradient reaches: eigenvalues, clipping, and the gradient of a position by its embedding."""

from collections.abc import Iterator

import pytest
import torch

from regard.config.presets import preset
from regard.config.special_tokens import BOS
from regard.model.build import build
from regard.paper.gradients import SIZE, SMALL, SOURCE, parameter_norm, reach, recurrence, source_reach, states


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        yield


@pytest.mark.parametrize("value", [0.8, 1.2])
def test_gradient_goes_with_the_power_of_the_largest_eigenvalue(value: float) -> None:
    norms = reach(states(recurrence(value)), 60, SMALL)
    assert norms[0] == 1
    assert (norms[50] / norms[30]) ** (1 / 20) == pytest.approx(value, rel=0.02)


def test_largest_eigenvalue_is_what_was_asked_for() -> None:
    largest = torch.linalg.eigvals(recurrence(0.95).weight_hh_l0.detach()).abs().max()
    assert float(largest) == pytest.approx(0.95, rel=1e-4)


def test_distance_is_counted_from_the_last_position() -> None:
    """Of a layer that copies each input to the position three later, all the gradient is at distance three."""
    norms = reach(lambda x_BND: torch.roll(x_BND, 3, dims=1) + 1e-3 * x_BND, 8, 1.0)
    assert norms[3] == pytest.approx(1000, rel=1e-3)
    assert [norm for at, norm in enumerate(norms) if at not in (0, 3)] == [0] * 6


def test_clipping_limits_what_explodes_and_leaves_the_rest() -> None:
    exploding, vanishing = recurrence(1.2), recurrence(0.8)
    assert parameter_norm(exploding, 50) > 100
    assert parameter_norm(exploding, 50, clip=5.0) == pytest.approx(5.0, rel=1e-3)
    assert parameter_norm(vanishing, 50) < 5
    assert parameter_norm(vanishing, 50, clip=5.0) == pytest.approx(parameter_norm(vanishing, 50), rel=1e-3)


def test_gradient_of_a_source_position_by_finite_differences() -> None:
    """Moving the embedding of a token moves the output as far as the gradient says: largest where it is largest."""
    config = preset("rnn", model={"vocabulary": SOURCE + 10, "d_model": SIZE}).model
    model = build(config).eval()
    norms = source_reach(model)
    table = next(one for name, one in model.named_parameters() if "embed" in name)
    source = torch.arange(model.vocabulary - SOURCE, model.vocabulary)[None]

    def moved(position: int) -> float:
        with torch.no_grad():
            before, step = model.features(source, torch.tensor([[BOS]])), torch.randn(table.shape[1])
            table[source[0, position]] += step
            after = model.features(source, torch.tensor([[BOS]]))
            table[source[0, position]] -= step
        return float((after - before).norm())

    assert max(norms) == 1 and len(norms) == SOURCE
    near, far = moved(SOURCE - 1), moved(SOURCE // 2)
    assert norms[SOURCE // 2] < 1e-6 * norms[SOURCE - 1] and far < 1e-3 * near
