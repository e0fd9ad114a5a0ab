"""Table 3: variations of the base model (section 6.2), all trained at the same scale."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from regard.code_version import MEASURING, code_version
from regard.config.checked import Frozen, nearest
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.files import write_bytes, write_json
from regard.paper.experiment import FIGURES, Outcome, Row, Sample, Warn, Watch, known, run_rows, sample_of
from regard.paper.findings import Finding
from regard.paper.plots import draw_differences
from regard.paper.table3_report import BASE, as_markdown, differences, group, reported
from regard.train.run import settle

Sections = dict[str, dict[str, Any]]
"""Settings by section, as in a run file."""


class Scale(Frozen):
    """The changes that scale every row down alike."""

    divide: dict[str, dict[str, int]] = Field(default_factory=dict)
    set: Sections = Field(default_factory=dict)


class Table3(Frozen):
    """The content of table3.toml."""

    rows: tuple[str, ...]
    """Presets."""
    seeds: tuple[int, ...]
    """Seeds of base."""
    set: Sections = Field(default_factory=dict)
    scales: dict[str, Scale]
    findings: tuple[Finding, ...] = ()


def rows_at(experiment: Table3, scale: str) -> list[Row]:
    """Return every run of the table at a scale; base once for each seed."""
    if scale not in experiment.scales:
        known_ones = list(experiment.scales)
        raise UserError(f"no scale is called {scale!r}{nearest(scale, known_ones)}; there are {', '.join(known_ones)}")
    rows = []
    for name in experiment.rows:
        for seed in experiment.seeds if name == BASE else experiment.seeds[:1]:
            run = name if seed == experiment.seeds[0] else f"{name}-seed{seed}"
            rows.append(Row(run, scaled(name, experiment, experiment.scales[scale], seed)))
    return rows


def scaled(name: str, experiment: Table3, scale: Scale, seed: int) -> Config:
    """Return a row's settings at a scale: some divided, some replaced."""
    config = preset(name)
    changes: Sections = {"train": {"seed": seed}}
    for section, divisors in scale.divide.items():
        for key, divisor in divisors.items():
            value = getattr(getattr(config, section), key)
            if value % divisor:
                raise UserError(f"{name}: {section}.{key} is {value}, which can't be divided by {divisor}")
            changes.setdefault(section, {})[key] = value // divisor
    for given in (experiment.set, scale.set):
        for section, values in given.items():
            changes.setdefault(section, {}).update(values)
    return preset(name, **changes)


def chosen(rows: Sequence[Row], wanted: Sequence[str]) -> list[Row]:
    """Return the rows with the given names or groups; `base` means all its seeds. Without names, return all."""
    groups = {row.name: {row.name, group(row.name)} for row in rows}
    names = sorted(set().union(*groups.values()))
    for name in wanted:
        if name not in names:
            raise UserError(f"no row is called {name!r}{nearest(name, names)}; there are {', '.join(names)}")
    return [row for row in rows if not wanted or groups[row.name] & set(wanted)]


def run_table3(
    experiment: Table3,
    scale: str,
    data: Prepared,
    out: Path,
    wanted: Sequence[str],
    watch: Watch,
    warn: Warn,
    *,
    fresh: bool,
) -> dict[str, Any]:
    """Run the requested rows, and report all finished ones in table3.md, table3.json and table3.svg."""
    every = rows_at(experiment, scale)
    rows, sample = chosen(every, wanted), sample_of(data)
    ran = run_rows(rows, data, out, sample, watch, warn, fresh=fresh)
    outcomes = _done([row for row in every if row not in rows], data, out, sample, warn) | ran
    code = code_version(MEASURING)
    report = {
        "scale": scale,
        "data": str(data.directory),
        "code": code,
        **reported(experiment.findings, every, outcomes),
    }
    write_json(out / "table3.json", report)
    write_bytes(out / "table3.md", as_markdown(report).encode())
    if rows_beside_base := differences(report):
        draw_differences(out / "table3.svg", rows_beside_base)
    return report


def _done(rows: Sequence[Row], data: Prepared, out: Path, sample: Sample, warn: Warn) -> dict[str, Outcome]:
    found = {row.name: known(out / row.name / FIGURES, settle(row.config, data), data, sample, warn) for row in rows}
    return {name: figures for name, figures in found.items() if figures is not None}
