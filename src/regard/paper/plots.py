"""Plots of experiments: Table 3's rows beside base; Table 2's systems over time, and over sentence length."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.paper.drawing import BLUE, GREEN, GREY, RED, picture


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


class Length(NamedTuple):
    """The BLEU of a group of sentences of similar lengths, with its interval."""

    words: str
    bleu: float
    interval: tuple[float, float]


def draw_lengths(path: Path, groups: Mapping[str, Sequence[Length]]) -> None:
    """Plot BLEU over source length with 95 % intervals; models without attention are dashed."""
    first = next(iter(groups.values()))
    with picture(path, size=(8, 4.8)) as figure:
        axes = figure.subplots()
        for number, (name, lengths) in enumerate(groups.items()):
            shift = 0.3 * (number / max(1, len(groups) - 1) - 0.5)  # so that intervals stand side by side
            values = [length.bleu for length in lengths]
            errors = [
                [length.bleu - length.interval[0] for length in lengths],
                [length.interval[1] - length.bleu for length in lengths],
            ]
            at = [place + shift for place in range(len(lengths))]
            axes.errorbar(at, values, yerr=errors, marker="o", markersize=4, linewidth=1.2, label=name, **style(name))
        axes.set_xticks(range(len(first)), [length.words for length in first])
        axes.set_xlabel("words of the source")
        axes.set_ylabel("BLEU")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside right upper")


def draw_losses(path: Path, curves: Mapping[str, Sequence[tuple[float, float]]], limit: float) -> None:
    """Plot validation loss over minutes of processor time; the vertical line marks the baseline's time."""
    with picture(path, size=(8, 4.8)) as figure:
        axes = figure.subplots()
        for name, points in curves.items():
            axes.plot([seconds / 60 for seconds, _ in points], [nll for _, nll in points], label=name, **style(name))
        axes.axvline(limit / 60, color=GREY, linewidth=0.8)
        axes.set_xlabel("minutes of processor time in training")
        axes.set_ylabel("negative log-likelihood per token")
        figure.legend(loc="outside right upper")


COLOURS = {
    "rnn": "#c99700",
    "lstm": RED,
    "gru": "#8b2fb0",
    "convs2s": GREEN,
    "bytenet": "#2a9d8f",
    "gnmt": "#d9480f",
    "deep": "#a61e4d",
    "moe": "#0b7285",
    "feedforward": GREY,
}


def style(name: str) -> dict[str, Any]:
    """Return the colour of a kind of model, and a dashed line for one that encodes the source as one vector."""
    alone = name in ("rnn", "lstm", "gru")
    dotted = name in ("transformer-big", "gnmt-rl", "moe-transformer")
    return {"color": COLOURS.get(name.partition("-")[0], BLUE), "linestyle": "--" if alone else ":" if dotted else "-"}
