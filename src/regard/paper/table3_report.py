"""Report Table 3: our figures beside the paper's, and which findings reappear."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard.config.presets import paper_figures
from regard.paper.experiment import Figures, Outcome, Row
from regard.paper.findings import Finding, Judgement, Point, judge, mean, spread
from regard.paper.markdown import number, table
from regard.paper.plots import Difference

BASE = "base"


def group(name: str) -> str:
    return name.partition("-")[0]


def reported(findings: Sequence[Finding], rows: Sequence[Row], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """Return the table, the spread of base and the findings as plain values."""
    points = {name: Point(it.perplexity, it.bleu) for name, it in outcomes.items() if isinstance(it, Figures)}
    base = [point for name, point in points.items() if group(name) == BASE]
    judged = [judge(finding, points, base) for finding in findings]
    return {
        "first": rows[0].config.model_dump(),
        "rows": [_row(row, outcomes.get(row.name)) for row in rows],
        "signature": next((it.signature for it in outcomes.values() if isinstance(it, Figures)), None),
        "seeds": len(base),
        "spread": spread(base)._asdict() if len(base) > 1 else None,
        "findings": [asdict(one) for one in judged],
    }


def _row(row: Row, outcome: Outcome | None) -> dict[str, Any]:
    name = row.name.partition("-seed")[0]
    paper = paper_figures(name)
    figures = None
    if isinstance(outcome, Figures):
        figures = {"ppl": outcome.perplexity, "bleu": outcome.bleu, "parameters": outcome.parameters}
        figures |= {"steps": outcome.step, "tokens": outcome.tokens, "seconds": outcome.seconds}
    return {
        "row": row.name,
        "group": group(row.name),
        "seed": row.config.train.seed,
        "paper": None if paper is None else paper.model_dump(),
        "ours": figures,
        "failed": outcome if isinstance(outcome, str) else None,
    }


def differences(report: Mapping[str, Any]) -> list[Difference]:
    """Return each finished row's difference from the mean of base, ours and the paper's; nothing without base."""
    done = [row for row in report["rows"] if row["ours"] is not None and row["paper"] is not None]
    base = [row for row in done if row["group"] == BASE]
    if not base:
        return []
    ours, paper = mean([_point(row["ours"]) for row in base]), _point(base[0]["paper"])
    return [
        Difference(
            row["row"], _point(row["ours"]).less(ours), None if row in base else _point(row["paper"]).less(paper)
        )
        for row in done
    ]


def _point(figures: Mapping[str, float]) -> Point:
    return Point(figures["ppl"], figures["bleu"])


def as_markdown(report: Mapping[str, Any]) -> str:
    """Return the table and the findings as a Markdown page."""
    heads = ["row", "PPL", "paper", "BLEU", "paper", "parameters (M)", "paper", "steps", "minutes"]
    lines = [
        f"# Table 3 at the scale `{report['scale']}`",
        "",
        table(heads, [_cells(row) for row in report["rows"]]),
        "",
    ]
    lines += [f"{row['row']} failed: {row['failed']}" for row in report["rows"] if row["failed"]]
    lines.append(_settings(report))
    if report["signature"] is not None:
        lines.append(f"PPL is per token, BLEU is sacreBLEU's ({report['signature']}); both on the validation set.")
    if report["spread"] is not None:
        apart = report["spread"]
        lines.append(
            f"{report['seeds']} seeds of base are {apart['ppl']:.2f} PPL and {apart['bleu']:.2f} BLEU apart; "
            "rows are compared with their mean, and a smaller difference is not seen."
        )
    lines += ["", "## What the paper finds", ""]
    lines += [_sentence(Judgement(**one)) for one in report["findings"]]
    return "\n".join(lines) + "\n"


def _settings(report: Mapping[str, Any]) -> str:
    model, train = report["first"]["model"], report["first"]["train"]
    hours = sum(row["ours"]["seconds"] for row in report["rows"] if row["ours"]) / 3600
    return (
        f"{report['rows'][0]['row']} is {model['encoder_layers']} + {model['decoder_layers']} layers, "
        f"d_model {model['d_model']}, d_ff {model['d_ff']}, {model['heads']} heads, {train['steps']:,} steps of up to "
        f"{train['batch_tokens']:,} tokens a side. Data: {report['data']}. "
        f"All rows together trained for {hours:.1f} hours. Code: {report['code']}."
    )


def _cells(row: Mapping[str, Any]) -> list[str | None]:
    ours, paper = row["ours"] or {}, row["paper"] or {}
    millions = None if "parameters" not in ours else ours["parameters"] / 1e6
    minutes = None if "seconds" not in ours else ours["seconds"] / 60
    return [
        row["row"],
        "failed" if row["failed"] else number(ours.get("ppl"), ".2f"),
        number(paper.get("ppl"), ".2f"),
        number(ours.get("bleu"), ".1f"),
        number(paper.get("bleu"), ".1f"),
        number(millions, ".2f"),
        number(paper.get("parameters"), "g"),
        number(ours.get("steps"), ",d"),
        number(minutes, ".1f"),
    ]


def _sentence(one: Judgement) -> str:
    return f"- **{one.group}**: {one.says}: **{one.verdict}**. {'; '.join(one.because)}."
