"""Report Table 2's experiment: each system beside its published figures, and against the baseline."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from regard.evaluate.bleu import compare
from regard.files import write_bytes, write_json
from regard.paper.experiment import Sample
from regard.paper.markdown import number, table
from regard.paper.plots import Length, draw_lengths, draw_losses
from regard.paper.published import PublishedTranslation, published
from regard.paper.systems.measure import Tested, kept_lines
from regard.paper.systems.plan import System, Table2
from regard.paper.systems.run import ENSEMBLE, TIME, TOKENS, Outcomes, SystemResult
from regard.train.log import records
from regard.train.run import LOG

HIDDEN = {"settings", "data", "sample", "signature", "measured_on", "code"}
MOMENTS = {"tokens": (TOKENS, "After the same tokens"), "time": (TIME, "After the same processor time")}


def write_table2(out: Path, plan: Table2, outcomes: Outcomes, sample: Sample) -> dict[str, Any]:
    """Write table2.json, table2.md and two figures; return the content of the first."""
    first = plan.systems[0]
    base = outcomes[first.name]
    assert isinstance(base, SystemResult)
    one = next(iter(base.tokens.values()))
    facts = {
        "baseline": first.name,
        "measured_on": one.measured_on,
        "sentences": len(sample.pairs),
        "signature": one.signature,
        "code": one.code,
    }
    rows = {name: _entry(out, plan, name, found, outcomes, sample) for name, found in outcomes.items()}
    missing = [system.name for system in plan.systems if system.name not in outcomes]
    report = {**facts, "steps": plan.steps, "systems": rows, "not_run": missing}
    write_json(out / "table2.json", report)
    write_bytes(out / "table2.md", as_markdown(report).encode())
    _draw(out, plan, outcomes, one.cpu_seconds)
    return report


def _draw(out: Path, plan: Table2, outcomes: Outcomes, limit: float) -> None:
    """Plot BLEU over length and validation loss over processor time, of each system's first seed."""
    done = {name: found for name, found in outcomes.items() if isinstance(found, SystemResult)}
    firsts = {name: next(iter(found.tokens.values())).by_length for name, found in done.items()}
    lengths = {name: [Length(one.words, one.bleu, one.interval) for one in groups] for name, groups in firsts.items()}
    draw_lengths(out / "table2-length.svg", lengths)
    runs = {name: out / name / f"seed-{next(iter(found.tokens))}" for name, found in done.items()}
    curves = {name: losses(run) for name, run in runs.items() if plan.system(name).refines is None}
    draw_losses(out / "table2-time.svg", curves, limit)


def losses(run: Path) -> list[tuple[float, float]]:
    """Return processor time and validation loss at every validation that has a training entry of its step."""
    seconds: dict[int, float] = {}
    points = []
    for record in records(run / LOG):
        if record.get("event") == "train":
            seconds[record["step"]] = record["cpu_seconds"]
        elif record.get("event") == "validation" and record["step"] in seconds:
            points.append((seconds[record["step"]], record["nll"]))
    return points


def _entry(
    out: Path, plan: Table2, name: str, found: SystemResult | str, outcomes: Outcomes, sample: Sample
) -> dict[str, Any]:
    system = plan.system(name)
    entry: dict[str, Any] = {"published": _published(system.published)}
    if isinstance(found, str):
        return {**entry, "failed": found}
    for moment in MOMENTS:
        figures: dict[int, Tested] = getattr(found, moment)
        if figures:
            entry[f"same_{moment}"] = _moment(out, plan, system, figures, moment, sample)
    if found.ensemble is not None:
        references = [pair.target for pair in sample.pairs]
        entry["ensemble"] = {
            **found.ensemble.model_dump(mode="json", exclude=HIDDEN),
            "members": len(found.tokens),
            "published": _published(system.ensemble),
            "p": _p(out, plan, out / name / ENSEMBLE, references, "tokens"),
        }
    return entry


def _moment(
    out: Path, plan: Table2, system: System, figures: Mapping[int, Tested], moment: str, sample: Sample
) -> dict[str, Any]:
    """Return the figures of a system at a moment: the means over its seeds, and each seed's."""
    seeds = {str(seed): tested.model_dump(mode="json", exclude=HIDDEN) for seed, tested in figures.items()}
    references = [pair.target for pair in sample.pairs]
    for seed in figures:
        path = out / system.name / f"seed-{seed}" / MOMENTS[moment][0]
        seeds[str(seed)]["p"] = None if system is plan.systems[0] else _p(out, plan, path, references, moment, seed)
    means = {key: mean(getattr(one, key) for one in figures.values()) for key in ("bleu", "flops", "cpu_seconds")}
    one = next(iter(figures.values()))
    return {**means, "rate": one.rate, "parameters": one.parameters, "tokens": one.tokens, "seeds": seeds}


def _p(
    out: Path, plan: Table2, path: Path, references: list[str], moment: str, seed: int | None = None
) -> float | None:
    """Return p of the paired bootstrap against the baseline of the same seed, or of its first."""
    first = plan.systems[0]
    wanted = seed if seed in first.seeds else first.seeds[0]
    base = out / first.name / f"seed-{wanted}" / MOMENTS[moment][0]
    (found, *_) = compare(kept_lines(base), kept_lines(path), [references])
    return found.p


def _published(name: str | None) -> dict[str, Any] | None:
    row = next((row for row in published().table2 if row.model == name), None)
    return None if row is None else PublishedTranslation.model_dump(row)


def as_markdown(report: dict[str, Any]) -> str:
    systems: dict[str, Any] = report["systems"]
    lines = ["# Table 2: the systems of the paper, trained here", ""]
    lines += [f"{name} failed: {entry['failed']}" for name, entry in systems.items() if "failed" in entry]
    lines += [
        f"Measured on {report['measured_on']}, {report['sentences']:,} sentences, with sacreBLEU "
        f"({report['signature']}). p is that of a paired bootstrap against {report['baseline']}, seed by seed. "
        "Published figures are of newstest2014, for models a hundred times as large. "
        f"Code: {report['code']}."
    ]
    if report["not_run"]:
        lines += ["", f"Not run: {', '.join(report['not_run'])}."]
    for moment, (_, title) in MOMENTS.items():
        lines += ["", f"## {title}", "", _table(systems, f"same_{moment}")]
    lines += ["", "## BLEU by the words of the source, after the same tokens, first seed", "", _lengths(systems), ""]
    return "\n".join(lines)


def _table(systems: dict[str, Any], key: str) -> str:
    heads = ["system", "parameters (M)", "rate", "CPU minutes", "FLOPs", "BLEU", "by seed", "95 %", "p"]
    heads += ["published En-De", "published FLOPs"]
    rows = []
    for name, entry in systems.items():
        if key in entry:
            found = entry[key]
            seeds = list(found["seeds"].values())
            rows.append([name, *_cells(found, seeds), *_published_cells(entry["published"])])
        if key == "same_tokens" and "ensemble" in entry:
            one = entry["ensemble"]
            rows.append(
                [f"{name}, {one['members']} together", *_cells(one, [one]), *_published_cells(one["published"])]
            )
    return table(heads, rows)


def _cells(found: dict[str, Any], seeds: list[dict[str, Any]]) -> list[str]:
    low, high = seeds[0]["interval"]
    return [
        f"{found['parameters'] / 1e6:.2f}",
        f"{found['rate']:g}",
        f"{found['cpu_seconds'] / 60:.1f}",
        f"{found['flops']:.1e}",
        f"{found['bleu']:.1f}",
        ", ".join(f"{one['bleu']:.1f}" for one in seeds),
        f"{low:.1f} to {high:.1f}",
        ", ".join("" if one["p"] is None else f"{one['p']:.3f}" for one in seeds),
    ]


def _published_cells(row: dict[str, Any] | None) -> list[str | None]:
    given = row or {"bleu": {}, "flops": {}}
    return [number(given["bleu"].get("en-de"), "g"), number(given["flops"].get("en-de"), ".1e")]


def _lengths(systems: dict[str, Any]) -> str:
    firsts = {name: next(iter(e["same_tokens"]["seeds"].values())) for name, e in systems.items() if "same_tokens" in e}
    groups = next(iter(firsts.values()))["by_length"]
    rows: list[list[object]] = [["sentences", *(group["sentences"] for group in groups)]]
    for name, one in firsts.items():
        shown = [f"{g['bleu']:.1f} ({g['interval'][0]:.1f} to {g['interval'][1]:.1f})" for g in one["by_length"]]
        rows.append([name, *shown])
    return table(["words", *(group["words"] for group in groups)], rows)
