"""Draw the attention heads of a trained model, as in the paper's appendix: all heads, and those of one word.

Shapes: L layers, H heads, T queries, S keys.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor

from regard.errors import UserError
from regard.look.figure import shown
from regard.look.inspection import look
from regard.look.sight import Sight
from regard.paper.drawing import picture
from regard.translate.load import load

WORD = "it"


def see_first(model: Path, text: str) -> Sight:
    """Return the internals of the first sentence of a text."""
    sentences = look(load(model), text).sentences
    if not sentences:
        raise UserError("the text is blank, so there is nothing to look at; give a sentence")
    return sentences[0]


def draw_heads(sight: Sight, files: Callable[[str], Sequence[Path]]) -> list[str]:
    """Draw every head of every kind of attention; return the figures' names. `files` maps a name to its files."""
    names = []
    for kind, weights_LHTS in sight.attention.items():
        names.append(f"heads-{kind}")
        rows, columns = ([shown(token) for token in tokens] for tokens in (sight.rows(kind), sight.columns(kind)))
        _draw_all(files(names[-1]), weights_LHTS, rows, columns)
    if "encoder" in sight.attention and WORD in sight.source.words:
        names.append(f"heads-of-{WORD}")
        _draw_word(files(names[-1]), sight)
    return names


def _draw_all(paths: Sequence[Path], weights_LHTS: Tensor, rows: list[str], columns: list[str]) -> None:
    """Draw a grid with a row for each layer and a column for each head."""
    L, H, T, S = weights_LHTS.shape
    size = (1.2 + H * (0.3 + 0.15 * S), 1.2 + L * (0.35 + 0.15 * T))
    with picture(*paths, size=size, texts=(*rows, *columns)) as figure:
        for number, axes in enumerate(figure.subplots(L, H, squeeze=False, sharex=True, sharey=True).flat):
            axes.imshow(weights_LHTS[number // H, number % H].tolist(), cmap="Blues", vmin=0, vmax=1)
            axes.set_title(f"layer {number // H + 1}, head {number % H + 1}", fontsize="small")
            axes.set_xticks(range(S), columns, rotation=90, fontsize="x-small")
            axes.set_yticks(range(T), rows, fontsize="x-small")
            axes.tick_params(length=0)


def _draw_word(paths: Sequence[Path], sight: Sight) -> None:
    """Draw the weights of one source word, a row for each head."""
    weights_LHTS = sight.attention["encoder"]
    L, H, _, S = weights_LHTS.shape
    place = sight.source.word_of.index(sight.source.words.index(WORD))
    tokens = [shown(token) for token in sight.source.tokens]
    with picture(*paths, size=(2.4 + 0.4 * S, 1.4 + 0.24 * L * H), texts=tuple(tokens)) as figure:
        axes = figure.subplots()
        image = axes.imshow(
            weights_LHTS[:, :, place].flatten(0, 1).tolist(), cmap="Blues", vmin=0, vmax=1, aspect="auto"
        )
        axes.set_title(f"what “{WORD}” looks at")
        axes.set_xticks(range(S), tokens, rotation=60, ha="right")
        axes.set_yticks(range(L * H), [f"layer {row // H + 1}, head {row % H + 1}" for row in range(L * H)])
        axes.tick_params(length=0)
        figure.colorbar(image, ax=axes)
