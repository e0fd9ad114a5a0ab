"""Measure how far back a gradient reaches: its norm over the distance, in recurrences, attention and whole models.

In a recurrence h_t = tanh(W x_t + U h_{t-1} + b) the gradient of h_t with respect to h_{t-k} is a product of k matrices
diag(1 - h²) U, so its norm goes with the k-th power of the largest eigenvalue of U where tanh is nearly linear: it
vanishes below 1 and explodes above it (Bengio et al., 1994; Pascanu et al., 2013). Gates let it pass (LSTM, GRU).
Attention has one step to every position. Clipping (Pascanu et al.) limits its norm, and brings nothing back.

Shapes: B sentences, N positions, S source positions, D features, V vocabulary.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.config.presets import preset
from regard.config.special_tokens import BOS
from regard.model.attention import MultiHeadAttention
from regard.model.build import build
from regard.model.earlier.recurrent import cells
from regard.model.seq2seq import Seq2Seq
from regard.paper.drawing import BLUE, GREEN, RED, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 64
SENTENCES = 32
DISTANCES = 60
SOURCE = 60
SMALL = 1e-6  # deviation of inputs for which tanh stays nearly linear
CLIP = 5.0
EIGENVALUES = {0.8: BLUE, 0.95: GREEN, 1.05: "#c99700", 1.2: RED}
CELLS = {"rnn": RED, "gru": "#8b2fb0", "lstm": "#c99700"}
MODELS = {
    "rnn": (RED, "--"),
    "gru": ("#8b2fb0", "--"),
    "lstm": ("#c99700", "--"),
    "lstm-attention": ("#c99700", "-"),
    "tiny": (BLUE, "-"),
}

Mix = Callable[[Tensor], Tensor]
"""(B, N, D) to (B, N, D)."""


def recurrence(eigenvalue: float) -> nn.RNNBase:
    """Return a plain recurrent layer whose U has this largest eigenvalue, by magnitude."""
    layer = cells("rnn", SIZE, layers=1, dropout=0.0)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.normal_(std=SIZE**-0.5) if name.startswith("weight") else parameter.zero_()
        layer.weight_hh_l0 *= eigenvalue / torch.linalg.eigvals(layer.weight_hh_l0).abs().max()
    return layer


def states(layer: nn.RNNBase) -> Mix:
    """Return the function from a layer's inputs to its states."""
    return lambda x_BND: layer(x_BND)[0]


def reach(mix: Mix, n: int, deviation: float) -> list[float]:
    """Return the norm of the gradient of the last output over the distance to the input, relative to distance 0.

    The gradient is that of the output in a random direction; the result is the root mean square over sentences.
    """
    x_BND = (deviation * torch.randn(SENTENCES, n, SIZE)).requires_grad_()
    last_BD = mix(x_BND)[:, -1]
    (gradient_BND,) = torch.autograd.grad(last_BD, x_BND, torch.randn_like(last_BD))
    norm_N = gradient_BND.square().sum(2).mean(0).sqrt().flip(0)
    return (norm_N / norm_N[0]).tolist()


def parameter_norm(layer: nn.RNNBase, n: int, clip: float | None = None) -> float:
    """Return the norm of the gradient of the parameters for a sentence of n positions with a loss on the last."""
    layer.zero_grad()
    state_ND, _ = layer(SMALL * torch.randn(n, SIZE))
    (state_ND[-1] @ torch.ones(SIZE) / SIZE**0.5).backward()
    if clip is not None:
        nn.utils.clip_grad_norm_(layer.parameters(), clip)
    return float(torch.stack([one.grad.norm() for one in layer.parameters() if one.grad is not None]).norm())


def source_reach(model: Seq2Seq) -> list[float]:
    """Return the norm of the gradient of the first target position over the source positions, relative to the largest.

    Every source token is another one, so the gradient of its embedding is that of its position.
    """
    source_S = torch.arange(model.vocabulary - SOURCE, model.vocabulary)
    feature_1D = model.features(source_S[None], torch.tensor([[BOS]]))[:, 0]
    tables = [one for name, one in model.named_parameters() if "embed" in name and len(one) == model.vocabulary]
    (embedding_VD,) = tables
    (gradient_VD,) = torch.autograd.grad(feature_1D, embedding_VD, torch.randn_like(feature_1D))
    norm_S = gradient_VD[source_S].norm(dim=1)
    shares: list[float] = (norm_S / norm_S.max()).tolist()
    return shares


def draw_gradients(*paths: Path) -> None:
    """Plot the four parts of the story: eigenvalues, clipping, gates and attention, and whole models."""
    with torch.random.fork_rng(devices=[]), picture(*paths, size=(10, 7.4)) as figure:
        torch.manual_seed(1)
        eigenvalues, clipping, layers, models = figure.subplots(2, 2).flat
        _draw_eigenvalues(eigenvalues)
        _draw_clipping(clipping)
        _draw_layers(layers)
        _draw_models(models)
        for axes in (eigenvalues, clipping, layers, models):
            axes.set_yscale("log")
            axes.grid(alpha=0.25)
            axes.legend(fontsize="small")


def _draw_eigenvalues(axes: "Axes") -> None:
    for value, colour in EIGENVALUES.items():
        norms = reach(states(recurrence(value)), DISTANCES, SMALL)
        axes.plot(norms, color=colour, label=f"largest eigenvalue {value:g}")
        axes.plot([value**k for k in range(DISTANCES)], ":", color=colour, linewidth=0.9)
    axes.set(
        title="RNN: vanishing and exploding (dotted: the eigenvalue to the k)",
        xlabel="distance k",
        ylabel="norm, relative to k = 0",
    )


def _draw_clipping(axes: "Axes") -> None:
    lengths = range(1, DISTANCES, 3)
    for value in (0.8, 1.2):
        layer, colour = recurrence(value), EIGENVALUES[value]
        axes.plot(
            lengths, [parameter_norm(layer, n) for n in lengths], color=colour, label=f"largest eigenvalue {value:g}"
        )
        clipped = [parameter_norm(layer, n, CLIP) for n in lengths]
        axes.plot(lengths, clipped, "--", color=colour, label=f"clipped to {CLIP:g}")
    axes.set(title="RNN: clipping limits the norm", xlabel="length of the sentence", ylabel="norm of the gradient")


def _draw_layers(axes: "Axes") -> None:
    attention = MultiHeadAttention(SIZE, 4, SIZE // 4, SIZE // 4)
    mixes = {kind: states(cells(kind, SIZE, layers=1, dropout=0.0)) for kind in CELLS}
    mixes["attention"] = lambda x_BND: attention(*attention.queries_keys_values(x_BND))[0]
    for kind, mix in mixes.items():
        label = kind.upper() if kind in CELLS else kind
        axes.plot(reach(mix, DISTANCES, 1.0), color=CELLS.get(kind, BLUE), label=label)
    axes.set(title="one new layer: gates and attention", xlabel="distance k", ylabel="norm, relative to k = 0")
    axes.set_ylim(bottom=1e-13)


def _draw_models(axes: "Axes") -> None:
    for name, (colour, style) in MODELS.items():
        config = preset(name, model={"vocabulary": SOURCE + 10, "d_model": SIZE}).model
        label = {"tiny": "Transformer", "lstm-attention": "LSTM with attention"}.get(name, name.upper())
        axes.plot(source_reach(build(config).eval()), style, color=colour, label=label)
    axes.set(
        title="new models: from the first target word to the source",
        xlabel="position in the source",
        ylabel="norm, relative",
    )
