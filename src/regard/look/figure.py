"""The attention of one head as a file for a paper: SVG written directly, PNG and PDF by matplotlib."""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from regard.errors import UserError
from regard.files import write_bytes
from regard.look.attention_map import attention_map
from regard.look.sight import AttentionKind, Sight
from regard.translate.words import MARK

COLOUR = "#1f5fbf"
_STYLE = f"""<style>
svg {{ color: #1d2126; font: 15px system-ui, "Noto Sans", "Noto Sans CJK KR", "Apple SD Gothic Neo", sans-serif; }}
.weights {{ color: {COLOUR}; }}
</style>"""


def one_head(sight: Sight, kind: AttentionKind, layer: int, head: int) -> Tensor:
    """Return the weights (T, S) of a layer and a head, both counted from 1."""
    if kind not in sight.attention:
        raise UserError(f"this model has no {kind} attention; it has {' and '.join(sight.attention) or 'none at all'}")
    weights_LHTS = sight.attention[kind]
    for name, number, most in zip(("layer", "head"), (layer, head), weights_LHTS.shape[:2], strict=True):
        if not 1 <= number <= most:
            raise UserError(f"there is no {name} {number}: the {name}s of {kind} attention are 1 to {most}")
    return weights_LHTS[layer - 1, head - 1]


def write_head(path: Path, form: str, sight: Sight, kind: AttentionKind, layer: int, head: int) -> str:
    """Draw a head to an svg, png or pdf file; return the characters that no font has, if any."""
    weights_TS = one_head(sight, kind, layer, head).tolist()
    source, target = (list(map(shown, tokens)) for tokens in (sight.columns(kind), sight.rows(kind)))
    missing = ""
    if form == "svg":
        content = standalone(attention_map(weights_TS, source, target)).encode()
    else:
        content, missing = _drawn(form, weights_TS, source, target)
    write_bytes(path, content)
    return missing


def shown(token: str) -> str:
    """Return a token in readable form: a piece that continues a word begins with a dot."""
    if token.startswith("<"):
        return token
    return (token[1:] or "␣") if token.startswith(MARK) else f"·{token}"


def standalone(svg: str) -> str:
    """Turn inline SVG into a standalone file."""
    head, rest = svg.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">\n{_STYLE}{rest}\n'


def _drawn(
    form: str, weights_TS: Sequence[Sequence[float]], source: Sequence[str], target: Sequence[str]
) -> tuple[bytes, str]:
    try:
        from matplotlib import rc_context  # noqa: PLC0415  # an extra that SVG does not need
        from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415

        from regard.look.fonts import families  # noqa: PLC0415
    except ImportError:
        raise UserError(f"a .{form} file needs matplotlib; pip install 'regard[paper]', or write an .svg") from None
    names, missing = families([*source, *target])
    written = io.BytesIO()
    with rc_context({"font.family": names, "pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the caller reports missing glyphs
        size = (1.2 + 0.28 * len(source), 1.0 + 0.28 * len(target))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.imshow(weights_TS, vmin=0, vmax=1, cmap=LinearSegmentedColormap.from_list("", ["white", COLOUR]))
        axes.set_xticks(range(len(source)), source, rotation=90)
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_color("#c9ced4")
        figure.savefig(written, format=form, dpi=200)
    return written.getvalue(), missing
