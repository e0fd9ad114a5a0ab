"""Table 4's semi-supervised row: a parser trained on gold trees alone, beside one trained on gold and silver trees."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from regard.code_version import MEASURING, code_version
from regard.config.checked import Frozen, check, nearest
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.presets import preset
from regard.config.run import Config
from regard.data.lines import shown, text_lines
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import Failed, UserError
from regard.evaluate.parser_report import measure_parser
from regard.files import read_json, write_bytes, write_json
from regard.paper.experiment import FIGURES, Sections, Warn, Watch, of_this_code, train_to_the_end
from regard.paper.markdown import table
from regard.paper.table3.paired import interval, pooled
from regard.text.trees import Tree, read_trees
from regard.train.run import MODEL, fingerprint, settle
from regard.translate.load import load_parser
from regard.translate.parser import ParseOptions

Kind = Literal["gold", "silver"]
Weight = Annotated[float, Field(gt=0)]


class Table4(Frozen):
    """The plan: the content of table4.toml."""

    preset: str
    vocabulary: int
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    arms: dict[str, dict[Kind, Weight]]
    """Passes of an epoch over each kind of trees, by arm; the other arms are compared with the first."""
    set: Sections = Field(default_factory=dict)


@dataclass(frozen=True)
class Trees:
    """The files of trees to train on, to validate with and to measure on."""

    gold: Sequence[str]
    silver: Sequence[str]
    valid: str
    test: str
    agreement: str


class ParserFigures(Frozen):
    """The results of one parser."""

    step: int
    seconds: float
    tokens: int
    test: dict[str, Any]
    """Figures on the gold test trees, as `regard evaluate --gold` computes them for the constrained search."""
    agreement: dict[str, Any]
    """The same on silver trees."""
    measured_on: str
    """Checksum of both sets of trees."""
    config: Config
    data: str
    code: str


def run_table4(
    plan: Table4,
    files: Trees,
    out: Path,
    watch: Watch,
    warn: Warn,
    *,
    arms: Sequence[str] = (),
    seeds: Sequence[int] = (),
    fresh: bool = False,
) -> dict[str, Any]:
    """Train and measure the requested parsers, and report all finished ones in semi-supervised.md and .json."""
    _check(plan, arms, seeds)
    test, agreement = ([*read_trees(text_lines(name), shown(name))] for name in (files.test, files.agreement))
    checksum = hashlib.sha256("\n".join(map(str, [*test, *agreement])).encode()).hexdigest()
    found: dict[str, dict[int, ParserFigures]] = {}
    failed: dict[str, str] = {}
    for arm in plan.arms:
        for seed in plan.seeds:
            name = f"{arm}-seed{seed}"
            wanted = arm in (arms or plan.arms) and seed in (seeds or plan.seeds)
            if not wanted and not (out / name / FIGURES).exists():
                continue
            data = prepared(plan, arm, files, out / "data" / arm)
            config = settle(preset(plan.preset, **_seeded(plan.set, seed)), data)
            figures = None if fresh and wanted else known_parser(out / name / FIGURES, config, data, checksum, warn)
            if figures is None and wanted:
                try:
                    with watch(name, config.train.steps, out / name) as observer:
                        last = train_to_the_end(config, data, out / name, observer, fresh=fresh)
                except Failed as failure:
                    failed[name] = str(failure)
                    continue
                figures = _measured(out / name, config, data, last, test, agreement, checksum)
                write_json(out / name / FIGURES, figures.model_dump(mode="json"))
            if figures is not None:
                found.setdefault(arm, {})[seed] = figures
    report = {"code": code_version(MEASURING), **reported(plan, found), "failed": failed}
    write_json(out / "semi-supervised.json", report)
    write_bytes(out / "semi-supervised.md", as_markdown(report).encode())
    return report


def _check(plan: Table4, arms: Sequence[str], seeds: Sequence[int]) -> None:
    for arm in arms:
        if arm not in plan.arms:
            raise UserError(
                f"no arm is called {arm!r}{nearest(arm, list(plan.arms))}; there are {', '.join(plan.arms)}"
            )
    for seed in seeds:
        if seed not in plan.seeds:
            raise UserError(f"{seed} is not one of the plan's seeds: {', '.join(map(str, plan.seeds))}")


def _seeded(given: Sections, seed: int) -> Sections:
    return {**given, "train": {**given.get("train", {}), "seed": seed}}


def prepared(plan: Table4, arm: str, files: Trees, folder: Path) -> Prepared:
    """Return an arm's data, prepared once."""
    if not folder.exists():
        kinds = {"gold": files.gold, "silver": files.silver}
        train = [
            CorpusConfig(files=(name,), weight=weight)
            for kind, weight in plan.arms[arm].items()
            for name in kinds[kind]
        ]
        config = PrepareConfig(task="parsing", vocabulary=plan.vocabulary, source_language="en")
        prepare(train, [CorpusConfig(files=(files.valid,))], folder, config)
    return Prepared.open(folder)


def known_parser(path: Path, config: Config, data: Prepared, measured_on: str, warn: Warn) -> ParserFigures | None:
    """Return the figures of a finished run if settings, data, trees and code version match."""
    if not path.exists():
        return None
    figures = check(ParserFigures, read_json(path), str(path))
    same = figures.config.model_dump(exclude={"data"}) == config.model_dump(exclude={"data"})
    if not same or (figures.data, figures.measured_on) != (fingerprint(data.directory), measured_on):
        return None
    return figures if of_this_code(path, figures.code, warn) else None


def _measured(
    run: Path,
    config: Config,
    data: Prepared,
    last: Mapping[str, Any],
    test: Sequence[Tree],
    agreement: Sequence[Tree],
    checksum: str,
) -> ParserFigures:
    parser = load_parser(run / MODEL, engine="torch")
    scores = [measure_parser(parser, trees, ParseOptions()).figures["constrained"] for trees in (test, agreement)]
    return ParserFigures(
        step=last["step"],
        seconds=last["seconds"],
        tokens=last["tokens"],
        test=scores[0],
        agreement=scores[1],
        measured_on=checksum,
        config=config,
        data=fingerprint(data.directory),
        code=code_version(MEASURING),
    )


def reported(plan: Table4, found: Mapping[str, Mapping[int, ParserFigures]]) -> dict[str, Any]:
    """Return each arm's runs, and each difference from the first arm with its 95 % interval."""
    first = next(iter(plan.arms))
    arms: dict[str, Any] = {}
    for arm, seeds in found.items():
        runs = [
            {
                "seed": seed,
                "f1": it.test["f1"],
                "agreement": it.agreement["f1"],
                "steps": it.step,
                "seconds": it.seconds,
            }
            for seed, it in seeds.items()
        ]
        means = {key: sum(run[key] for run in runs) / len(runs) for key in ("f1", "agreement")}
        arms[arm] = {**means, "weights": plan.arms[arm], "runs": runs}
    differences: dict[str, Any] = {}
    for key in ("f1", "agreement"):
        values = {arm: {run["seed"]: run[key] for run in one["runs"]} for arm, one in arms.items()}
        chance = pooled(values) if values else None
        for arm in values:
            between = None if arm == first or chance is None else interval(values, arm, first, chance)
            if between is not None:
                bounds = [between.low, between.high]
                differences.setdefault(arm, {})[key] = {"difference": between.difference, "interval": bounds}
    return {"arms": arms, "differences": differences}


def as_markdown(report: Mapping[str, Any]) -> str:
    """Return the arms and their differences as a Markdown page."""
    rows = [
        [arm, len(one["runs"]), f"{one['f1']:.1f}", f"{one['agreement']:.1f}", f"{_hours(one):.1f}"]
        for arm, one in report["arms"].items()
    ]
    lines = [
        "# Table 4's semi-supervised row",
        "",
        table(["trained on", "seeds", "F1 on gold", "agreement with silver", "hours"], rows),
        "",
    ]
    for arm, by in report["differences"].items():
        told = [
            f"{key} {one['difference']:+.1f} ({one['interval'][0]:+.1f} to {one['interval'][1]:+.1f})"
            for key, one in by.items()
        ]
        lines.append(f"{arm}, paired by seed, with 95 % intervals: {', '.join(told)}.")
    lines += [f"{name} failed: {reason}" for name, reason in report["failed"].items()]
    return "\n".join([*lines, f"Code: {report['code']}.", ""])


def _range(bounds: Sequence[float]) -> str:
    return f"{bounds[0]:+.1f} to {bounds[1]:+.1f}"


def _hours(one: Mapping[str, Any]) -> float:
    return sum(float(run["seconds"]) for run in one["runs"]) / 3600
