"""Write figures with matplotlib: atomically, reproducibly, and with a clear error if matplotlib is missing."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UserError
from regard.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = ("svg", "png", "pdf")
BLUE, RED, GREEN, GREY = "#1f5fbf", "#c2410c", "#2f7d4f", "#6b7280"
PLAIN: Any = {  # matplotlib has a type for every name
    "svg.hashsalt": "regard",
    "pdf.fonttype": 42,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "legend.frameon": False,
}


def check_picture(path: Path) -> None:
    """Raise a UserError early if the figure could not be written."""
    if path.suffix[1:] not in FORMS:
        raise UserError(f"{path}: a picture ends in .svg, .png or .pdf; change its name")
    require()


@contextmanager
def picture(*paths: Path, size: tuple[float, float], texts: tuple[str, ...] = ()) -> Iterator["Figure"]:
    """Yield a figure of a size in inches, and write it when the block ends. `texts` are its labels, in any script."""
    require()
    from matplotlib import rc_context  # noqa: PLC0415  # an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    from regard.look.fonts import families  # noqa: PLC0415

    with rc_context({**PLAIN, "font.family": families(texts)[0]}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a missing glyph becomes a box
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        for path in paths:
            form = path.suffix[1:]
            written = io.BytesIO()
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
            figure.savefig(written, format=form, dpi=110, metadata=undated)
            write_bytes(path, written.getvalue())


def require() -> None:
    """Raise a UserError if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise UserError("pictures need matplotlib; pip install 'regard[paper]'") from None
