"""The plan of Table 2's experiment: which systems are trained, how large they are, and for how long."""

from bisect import bisect_left
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from regard.config.checked import Count, Frozen, nearest
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.cost import cost
from regard.paper.experiment import Sections, merged
from regard.train.run import settle

WIDTHS = range(8, 8192, 4)  # candidates for d_model


class System(Frozen):
    """A row of the table."""

    name: str
    preset: str
    published: str | None = None
    """Its name in the paper's Table 2."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    rates: Annotated[tuple[float, ...], Field(min_length=1)]
    """Highest learning rates to choose from."""
    refines: str | None = None
    """The system whose trained models it continues with other settings, such as another objective."""
    as_large: bool = True
    """Choose d_model so that it has as many parameters as the baseline."""
    ensemble: str | None = None
    """The name in the paper's Table 2 of an ensemble of all its seeds."""
    set: Sections = Field(default_factory=dict)


class Table2(Frozen):
    """The content of table2.toml. The first system is the baseline."""

    steps: Count
    """Number of updates in the comparison after the same tokens. All systems see the same batches."""
    rate_share: Annotated[float, Field(gt=0, le=1)]
    """Part of the run that each learning rate is tried for."""
    systems: Annotated[tuple[System, ...], Field(min_length=1)]
    set: Sections = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [system.name for system in self.systems]
        if len(dict.fromkeys(names)) != len(names):
            raise ValueError("two systems have the same name; rename one")
        for number, system in enumerate(self.systems):
            if system.refines is not None and system.refines not in names[:number]:
                raise ValueError(f"{system.name} refines {system.refines}, which is not a system before it")
            if not number and (system.refines is not None or not system.as_large):
                raise ValueError(f"{system.name}: the first system is the baseline, of its own size, and refines none")
        return self

    def system(self, name: str) -> System:
        return next(system for system in self.systems if system.name == name)


def chosen_systems(plan: Table2, wanted: list[str]) -> list[System]:
    """Return the baseline, the wanted systems, or all if none is named, and those that they refine, in order."""
    names = [system.name for system in plan.systems]
    for name in wanted:
        if name not in names:
            raise UserError(f"no system here is called {name!r}{nearest(name, names)}; there are {', '.join(names)}")
    needed = {names[0], *wanted} if wanted else set(names)
    needed |= {system.refines for system in plan.systems if system.name in needed and system.refines is not None}
    return [system for system in plan.systems if system.name in needed]


def configurations(plan: Table2, data: Prepared) -> dict[str, Config]:
    """Return each system's settings, of the baseline's size unless it has its own."""
    found: dict[str, Config] = {}
    goal = 0
    for number, system in enumerate(plan.systems):
        config = settle(preset(system.preset, **merged(plan.set, system.set)), data)
        if system.refines is None:
            config = with_train(config, steps=plan.steps)
        _check_schedule(system, config)
        if not number:
            goal = cost(config.model).parameters
        elif system.as_large:
            config = as_large(config, goal)
        found[system.name] = config
    return found


def as_large(config: Config, parameters: int) -> Config:
    """Return the configuration with the d_model whose number of parameters is nearest."""

    def missing(width: int) -> int:
        return parameters - cost(config.model.model_copy(update={"d_model": width})).parameters

    above = bisect_left(WIDTHS, 0, key=lambda width: -missing(width))
    width = min(WIDTHS[max(above - 1, 0) : above + 1], key=lambda width: abs(missing(width)))
    return config.model_copy(update={"model": config.model.model_copy(update={"d_model": width})})


def _check_schedule(system: System, config: Config) -> None:
    if config.train.schedule == "cosine":
        raise UserError(f"{system.name}: a cosine ends at a step known before; choose another train.schedule")
    if config.train.steps % config.train.checkpoint_every or config.train.checkpoint_every % config.train.log_every:
        raise UserError(
            f"{system.name}: checkpoints have to be at lines of the log, and the last step at a checkpoint; change "
            "steps, train.checkpoint_every or train.log_every"
        )
    if config.train.peak_rate is None:
        raise UserError(f"{system.name}: the paper's schedule has no rate to choose; set train.schedule=inverse-sqrt")


def with_train(config: Config, **settings: Any) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update=settings)})
