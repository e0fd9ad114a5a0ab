"""The report on what came after the paper: tables in Markdown, and all figures as JSON."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from regard.files import write_bytes, write_json
from regard.paper.later.plan import Later
from regard.paper.markdown import number, table

Figures = dict[str, Any]
TRANSLATION = ("model", "writes by", "seeds", "parameters", "PPL", "BLEU", "tokens/s in training",
               "tokens/CPU-s in search", "steps a sentence", "tokens a step")  # fmt: skip
LISTOPS = ("model", "tokens", "seeds", "parameters", "accuracy", "tokens/s in training", "memory, MiB")


def as_markdown(plan: Later, translation: Sequence[Figures], listops: Sequence[Figures]) -> str:
    """Return both tables; figures of several seeds are means, with the least and the greatest BLEU or accuracy."""
    parts = [f"Rule: {plan.rule}", ""]
    rows: list[tuple[object, ...]] = []
    for name in dict.fromkeys(one["row"] for one in translation):
        runs = [one for one in translation if one["row"] == name]
        for place in range(len(runs[0]["writings"])):
            written = [run["writings"][place] for run in runs]
            rows.append(
                (name, written[0]["writing"], len(runs), f"{runs[0]['parameters']:,}",
                 number(mean(run["perplexity"] for run in runs), ".2f"),
                 _range([one["bleu"] for one in written], ".2f"),
                 number(mean(run["tokens_per_second"] for run in runs), ",.0f"),
                 number(mean(one["tokens_per_cpu_second"] for one in written), ",.0f"),
                 number(mean(one["steps_a_sentence"] for one in written), ".2f"),
                 number(mean(one["tokens_a_step"] for one in written), ".2f"))
            )  # fmt: skip
    if rows:
        parts += [table(TRANSLATION, rows), ""]
    rows = []
    for model, length in dict.fromkeys((one["model"], one["length"]) for one in listops):
        runs = [one for one in listops if (one["model"], one["length"]) == (model, length)]
        rows.append(
            (model, length, len(runs), f"{runs[0]['parameters']:,}", _range([one["accuracy"] for one in runs], ".3f"),
             number(mean(one["tokens_per_second"] for one in runs), ",.0f"),
             number(mean(one["memory_mb"] for one in runs), ",.0f"))
        )  # fmt: skip
    if rows:
        parts += [table(LISTOPS, rows), ""]
    return "\n".join(parts)


def _range(values: Sequence[float], form: str) -> str:
    if len(values) == 1:
        return format(values[0], form)
    return f"{format(mean(values), form)} ({format(min(values), form)} to {format(max(values), form)})"


def write_report(out: Path, plan: Later, translation: Sequence[Figures], listops: Sequence[Figures]) -> Figures:
    """Write later.md and later.json into the folder of the runs; return what the JSON holds."""
    report: Figures = {"rule": plan.rule, "translation": list(translation), "listops": list(listops)}
    write_bytes(out / "later.md", as_markdown(plan, translation, listops).encode())
    write_json(out / "later.json", report)
    return report
