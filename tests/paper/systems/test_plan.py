"""The plan of Table 2: the committed one, sizes, and mistakes."""

from typing import Any

import pytest
from pydantic import ValidationError

from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.cost import cost
from regard.paper.experiment import read_experiment
from regard.paper.published import published
from regard.paper.systems.plan import Table2, chosen_systems, configurations

SYSTEM: dict[str, Any] = {"name": "transformer", "preset": "tiny", "rates": [0.1]}


def plan_of(*systems: dict[str, Any], **more: Any) -> Table2:
    return Table2.model_validate({"steps": 2000, "rate_share": 0.2, "systems": systems, **more})


@pytest.fixture(scope="module")
def committed() -> Table2:
    return read_experiment(Table2, "table2", None)


def test_every_published_system_is_in_the_plan(committed: Table2) -> None:
    names = {row.model for row in published().table2}
    planned = {system.published for system in committed.systems} | {system.ensemble for system in committed.systems}
    assert planned - {None} == names
    assert all(len(system.rates) == 3 for system in committed.systems)
    assert all(len(system.seeds) == 3 for system in committed.systems if system.ensemble is not None)


def test_systems_have_the_parameters_of_the_baseline(committed: Table2, data: Prepared) -> None:
    configs = configurations(committed, data)
    goal = cost(configs["transformer"].model).parameters
    for system in committed.systems:
        config = configs[system.name]
        if system.as_large:
            assert cost(config.model).parameters == pytest.approx(goal, rel=0.08), system.name
        assert config.train.average_last == 10 and config.train.batch_tokens == 2048
        assert config.train.steps == (6500 if system.refines is None else 300)
    assert cost(configs["transformer-big"].model).parameters > 3 * goal
    assert configs["gnmt-rl"].model == configs["gnmt"].model and configs["gnmt-rl"].train.objective == "reward"


def test_what_a_system_refines_is_run_with_it(committed: Table2) -> None:
    names = [system.name for system in chosen_systems(committed, ["gnmt-rl"])]
    assert names == ["transformer", "gnmt", "gnmt-rl"]
    assert len(chosen_systems(committed, [])) == len(committed.systems)
    with pytest.raises(UserError, match=r"no system here is called 'gnnt', did you mean 'gnmt'|called 'gnnt'"):
        chosen_systems(committed, ["gnnt"])


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ([SYSTEM, SYSTEM], "two systems have the same name"),
        ([SYSTEM, {**SYSTEM, "name": "b", "refines": "c"}], "b refines c, which is not a system before it"),
        ([{**SYSTEM, "as_large": False}], "the first system is the baseline"),
        ([{**SYSTEM, "rates": []}], "at least 1 item"),
        ([], "at least 1 item"),
    ],
)
def test_a_mistake_in_a_plan_is_named(systems: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        plan_of(*systems)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": "cosine"}, "choose another train.schedule"),
        ({"schedule": "paper", "peak_rate": None}, "has no rate to choose"),
        ({"checkpoint_every": 300}, "the last step at a checkpoint"),
        ({"log_every": 30}, "checkpoints have to be at lines of the log"),
    ],
)
def test_a_schedule_that_cannot_be_compared_is_refused(changes: dict[str, Any], message: str, data: Prepared) -> None:
    with pytest.raises(UserError, match=message):
        configurations(plan_of(SYSTEM, set={"train": changes}), data)
