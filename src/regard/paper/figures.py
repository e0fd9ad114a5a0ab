"""Figures for readers of the paper: positions, the causal mask, the learning rate, gradients, attention heads.

Shapes: T queries, S keys, P positions, D = d_model, K = d_k, L layers, H heads.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.config.train import TrainConfig
from regard.model.masks import distances, masked_softmax, visible
from regard.model.positions import sinusoids
from regard.paper.drawing import BLUE, GREEN, GREY, RED, picture, require
from regard.paper.gradients import draw_gradients
from regard.paper.heads import draw_heads, see_first
from regard.train.optimizer.schedule import rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

D_MODEL = 512
FORMS = (".svg", ".png")


def write_figures(out: Path, model: Path | None, text: str) -> list[str]:
    """Write all figures to a folder, each as SVG and PNG; return the names of the files.

    With a `model`, also draw its attention heads for `text`.
    """
    require()
    sight = None if model is None else see_first(model, text)
    out.mkdir(parents=True, exist_ok=True)
    drawn = [
        ("positions-alike-and-unlike", draw_two_positions),
        ("positions-by-dimension", draw_dimensions),
        ("positions-table", draw_table),
        ("causal-mask", draw_causal_mask),
        ("learning-rate", draw_rates),
        ("gradients", draw_gradients),
    ]
    for name, draw in drawn:
        draw(*_files(out, name))
    names = [name for name, _ in drawn]
    if sight is not None:
        names += draw_heads(sight, lambda name: _files(out, name))
    return [file.name for name in names for file in _files(out, name)]


def _files(out: Path, name: str) -> list[Path]:
    return [out / f"{name}{form}" for form in FORMS]


def draw_two_positions(*paths: Path) -> None:
    """Plot encodings over the dimensions: neighbouring positions are similar, distant ones are not (section 3.5)."""
    table_PD = sinusoids(0, D_MODEL, D_MODEL)
    with picture(*paths, size=(9, 5)) as figure:
        for axes, other in zip(figure.subplots(2, 1, sharex=True), (4, 500), strict=True):
            for position, colour in ((3, BLUE), (other, RED)):
                for first, wave, style in ((0, "sines", "-"), (1, "cosines", ":")):
                    values = table_PD[position, first::2].tolist()
                    axes.plot(
                        range(first, D_MODEL, 2), values, style, color=colour, label=f"position {position}, {wave}"
                    )
            cosine = torch.cosine_similarity(table_PD[3], table_PD[other], dim=0)
            axes.set(title=f"positions 3 and {other}: cosine {cosine:.2f}", ylabel="PE", ylim=(-1.1, 1.1))
            axes.legend(loc="lower right", ncols=2, fontsize="small")
        axes.set(xlabel="dimension: sines at the even ones, cosines at the odd ones", xlim=(0, D_MODEL - 1))


def draw_dimensions(*paths: Path) -> None:
    """Plot single dimensions over the positions: waves with wavelengths from 2π to 10000 · 2π."""
    table_PD = sinusoids(0, D_MODEL, D_MODEL)
    with picture(*paths, size=(9, 6.4)) as figure:
        for axes, dimension in zip(figure.subplots(4, 1, sharex=True), (0, 10, 300, 511), strict=True):
            length = 2 * math.pi * 10_000 ** (dimension // 2 * 2 / D_MODEL)
            axes.plot(table_PD[:, dimension].tolist(), color=BLUE, linewidth=1)
            axes.set(title=f"dimension {dimension}: wavelength {length:,.1f}", ylabel="PE", ylim=(-1.1, 1.1))
        axes.set(xlabel="position", xlim=(0, D_MODEL - 1))


def draw_table(*paths: Path) -> None:
    """Draw the table of positional encodings, and the cosine similarity of each two positions."""
    size = 128
    table_PD = sinusoids(0, 100, size)
    alike_PP = table_PD @ table_PD.T / (size / 2)  # a cosine: every PE has the length sqrt(d_model / 2)
    with picture(*paths, size=(9, 3.8)) as figure:
        left, right = figure.subplots(1, 2)
        shown = left.imshow(table_PD.tolist(), cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        left.set(title=f"PE, d_model = {size}", xlabel="dimension", ylabel="position")
        figure.colorbar(shown, ax=left)
        shown = right.imshow(alike_PP.tolist(), cmap="Blues", aspect="auto", interpolation="nearest")
        right.set(title="cosine of PE(p) and PE(q)", xlabel="position q", ylabel="position p")
        figure.colorbar(shown, ax=right)


def masked_example() -> tuple[list[str], Tensor, Tensor, Tensor]:
    """Return words, their scores, the scores with −inf for later words, and the weights of equation 1."""
    words = ["I", "am", "a", "student"]
    generator = torch.Generator().manual_seed(1)
    query_TK, key_SK = torch.randn(2, len(words), 64, generator=generator)
    scores_TS = query_TK @ key_SK.T / math.sqrt(64)
    mask_TS = visible(distances(len(words), len(words)), causal=True, neighbours=0)
    return words, scores_TS, scores_TS.masked_fill(~mask_TS, -math.inf), masked_softmax(scores_TS, mask_TS)


def draw_causal_mask(*paths: Path) -> None:
    """Draw scores, masked scores and the weights after the softmax (section 3.2.3)."""
    words, *steps = masked_example()
    titles = ("scores, QKᵀ / √dₖ", "masked", "weights, after the softmax")
    with picture(*paths, size=(10, 3.5)) as figure:
        for axes, values_TS, title in zip(figure.subplots(1, 3), steps, titles, strict=True):
            weights = title.startswith("weights")
            finite_TS = values_TS.masked_fill(values_TS == -math.inf, math.nan)
            axes.imshow(
                finite_TS.tolist(),
                cmap="Blues" if weights else "RdBu",
                vmin=0 if weights else -3,
                vmax=1 if weights else 3,
            )
            _label(axes, words, title)
            for t, row in enumerate(values_TS.tolist()):
                for s, value in enumerate(row):
                    told = "−∞" if value == -math.inf else f"{value:.2f}".replace("-", "−")
                    strong = abs(value) > (0.6 if weights else 1.9) and value != -math.inf
                    axes.text(s, t, told, ha="center", va="center", color="white" if strong else "black")


def _label(axes: "Axes", words: list[str], title: str) -> None:
    axes.set(title=title)
    axes.set_xticks(range(len(words)), words)
    axes.set_yticks(range(len(words)), words)
    axes.tick_params(length=0)
    axes.set_xlabel("looks at")


def draw_rates(*paths: Path) -> None:
    """Plot equation 3 for some sizes and warmups: the rate rises for `warmup` steps, then falls as 1/sqrt(step)."""
    steps = range(1, 20_001, 10)
    with picture(*paths, size=(9, 4)) as figure:
        axes = figure.subplots()
        kinds = ((512, 4000, BLUE, "-"), (512, 8000, RED, "-"), (256, 4000, GREEN, "-"), (1024, 4000, GREY, "--"))
        for d_model, warmup, colour, style in kinds:
            config = TrainConfig(warmup=warmup)
            name = {512: "base, ", 1024: "big, "}.get(d_model, "") if warmup == 4000 else ""
            label = f"{name}d_model {d_model:,}, warmup {warmup:,}"
            axes.plot(steps, [rate(step, config, d_model) for step in steps], style, color=colour, label=label)
        axes.set(xlabel="step", ylabel="learning rate", xlim=(0, steps[-1]), ylim=(0, None))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.legend()
