"""Plot Table 1: time and memory over n and d on logarithmic axes, where every power is a straight line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.paper.drawing import BLUE, GREEN, GREY, RED, picture
from regard.paper.table1.complexity import LENGTHS, MEMORY_LENGTHS, SHORT, SIZES, Measured
from regard.paper.table1.layer_types import D_K, FARTHER, KERNEL, NEIGHBOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"self-attention": BLUE, "recurrent": RED, "convolutional": GREEN, "separable": "#c99700", "restricted": GREY}
KEPT = "bytes kept for the backward pass"


def draw(measured: Mapping[str, Measured], path: Path) -> None:
    """Plot time and memory over n and d; the legend of each panel gives the exponents."""
    with picture(path, size=(9, 7.4)) as figure:
        by_n, by_d, memory_n, memory_d = figure.subplots(2, 2).flat
        for kind, layer in measured.items():
            milliseconds_n = {n: 1e3 * seconds for n, seconds in layer.seconds_by_n.items()}
            milliseconds_d = {d: 1e3 * seconds for d, seconds in layer.seconds_by_d.items()}
            _line(by_n, kind, f"n^{layer.exponent_n:.2f}", milliseconds_n)
            _line(by_d, kind, f"d^{layer.exponent_d:.2f}", milliseconds_d)
            _line(memory_n, kind, f"n^{layer.memory_exponent_n:.2f}", layer.memory_by_n)
            _line(memory_d, kind, f"d^{layer.memory_exponent_d:.2f}", layer.memory_by_d)
        attention = measured["self-attention"].others
        label = f"n^{attention['memory_exponent_n_as_written']:.2f}, as written"
        _line(memory_n, "self-attention", label, attention["memory_by_n_as_written"], style="--")
        names = {kind: f"{kind}, k = {KERNEL}" for kind in FARTHER} | {"restricted": f"restricted, r = {NEIGHBOURS}"}
        figure.legend(by_n.lines, [names.get(kind, kind) for kind in measured], loc="outside upper center", ncols=5)
        for axes, sizes, up in ((by_n, LENGTHS, "milliseconds"), (memory_n, MEMORY_LENGTHS, KEPT)):
            _axes(axes, sizes, f"n, at d = {D_K}", up)
        for axes, sizes, up in ((by_d, SIZES, "milliseconds"), (memory_d, SIZES, KEPT)):
            _axes(axes, sizes, f"d, at n = {SHORT}", up)


def _line(axes: "Axes", kind: str, label: str, costs: Mapping[int, float], style: str = "-") -> None:
    axes.loglog(list(costs), list(costs.values()), style, marker="o", markersize=4, color=COLOURS[kind], label=label)


def _axes(axes: "Axes", sizes: Sequence[int], across: str, up: str) -> None:
    axes.set(xlabel=across, ylabel=up)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.grid(which="major", alpha=0.25)
    axes.legend(fontsize="small")
