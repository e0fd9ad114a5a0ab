"""Draw a reliability diagram: the quality of translations over their confidence."""

from pathlib import Path

from regard.evaluate.reliability import Reliability
from regard.paper.drawing import BLUE, GREY, picture


def draw(found: Reliability, path: Path) -> None:
    """Draw mean chrF over mean confidence; a calibrated model is on the diagonal."""
    with picture(path, size=(4.2, 4.2)) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="as confident as good")
        across, up = zip(*found.groups, strict=True)
        axes.plot(across, up, color=BLUE, marker="o", label="a tenth of the sentences each")
        axes.set(xlabel="mean confidence", ylabel="mean chrF", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.grid(alpha=0.25)
        axes.legend(loc="upper left", fontsize="small")
