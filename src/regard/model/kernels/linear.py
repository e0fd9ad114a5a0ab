"""x W^T + b by the faster of a CPU's two libraries: oneDNN where it is known to be, else torch's own choice.

It is where there is AVX-512; with AVX2 alone torch's own is the faster at nearly every size.

oneDNN compiles a product for every size that it meets, which takes it half a millisecond, and keeps a thousand of them:
harmless where sizes repeat, hundreds of megabytes for the batches of a training, each of its own. So training tells
it to keep a few, as the layers have the same sizes, and other work gives it few rows only.

For a few rows, the beams of a sentence or two, both read a large matrix at a fraction of the memory's speed; blocks of
it that the cores multiply side by side come near.

Shapes: N rows of all sentences, D in, M out.
"""

import os
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

MANY, MIDDLING = 128, 1 << 16  # rows and elements of a matrix from which it is faster in training
SIZES = 16  # that the layers of a decoder have in two parts of a batch, forward and back
FEW, LARGE = 64, 3 << 16  # rows up to which it serves otherwise, and the elements that make it worthwhile
FEWEST, BLOCKS = 16, 4  # rows up to which blocks of a large matrix are faster than either library, and how many blocks


def keep_little() -> None:
    """Have oneDNN forget sizes that were met a while ago, in a process that has not used it yet."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(SIZES))


class Linear(nn.Linear):
    """torch's linear layer, with the same parameters and results."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None) -> Tensor:
    """x W^T + b for x of any leading sizes."""
    if torch.is_grad_enabled():
        return training_linear(x, weight_MD, bias_M)
    if weight_MD.numel() >= LARGE and not torch.compiler.is_compiling() and x.device.type == "cpu":
        rows = _rows(x)
        if 0 < rows <= FEWEST and len(weight_MD) % BLOCKS == 0:
            return _in_blocks(x, weight_MD, bias_M)
        if rows <= FEW and _serves(x, weight_MD):
            return _onednn(x, weight_MD, bias_M)
    return F.linear(x, weight_MD, bias_M)


def training_linear(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None) -> Tensor:
    """The same in a process that trains, whether or not it is differentiated."""
    if weight_MD.numel() < MIDDLING or _rows(x) < MANY or not _serves(x, weight_MD):
        return F.linear(x, weight_MD, bias_M)
    product: Tensor = _Linear.apply(x, weight_MD, bias_M)  # type: ignore[no-untyped-call]
    return product


def _serves(x: Tensor, weight_MD: Tensor) -> bool:
    return (
        _available()
        and x.device.type == "cpu"
        and x.dtype == weight_MD.dtype == torch.float32
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


def _in_blocks(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None) -> Tensor:
    """(W x^T + b)^T by blocks of W's rows, which the cores share: the matrix is read once, as fast as memory gives it.

    Otherwise one core reads it for one row, and for a few rows it is read again and again.
    """
    M, D = weight_MD.shape
    blocks = weight_MD.view(BLOCKS, M // BLOCKS, D)
    columns = x.reshape(-1, D).T.expand(BLOCKS, D, -1)
    product = (
        torch.bmm(blocks, columns) if bias_M is None else torch.baddbmm(bias_M.view(BLOCKS, -1, 1), blocks, columns)
    )
    if x.numel() > D:  # of one row the columns are in place
        product = product.view(M, -1).T.contiguous()
    return product.view(*x.shape[:-1], M)


def _rows(x: Tensor) -> int:
    return x.numel() // (x.shape[-1] or 1)


@cache
def _available() -> bool:
    known: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return known and torch.backends.cpu.get_cpu_capability() == "AVX512"


def _onednn(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight_MD, bias_M, "none", [], "")
    return product


class _Linear(torch.autograd.Function):
    """What torch can't differentiate itself. The matrix's own gradient is a product that torch computes faster."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_MD: Tensor, bias_M: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight_MD)
        return _onednn(x, weight_MD, bias_M)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight_MD = ctx.saved_tensors
        gradient_NM = gradient.reshape(-1, gradient.shape[-1])
        wanted_x, wanted_weight, wanted_bias = ctx.needs_input_grad
        return (
            _onednn(gradient_NM, weight_MD.T).view(x.shape) if wanted_x else None,
            gradient_NM.T @ x.reshape(-1, x.shape[-1]) if wanted_weight else None,
            gradient_NM.sum(0) if wanted_bias else None,
        )
