"""The plan of the experiment on later architectures: which models are trained, and how they are measured."""

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from regard.config.checked import Count, Frozen, nearest
from regard.config.decode import Decoding
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.cost import cost
from regard.paper.experiment import Sections, merged
from regard.paper.systems.plan import as_large
from regard.train.run import settle


class Writing(Frozen):
    """A way in which a model writes the test sentences."""

    decoding: Decoding = "search"
    iterations: Annotated[int, Field(ge=1, le=1000)] | None = None
    beam: Count | None = None

    @property
    def name(self) -> str:
        passes = f"{self.iterations} iteration{'s' if self.iterations > 1 else ''}" if self.iterations else ""
        details = [f"beam {self.beam}" if self.beam else "", passes]
        return ", ".join(part for part in (self.decoding, *details) if part)


class LaterRow(Frozen):
    """A model that translates."""

    name: str
    preset: str
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    writings: Annotated[tuple[Writing, ...], Field(min_length=1)] = (Writing(beam=1),)
    distilled: bool = False
    """Train on the data of --distilled: the same sources with another model's translations."""
    heads_for: str | None = None
    """The row to whose trained model heads for blockwise decoding are given."""
    set: Sections = Field(default_factory=dict)


class ListOps(Frozen):
    """The task over length: the value of a nested expression (Nangia and Bowman, 2018; Tay et al., 2021)."""

    lengths: Annotated[tuple[Annotated[int, Field(ge=16, le=1 << 16)], ...], Field(min_length=1)]
    """Most tokens of an expression; the least is half of it."""
    train: Count
    test: Count
    tokens: Count
    """Tokens that each model reads in training, at every length."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    mixings: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    """Sections of each model, by name."""
    set: Sections = Field(default_factory=dict)

    def batch_tokens(self, length: int) -> int:
        """Return the tokens of a batch: at least 8 of the longest expressions."""
        return max(4096, 8 * length)

    def steps(self, length: int) -> int:
        """Return the updates that read so many tokens, but for padding."""
        return max(1, self.tokens // self.batch_tokens(length))


class Later(Frozen):
    """The content of later.toml. The first row is the baseline: the others have as many parameters."""

    steps: Count
    """Number of updates of every row; all see the same batches."""
    rule: str
    """The rule by which differences are judged, fixed before the runs."""
    rows: Annotated[tuple[LaterRow, ...], Field(min_length=1)]
    listops: ListOps | None = None
    set: Sections = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [row.name for row in self.rows]
        if len(set(names)) != len(names):
            raise ValueError("two rows have the same name; rename one")
        for number, row in enumerate(self.rows):
            if row.heads_for is None:
                continue
            if row.heads_for not in names[:number]:
                raise ValueError(f"{row.name} gives heads to {row.heads_for}, which is not a row before it")
            if not set(row.seeds) <= set(self.rows[names.index(row.heads_for)].seeds):
                raise ValueError(f"{row.name} has seeds that {row.heads_for} lacks, to which it gives heads")
        return self


class TranslationRun(NamedTuple):
    """A row trained with a seed."""

    row: LaterRow
    seed: int

    @property
    def name(self) -> str:
        return f"{self.row.name}-{self.seed}"

    @property
    def groups(self) -> tuple[str, ...]:
        """The names by which it can be asked for together with others."""
        return (self.row.name,)

    @property
    def start(self) -> str | None:
        """The name of the run to whose model this one gives heads."""
        return None if self.row.heads_for is None else f"{self.row.heads_for}-{self.seed}"


class ListOpsRun(NamedTuple):
    """A model trained on expressions of a length."""

    length: int
    seed: int
    model: str

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}"

    @property
    def data(self) -> str:
        """The name of the expressions, which several models share."""
        return f"listops-{self.length}-{self.seed}"

    @property
    def groups(self) -> tuple[str, ...]:
        return ("listops", f"listops-{self.length}", self.data)


AnyRun = TranslationRun | ListOpsRun


def runs_of(plan: Later) -> list[AnyRun]:
    """Return all runs of a plan, in its order."""
    translation = [TranslationRun(row, seed) for row in plan.rows for seed in row.seeds]
    if plan.listops is None:
        return [*translation]
    task = plan.listops
    return [*translation, *(ListOpsRun(*it) for it in product(task.lengths, task.seeds, task.mixings))]


def chosen_runs(plan: Later, wanted: Sequence[str]) -> list[AnyRun]:
    """Return the runs that are called so, or all if none is named, and those that they give heads to, in order."""
    runs = runs_of(plan)
    names = dict.fromkeys(name for run in runs for name in (*run.groups, run.name))
    for name in wanted:
        if name not in names:
            groups = ", ".join(dict.fromkeys(run.groups[0] for run in runs))
            raise UserError(f"no row here is called {name!r}{nearest(name, list(names))}; there are {groups}")
    asked = [run for run in runs if not wanted or {run.name, *run.groups} & set(wanted)]
    needed = {(run.row.heads_for, run.seed) for run in asked if isinstance(run, TranslationRun)}
    return [
        run for run in runs if run in asked or (isinstance(run, TranslationRun) and (run.row.name, run.seed) in needed)
    ]


def configuration(plan: Later, row: LaterRow, seed: int, data: Prepared) -> Config:
    """Return the settings of a row's run: as many parameters as the baseline, the plan's steps, a seed."""
    first = plan.rows[0]
    own: Sections = {"train": {"steps": plan.steps, "seed": seed}}
    if row.heads_for is not None:
        return preset(row.preset, **merged(plan.set, row.set, own))
    config = settle(preset(row.preset, **merged(plan.set, row.set, own)), data)
    if row is first:
        return config
    goal = cost(settle(preset(first.preset, **merged(plan.set, first.set)), data).model).parameters
    return as_large(config, goal)
