"""The kinds of layer in Table 1, each as the function that lets positions know of each other, and nothing besides.

What all layers share stays outside: attention takes x for its queries, keys and values alike, without W^Q, W^K, W^V and
W^O. A convolution's and a recurrence's matrices are their mixing. Torch's recurrent layer makes W x of all positions in
one product first, which is O(n·d²) like the rest of it, and is counted with it.

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

D_K = 64  # of every head, so that d grows by heads, as from base to big
KERNEL = 3
NEIGHBOURS = 64


@dataclass(frozen=True)
class Mixing:
    """A layer, and what it does to the positions: B, N, D to B, N, D."""

    layer: nn.Module
    mix: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Theory:
    """A row of Table 1 as the paper has it, and the exponents that it foresees."""

    complexity: str
    sequential: str
    path: str
    exponent_n: int
    exponent_d: int


TABLE = {
    "self-attention": Theory("O(n²·d)", "O(1)", "O(1)", 2, 1),
    "recurrent": Theory("O(n·d²)", "O(n)", "O(n)", 1, 2),
    "convolutional": Theory("O(k·n·d²)", "O(1)", "O(log_k n)", 1, 2),
    "restricted": Theory("O(r·n·d)", "O(1)", "O(n/r)", 1, 1),
}


def mixing(kind: str, d: int, *, as_written: bool = False) -> Mixing:
    """A layer of this kind on d numbers a position; attention `as_written` is equation 1 rather than a fused kernel."""
    if kind == "recurrent":
        recurrence = cells("rnn", d, layers=1, dropout=0.0)
        return Mixing(recurrence, lambda x_BND: recurrence(x_BND)[0])
    if kind == "convolutional":
        convolution = GatedConvolution(d, KERNEL, dropout=0.0)
        return Mixing(convolution, lambda x_BND: convolution.around(x_BND, torch.ones(1, 1, 1)))
    attention = MultiHeadAttention(d, d // D_K, D_K, D_K, neighbours=NEIGHBOURS if kind == "restricted" else 0)

    def mix(x_BND: Tensor) -> Tensor:
        x_BHNK = x_BND.view(*x_BND.shape[:2], -1, D_K).transpose(1, 2)
        head_BHNK, _ = attention.attend(x_BHNK, KeyValue(x_BHNK, x_BHNK), weights=as_written)
        return head_BHNK.transpose(1, 2).flatten(2)

    return Mixing(attention, mix)


def hop(kind: str, number: int) -> Mixing:
    """A link of a path from inputs to outputs, the last but `number`: mostly a layer of a stack.

    In a recurrent layer it is a step, from each position to the next. Dilated convolutions look back, as in a decoder,
    each k times as far as the one above it.
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
    return mixing(kind, D_K)
