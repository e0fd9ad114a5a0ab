"""Table 3: variations of the base model (section 6.2), all trained at the same scale and with the same seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from regard.code_version import MEASURING, code_version
from regard.config.checked import Frozen, check, nearest
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.files import read_json, write_bytes, write_json
from regard.paper.experiment import FIGURES, Figures, Outcome, Row, Sample, Sections, Warn, Watch, known, run_rows
from regard.paper.plots import draw_differences
from regard.paper.table3.findings import BASE, Finding, group
from regard.paper.table3.report import as_markdown, differences, reported, run_name
from regard.train.run import settle

Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Scale(Frozen):
    """The settings of a scale: for all rows, and on top of them for single rows."""

    set: Sections = Field(default_factory=dict)
    rows: dict[str, Sections] = Field(default_factory=dict)


class Table3(Frozen):
    """The plan of the experiment: the content of table3.toml."""

    rows: tuple[str, ...]
    """Presets, in the order of the table."""
    order: tuple[str, ...] = ()
    """The rows that are trained first; the others follow."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    """Seeds of every row."""
    base_seeds: tuple[Seed, ...] = ()
    """Further seeds of base."""
    margin: Annotated[float, Field(gt=0)] = 2.0
    """The difference that still counts as the same, in percent of perplexity."""
    set: Sections = Field(default_factory=dict)
    scales: dict[str, Scale]
    findings: tuple[Finding, ...] = ()


def rows_at(experiment: Table3, scale: str) -> list[Row]:
    """Return every run of the table at a scale, a row for each of its seeds."""
    if scale not in experiment.scales:
        known_ones = list(experiment.scales)
        raise UserError(f"no scale is called {scale!r}{nearest(scale, known_ones)}; there are {', '.join(known_ones)}")
    chosen_scale = experiment.scales[scale]
    for name in chosen_scale.rows:
        if name not in experiment.rows:
            raise UserError(f"the scale {scale} has settings for {name!r}, which is not one of the rows")
    runs = []
    for name in experiment.rows:
        changes: Sections = {}
        for given in (experiment.set, chosen_scale.set, chosen_scale.rows.get(name, {})):
            for section, values in given.items():
                changes[section] = {**changes.get(section, {}), **values}
        for seed in (*experiment.seeds, *(experiment.base_seeds if name == BASE else ())):
            seeded = {**changes, "train": {**changes.get("train", {}), "seed": seed}}
            runs.append(Row(run_name(name, seed), preset(name, **seeded)))
    return runs


def chosen(runs: Sequence[Row], rows: Sequence[str], seeds: Sequence[int]) -> list[Row]:
    """Return the runs of the given rows or groups of rows, with the given seeds. Without names or seeds, all."""
    names = {run.name: {row_of(run), group(row_of(run))} for run in runs}
    _check_known("row", rows, sorted(set().union(*names.values())))
    _check_known("seed", [str(seed) for seed in seeds], [str(s) for s in sorted({seed_of(run) for run in runs})])
    return [run for run in runs if (not rows or names[run.name] & set(rows)) and (not seeds or seed_of(run) in seeds)]


def in_order(experiment: Table3, runs: Sequence[Row]) -> list[Row]:
    """Return runs in the order in which they are trained: rows by the plan, and each row's seeds together."""
    _check_known("row", experiment.order, experiment.rows)
    order = [*experiment.order, *experiment.rows]
    return sorted(runs, key=lambda run: order.index(row_of(run)))


def _check_known(kind: str, wanted: Sequence[str], there: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            raise UserError(f"no {kind} is called {name!r}{nearest(name, list(there))}; there are {', '.join(there)}")


def row_of(run: Row) -> str:
    return run.name.removesuffix(run_name("", seed_of(run)))


def seed_of(run: Row) -> int:
    return run.config.train.seed


def run_table3(
    experiment: Table3,
    scale: str,
    data: Prepared,
    out: Path,
    sample: Sample,
    watch: Watch,
    warn: Warn,
    *,
    rows: Sequence[str] = (),
    seeds: Sequence[int] = (),
    fresh: bool = False,
) -> dict[str, Any]:
    """Train and measure the requested runs, and report all finished ones in table3.md, table3.json and table3.svg."""
    every = rows_at(experiment, scale)
    wanted = in_order(experiment, chosen(every, rows, seeds))
    ran = run_rows(wanted, data, out, sample, watch, warn, fresh=fresh)
    outcomes = _done([run for run in every if run not in wanted], data, out, sample, warn) | ran
    report = _report(experiment, scale, every, outcomes, str(data.directory), code_version(MEASURING), sample.name)
    write_json(out / "table3.json", report)
    write_bytes(out / "table3.md", as_markdown(report).encode())
    if rows_beside_base := differences(report):
        draw_differences(out / "table3.svg", rows_beside_base, experiment.margin)
    return report


def _done(runs: Sequence[Row], data: Prepared, out: Path, sample: Sample, warn: Warn) -> dict[str, Outcome]:
    found = {run.name: known(out / run.name / FIGURES, settle(run.config, data), data, sample, warn) for run in runs}
    return {name: figures for name, figures in found.items() if figures is not None}


def report_table3(experiment: Table3, scale: str, results: Path) -> dict[str, Any]:
    """Judge finished runs by their figures in a folder, one ROW-seedN.json each, all of the plan and of one code."""
    every, outcomes = rows_at(experiment, scale), dict[str, Outcome]()
    first: Figures | None = None
    for run in every:
        path = results / f"{run.name}.json"
        if not path.exists():
            continue
        figures = check(Figures, read_json(path), str(path))
        first = first or figures
        if figures.config.train != run.config.train or _sizes(figures.config) != _sizes(run.config):
            raise UserError(f"{path}: was trained with other settings than the plan's; take it out, or give its plan")
        for what, one, other in (
            ("code", figures.code, first.code),
            ("data", figures.data, first.data),
            ("test sets", figures.sample, first.sample),
        ):
            if one != other:
                raise UserError(f"{path}: is of other {what} than the runs before it; judge them apart")
        outcomes[run.name] = figures
    if first is None:
        raise UserError(f"{results}: has no figures of a run of this table, such as {every[0].name}.json")
    return _report(experiment, scale, every, outcomes, str(results), first.code, first.measured_on)


def _sizes(config: Config) -> dict[str, Any]:
    """Return a model's settings without those of the vocabularies, which the data determines."""
    return config.model.model_dump(exclude={"vocabulary", "source_vocabulary", "share_embeddings"})


def _report(
    experiment: Table3,
    scale: str,
    every: Sequence[Row],
    outcomes: Mapping[str, Outcome],
    data: str,
    code: str,
    measured_on: str,
) -> dict[str, Any]:
    runs = [(row_of(run), seed_of(run)) for run in every]
    return {
        "scale": scale,
        "data": data,
        "code": code,
        "measured_on": measured_on,
        "first": every[0].config.model_dump(),
        "margin": experiment.margin,
        **reported(experiment.findings, experiment.margin, runs, outcomes),
    }
