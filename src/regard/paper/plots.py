"""Plots of experiments: Table 3's rows beside base; the lineage over time, and over sentence length."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.evaluate.bleu import Bucket
from regard.paper.drawing import BLUE, GREEN, GREY, RED, picture

FEWEST = 20  # minimum number of sentences for a point of a curve over length


class Difference(NamedTuple):
    """The difference of a row from base in PPL (percent) and BLEU (points): ours with its interval, and the paper's."""

    row: str
    ours: Sequence[tuple[float, float, float]]
    paper: tuple[float, float]


def draw_differences(path: Path, rows: Sequence[Difference], margin: float) -> None:
    """Plot each row of Table 3 left or right of base, ours with its interval; the band counts as the same."""
    with picture(path, size=(9, 1.2 + 0.28 * len(rows))) as figure:
        sides = figure.subplots(1, 2, sharey=True)
        for at, axes, name in zip((0, 1), sides, ("PPL in % (less is better)", "BLEU"), strict=True):
            if at == 0:
                axes.axvspan(-margin, margin, color=BLUE, alpha=0.12, linewidth=0)
            axes.axvline(0, color=GREY, linewidth=0.8)
            places = range(len(rows))
            axes.scatter([row.paper[at] for row in rows], places, 90, GREY, marker="|", label="the paper")
            values = [row.ours[at] for row in rows]
            errors = [[value - low for value, low, _ in values], [high - value for value, _, high in values]]
            style = {"fmt": "o", "markersize": 5, "color": BLUE, "linewidth": 1.4}
            axes.errorbar([value for value, _, _ in values], places, xerr=errors, label="ours, 95 % interval", **style)
            axes.set_xlabel(f"{name}, difference from base")
            axes.locator_params(axis="x", nbins=6)  # more labels would overlap
            axes.grid(axis="y", alpha=0.3)
            axes.set_axisbelow(True)
        sides[0].set_yticks(range(len(rows)), [row.row for row in rows])
        sides[0].invert_yaxis()
        sides[1].legend(loc="best")


def draw_lengths(path: Path, buckets: Mapping[str, Sequence[Bucket]]) -> None:
    """Plot BLEU over source length; models without attention are dashed."""
    first = [bucket for bucket in next(iter(buckets.values())) if bucket.sentences >= FEWEST]
    with picture(path, size=(8, 4.8)) as figure:
        axes = figure.subplots()
        for name, groups in buckets.items():
            values = [bucket.bleu for bucket in groups if bucket.sentences >= FEWEST]
            axes.plot(values, marker="o", markersize=4, label=name, **style(name))
        axes.set_xticks(range(len(first)), [f"{bucket.words}\n{bucket.sentences:,} sentences" for bucket in first])
        axes.set_xlabel("words of the source")
        axes.set_ylabel("BLEU")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside right upper")


def draw_losses(path: Path, curves: Mapping[str, Sequence[tuple[float, float]]], limit: float) -> None:
    """Plot validation loss over seconds of training; the vertical line marks equal time."""
    with picture(path, size=(8, 4.8)) as figure:
        axes = figure.subplots()
        for name, points in curves.items():
            axes.plot(*zip(*points, strict=True), label=name, **style(name))
        axes.axvline(limit, color=GREY, linewidth=0.8)
        axes.set_xlabel("seconds of training")
        axes.set_ylabel("negative log-likelihood per token")
        figure.legend(loc="outside right upper")


def style(name: str) -> dict[str, Any]:
    """Return the colour of a kind of model, and a dashed line for one that encodes the source as one vector."""
    colours = {"rnn": "#c99700", "lstm": RED, "gru": "#8b2fb0", "convs2s": GREEN, "feedforward": GREY}
    kind = name.partition("-")[0]
    alone = name in ("rnn", "lstm", "gru")
    return {"color": colours.get(kind, BLUE), "linestyle": "--" if alone else "-"}
