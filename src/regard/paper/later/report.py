"""The report on later architectures: tables in Markdown, pictures, and all figures as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from regard.files import write_bytes, write_json
from regard.paper.drawing import BLUE, GREEN, GREY, RED, picture
from regard.paper.later.plan import Later
from regard.paper.markdown import number, table

Figures = dict[str, Any]
Curve = Sequence[tuple[float, list[float]]]
"""Mean steps a sentence and BLEU of each seed, for each way of writing."""
TRANSLATION = ("model", "writes by", "seeds", "parameters", "PPL", "BLEU", "tokens/CPU-s in training",
               "tokens/CPU-s in search", "steps a sentence", "tokens a step")  # fmt: skip
LISTOPS = ("model", "tokens", "seeds", "parameters", "accuracy", "tokens/CPU-s in training", "memory, MiB")


def as_markdown(plan: Later, figures: Sequence[Figures]) -> str:
    """Return both tables; figures of several seeds are means, with the least and the greatest BLEU or accuracy."""
    parts = [f"Rule: {plan.rule}", ""]
    rows: list[tuple[object, ...]] = []
    for name, runs in _grouped(figures, "row"):
        for written in _writings(runs):
            rows.append(
                (name, written[0]["writing"], len(runs), f"{runs[0]['parameters']:,}",
                 number(mean(run["perplexity"] for run in runs), ".2f"),
                 _range([one["bleu"] for one in written], ".2f"),
                 number(mean(run["tokens_per_cpu_second"] for run in runs), ",.0f"),
                 number(mean(one["tokens_per_cpu_second"] for one in written), ",.0f"),
                 number(mean(one["steps_a_sentence"] for one in written), ".2f"),
                 number(mean(one["tokens_a_step"] for one in written), ".2f"))
            )  # fmt: skip
    if rows:
        parts += [table(TRANSLATION, rows), ""]
    rows = []
    for (model, length), runs in _grouped(figures, "model", "length"):
        rows.append(
            (model, length, len(runs), f"{runs[0]['parameters']:,}", _range([one["accuracy"] for one in runs], ".3f"),
             number(mean(one["tokens_per_cpu_second"] for one in runs), ",.0f"),
             number(mean(one["memory_mb"] for one in runs), ",.0f"))
        )  # fmt: skip
    if rows:
        parts += [table(LISTOPS, rows), ""]
    return "\n".join(parts)


def _grouped(figures: Sequence[Figures], *keys: str) -> list[tuple[Any, list[Figures]]]:
    """Return runs grouped by their values for these keys, in order; runs that lack a key belong to another table."""
    groups: dict[Any, list[Figures]] = {}
    for one in figures:
        if keys[0] in one:
            groups.setdefault(one[keys[0]] if len(keys) == 1 else tuple(one[key] for key in keys), []).append(one)
    return list(groups.items())


def _writings(runs: Sequence[Figures]) -> Iterator[list[Figures]]:
    """Yield the figures of all runs of a row for each way of writing."""
    for place in range(len(runs[0]["writings"])):
        yield [run["writings"][place] for run in runs]


def _range(values: Sequence[float], form: str) -> str:
    if len(values) == 1:
        return format(values[0], form)
    return f"{format(mean(values), form)} ({format(min(values), form)} to {format(max(values), form)})"


def write_report(out: Path, plan: Later, figures: Sequence[Figures]) -> Figures:
    """Write later.md, later.json and the pictures of all finished runs; return the content of later.json."""
    report: Figures = {"rule": plan.rule, "runs": list(figures)}
    write_bytes(out / "later.md", as_markdown(plan, figures).encode())
    write_json(out / "later.json", report)
    curves = {name: _points(runs) for name, runs in _grouped(figures, "row")}
    if curves:
        draw_steps(out / "later-steps.svg", less_sequential(curves))
    by_model: dict[str, list[tuple[int, list[Figures]]]] = {}
    for (model, length), runs in _grouped(figures, "model", "length"):
        by_model.setdefault(model, []).append((length, runs))
    if by_model:
        draw_lengths(out / "later-listops.svg", by_model)
    return report


def _points(runs: Sequence[Figures]) -> Curve:
    """Return mean steps a sentence and BLEU of each seed, for each way of writing that is not a beam."""
    found = []
    for written in _writings(runs):
        if "beam" not in written[0]["writing"] or written[0]["writing"].endswith("beam 1"):
            found.append((mean(one["steps_a_sentence"] for one in written), [one["bleu"] for one in written]))
    return found


def less_sequential(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return the first row and those that write a sentence in fewer steps; the others would be one spot."""
    first = next(iter(curves))
    most = 0.9 * max((count for count, _ in curves[first]), default=0.0)
    return {name: curve for name, curve in curves.items() if name == first or min(curve)[0] < most}


def draw_steps(path: Path, curves: Mapping[str, Curve]) -> None:
    """Plot BLEU against sequential steps a sentence; bars reach from the least to the greatest of the seeds."""
    with picture(path, path.with_suffix(".png"), size=(8, 4.8)) as figure:
        axes = figure.subplots()
        for at, (name, points) in enumerate(curves.items()):
            steps, values = [count for count, _ in points], [mean(some) for _, some in points]
            errors = [[mean(some) - min(some) for _, some in points], [max(some) - mean(some) for _, some in points]]
            axes.errorbar(steps, values, yerr=errors, label=name, capsize=2, **_style(at))
        axes.set_xscale("log")
        axes.set_xlabel("sequential steps a sentence")
        axes.set_ylabel("BLEU")
        axes.margins(y=0.1)
        _plain_ticks(axes.xaxis)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right upper")


def draw_lengths(path: Path, models: Mapping[str, Sequence[tuple[int, list[Figures]]]]) -> None:
    """Plot accuracy, speed and memory of ListOps against the length of an expression."""
    panels = {"accuracy": "accuracy", "tokens_per_cpu_second": "tokens/CPU-s in training", "memory_mb": "memory, MiB"}
    with picture(path, path.with_suffix(".png"), size=(11, 4)) as figure:
        for axes, (key, label) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
            for at, (name, points) in enumerate(models.items()):
                values = [mean(run[key] for run in runs) for _, runs in points]
                axes.plot([length for length, _ in points], values, label=name, **_style(at))
            lengths = sorted({length for points in models.values() for length, _ in points})
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths, [str(length) for length in lengths])
            axes.minorticks_off()
            axes.set_xlabel("tokens of an expression")
            axes.set_title(label)
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside right upper")


def _plain_ticks(axis: Any) -> None:
    """Write 1, 2, 5, 10 and 20 instead of powers of ten."""
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter  # noqa: PLC0415  # an extra

    axis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(ScalarFormatter())


def _style(at: int) -> dict[str, Any]:
    colours = (BLUE, RED, GREEN, GREY)
    return {"color": colours[at % 4], "marker": "os^Dvx"[at % 6], "linestyle": ("-", "--", ":")[at // 4 % 3]}
