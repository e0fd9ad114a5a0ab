"""The layer types of Table 1, each reduced to the function that mixes positions.

Attention uses x as queries, keys and values, without W^Q, W^K, W^V and W^O. The matrices of a convolution and of a
recurrence are part of their mixing. Torch's recurrent layer first computes W x of all positions in one matmul, which is
O(n·d²) like the rest of it, and is counted with it.

Shapes: B sentences, N positions, X = B·N, D = d_model, H heads, K = d_k.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.cache import KeyValue
from regard.model.earlier.convolutional import GatedConvolution
from regard.model.earlier.dilated import DilatedBlock
from regard.model.earlier.recurrent import cells

D_K = 64  # per head: a larger d has more heads, as from base to big
KERNEL = 3
NEIGHBOURS = 64


@dataclass(frozen=True)
class Mixing:
    """A layer, and its function on positions: (B, N, D) to (B, N, D)."""

    layer: nn.Module
    mix: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Theory:
    """A row of the paper's Table 1, and the exponents that it implies."""

    complexity: str
    sequential: str
    path: str
    exponent_n: int
    exponent_d: int


FARTHER = {"convolutional": "dilated", "separable": "separable, dilated"}
"""The kinds of convolution whose path Table 1 has: dilated, and not contiguous."""

TABLE = {
    "self-attention": Theory("O(n²·d)", "O(1)", "O(1)", 2, 1),
    "recurrent": Theory("O(n·d²)", "O(n)", "O(n)", 1, 2),
    "convolutional": Theory("O(k·n·d²)", "O(1)", "O(log_k n)", 1, 2),
    "separable": Theory("O(k·n·d + n·d²)", "O(1)", "O(log_k n)", 1, 2),
    "restricted": Theory("O(r·n·d)", "O(1)", "O(n/r)", 1, 1),
}


class SeparableConvolution(nn.Module):
    """Convolve each feature by itself, then mix the features of each position (Chollet, 2017; section 4).

    With a dilation it looks back only, as in a decoder.
    """

    def __init__(self, d: int, kernel: int, dilation: int | None = None) -> None:
        super().__init__()
        self.reach = (kernel - 1) * (dilation or 1)
        self.before = self.reach if dilation else self.reach // 2
        self.depthwise = nn.Conv1d(d, d, kernel, dilation=dilation or 1, groups=d)
        self.pointwise = nn.Linear(d, d)

    def forward(self, x_BND: Tensor) -> Tensor:
        padded_BDN = F.pad(x_BND.transpose(1, 2), (self.before, self.reach - self.before))
        mixed_BND: Tensor = self.pointwise(self.depthwise(padded_BDN).transpose(1, 2))
        return mixed_BND


def mixing(kind: str, d: int, *, as_written: bool = False) -> Mixing:
    """Return a layer of this kind of width d; attention `as_written` is equation 1 instead of a fused kernel."""
    if kind == "recurrent":
        recurrence = cells("rnn", d, layers=1, dropout=0.0)
        return Mixing(recurrence, lambda x_BND: recurrence(x_BND)[0])
    if kind == "convolutional":
        convolution = GatedConvolution(d, KERNEL, dropout=0.0)
        return Mixing(convolution, lambda x_BND: convolution.around(x_BND, torch.ones(1, 1, 1)))
    if kind == "separable":
        separable = SeparableConvolution(d, KERNEL)
        return Mixing(separable, separable)
    attention = MultiHeadAttention(d, d // D_K, D_K, D_K, neighbours=NEIGHBOURS if kind == "restricted" else 0)

    def mix(x_BND: Tensor) -> Tensor:
        x_BHNK = x_BND.view(*x_BND.shape[:2], -1, D_K).transpose(1, 2)
        head_BHNK, _ = attention.attend(x_BHNK, KeyValue(x_BHNK, x_BHNK), weights=as_written)
        return head_BHNK.transpose(1, 2).flatten(2)

    return Mixing(attention, mix)


def hop(kind: str, number: int) -> Mixing:
    """Return one hop of a path from inputs to outputs, counted from the last: usually a layer of a stack.

    In a recurrent layer it is a time step, from each position to the next. Dilated convolutions are causal, as in a
    decoder, and each reaches k times as far as the one above it.
    """
    if kind == "recurrent":
        cell = cells("rnn", D_K, layers=1, dropout=0.0)

        def step(x_BND: Tensor) -> Tensor:
            before_BND = F.pad(x_BND[:, :-1], (0, 0, 1, 0))
            state_X1D: Tensor = cell(x_BND.flatten(0, 1)[:, None], before_BND.flatten(0, 1)[None])[0]
            return state_X1D.view_as(x_BND)

        return Mixing(cell, step)
    if kind == "dilated":
        block = DilatedBlock(D_K, KERNEL, KERNEL**number, dropout=0.0)
        return Mixing(block, lambda x_BND: block.after(x_BND, torch.zeros(len(x_BND), block.reach, block.channels))[0])
    if kind == "separable, dilated":
        separable = SeparableConvolution(D_K, KERNEL, KERNEL**number)
        return Mixing(separable, separable)
    return mixing(kind, D_K)
