"""Report Table 3: our figures beside the paper's, and which findings reappear."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard.config.presets import Paper, paper_figures
from regard.paper.experiment import Figures, Outcome
from regard.paper.markdown import number, table
from regard.paper.plots import Difference
from regard.paper.table3.findings import BASE, Finding, Point, RowComparison, group, judge
from regard.paper.table3.paired import Interval

Report = Mapping[str, Any]


def run_name(row: str, seed: int) -> str:
    return f"{row}-seed{seed}"


def reported(
    findings: Sequence[Finding], margin: float, runs: Sequence[tuple[str, int]], outcomes: Mapping[str, Outcome]
) -> dict[str, Any]:
    """Return rows, deviation and findings as plain values; `runs` are all that belong to the table."""
    points: dict[str, dict[int, Point]] = {}
    for row, seed in runs:
        figures = outcomes.get(run_name(row, seed))
        if isinstance(figures, Figures):
            points.setdefault(row, {})[seed] = Point(figures.perplexity, figures.bleu)
    compared = RowComparison.of(points)
    rows = dict.fromkeys(row for row, _ in runs)
    seeds = {name: [seed for row, seed in runs if row == name] for name in rows}
    chance = compared.chance
    return {
        "rows": [_row(row, seeds[row], outcomes, compared) for row in rows],
        "signature": next((it.signature for it in outcomes.values() if isinstance(it, Figures)), None),
        "deviation": chance
        and {"ppl": 100 * chance[0].deviation, "bleu": chance[1].deviation, "degrees": chance[0].degrees},
        "findings": [asdict(judge(finding, compared, margin)) for finding in findings],
    }


def _row(row: str, seeds: Sequence[int], outcomes: Mapping[str, Outcome], compared: RowComparison) -> dict[str, Any]:
    paper = paper_figures(row)
    runs = [_run(seed, outcomes[run_name(row, seed)]) for seed in seeds if run_name(row, seed) in outcomes]
    done = [run for run in runs if "failed" not in run]
    beside = row != BASE
    return {
        "row": row,
        "group": group(row),
        "paper": None if paper is None else paper.model_dump(),
        "ours": {key: sum(run[key] for run in done) / len(done) for key in ("ppl", "bleu")} if done else None,
        "difference": {
            "ppl": _plain(compared.perplexity(row)) if beside else None,
            "bleu": _plain(compared.points(row)) if beside else None,
        },
        "runs": runs,
    }


def _run(seed: int, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"seed": seed, "failed": outcome}
    return {
        "seed": seed,
        "ppl": outcome.perplexity,
        "bleu": outcome.bleu,
        "parameters": outcome.parameters,
        "steps": outcome.step,
        "tokens": outcome.tokens,
        "seconds": outcome.seconds,
    }


def _plain(found: Interval | None) -> dict[str, Any] | None:
    return None if found is None else {"difference": found.difference, "interval": [found.low, found.high]}


def differences(report: Report) -> list[Difference]:
    """Return each judged row's difference from base with its interval, ours and the paper's."""
    base = paper_figures(BASE)
    rows = []
    for row in report["rows"]:
        if row["difference"]["ppl"] is not None and row["paper"] is not None and base is not None:
            paper = Paper(**row["paper"])
            published = (100 * (paper.ppl / base.ppl - 1), paper.bleu - base.bleu)
            ours = [(found["difference"], *found["interval"]) for found in row["difference"].values()]
            rows.append(Difference(row["row"], ours, published))
    return rows


def as_markdown(report: Report) -> str:
    """Return the findings and the table as a Markdown page."""
    return "\n".join(
        [
            f"# Table 3 at the scale `{report['scale']}`",
            "",
            "## What the paper finds",
            "",
            _findings(report),
            "",
            _rule(report),
            "",
            "## The rows",
            "",
            _rows(report),
            "",
            *(f"{row['row']} failed with seed {run['seed']}: {run['failed']}" for row, run in _failed(report)),
            _settings(report),
            "",
        ]
    )


def _failed(report: Report) -> list[tuple[Report, Report]]:
    return [(row, run) for row in report["rows"] for run in row["runs"] if "failed" in run]


def _findings(report: Report) -> str:
    heads = ["row", "the paper finds", "PPL", "95 % interval", "verdict", "BLEU", "95 % interval", "by BLEU"]
    cells = []
    for one in report["findings"]:
        found = [one["row"], f"{one['says']} ({one['expected']})"]
        if one["difference"] is None:
            found += ["", "", f"not judged: {one['reason']}", "", "", ""]
        else:
            bleu = one["bleu"]
            found += [f"{one['difference']:+.1f} %", _range(one["interval"]), f"**{one['verdict']}**"]
            found += [f"{bleu['difference']:+.1f}", _range(bleu["interval"]), bleu["verdict"]]
        cells.append(found)
    return table(heads, cells)


def _range(bounds: Sequence[float]) -> str:
    return f"{bounds[0]:+.1f} to {bounds[1]:+.1f}"


def _rule(report: Report) -> str:
    rule = (
        "Differences are from base, paired by seed, with 95 % intervals whose deviation is pooled over all rows. "
        'Perplexity decides. "same" needs an interval '
        f"within ±{report['margin']:g} % of perplexity; the others need one that excludes 0."
    )
    if report["deviation"] is None:
        return rule
    apart = report["deviation"]
    return (
        f"{rule} The deviation of a single run is {apart['ppl']:.1f} % of perplexity and {apart['bleu']:.2f} BLEU, "
        f"with {apart['degrees']} degrees of freedom."
    )


def _rows(report: Report) -> str:
    heads = ["row", "seeds", "PPL", "paper", "BLEU", "paper", "parameters (M)", "paper", "steps", "minutes a run"]
    return table(heads, [_cells(row) for row in report["rows"]])


def _cells(row: Report) -> list[str | None]:
    done = [run for run in row["runs"] if "failed" not in run]
    ours, paper, first = row["ours"] or {}, row["paper"] or {}, done[0] if done else {}
    return [
        row["row"],
        ", ".join(str(run["seed"]) for run in done) or "not run",
        number(ours.get("ppl"), ".2f"),
        number(paper.get("ppl"), ".2f"),
        number(ours.get("bleu"), ".1f"),
        number(paper.get("bleu"), ".1f"),
        number(first["parameters"] / 1e6 if done else None, ".2f"),
        number(paper.get("parameters"), "g"),
        number(first.get("steps"), ",d"),
        number(sum(run["seconds"] for run in done) / 60 / len(done) if done else None, ".1f"),
    ]


def _settings(report: Report) -> str:
    model, train = report["first"]["model"], report["first"]["train"]
    done = [run for row in report["rows"] for run in row["runs"] if "failed" not in run]
    signature = "" if report["signature"] is None else f" BLEU is sacreBLEU's ({report['signature']})."
    return (
        f"{report['rows'][0]['row']} is {model['encoder_layers']} + {model['decoder_layers']} layers, "
        f"d_model {model['d_model']}, d_ff {model['d_ff']}, {model['heads']} heads, {train['steps']:,} steps of up to "
        f"{train['batch_tokens']:,} tokens a side. Data: {report['data']}; measured on {report['measured_on']}. "
        f"PPL is per token.{signature} "
        f"{len(done)} runs trained for {sum(run['seconds'] for run in done) / 3600:.1f} hours. Code: {report['code']}."
    )
