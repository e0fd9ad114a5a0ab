"""Compute x W^T + b by the faster of a CPU's two libraries: oneDNN where it is known to be faster, else torch's choice.

oneDNN is faster with AVX-512; with AVX2 alone torch's own kernels are faster at nearly every size.

oneDNN compiles a matrix product for every size, which takes half a millisecond, and caches a thousand of them: harmless
where sizes repeat, but hundreds of megabytes in training, where every batch has its own sizes. So training limits the
cache to a few sizes, since the layers share them, and inference uses oneDNN for few rows only.

For a few rows, the beams of a sentence or two, both libraries read a large matrix at a fraction of the memory
bandwidth; multiplying blocks of it in parallel on all cores comes close to the full bandwidth. oneDNN does, too, if the
matrix is in its own layout, and then several rows cost hardly more than one. Such a copy is made of a loaded model's
matrices when they are first multiplied by few rows; it takes their memory again.

Shapes: N rows of all sentences, D in, M out.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

MANY, MIDDLING = 128, 1 << 16  # least rows and matrix elements from which oneDNN is faster in training
SIZES = 16  # cached primitives: the sizes of a decoder's layers in two micro-batches, forward and backward
FEW, LARGE = 64, 3 << 16  # most rows and least matrix elements for which oneDNN is faster in inference
FEWEST, BLOCKS = 16, 4  # most rows for which blocks of a large matrix are faster than either library, and how many


def limit_onednn_cache() -> None:
    """Limit oneDNN's cache to the most recent sizes, in a process that has not used it yet."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(SIZES))


def content_of(tensor: Tensor) -> tuple[int, int]:
    """Return a key that changes when a tensor does: its address and its version, which inference mode lacks."""
    return tensor.data_ptr(), -1 if tensor.is_inference() else tensor._version


class Packed:
    """A copy of a matrix in oneDNN's own layout, made when it is first asked for, and again if the matrix changes.

    Tensors that were made in inference mode do not record changes, so there is no copy of them. A `rounded` copy has 16
    bits where the processor multiplies these faster: for results that need not be exact, such as proposals.
    """

    def __init__(self, *, rounded: bool = False) -> None:
        self.dtype = torch.bfloat16 if rounded and _multiplies_bf16() else torch.float32
        self.rounded = rounded
        self._copy: tuple[tuple[int, ...], Tensor, Tensor | None] | None = None
        self._longest: tuple[tuple[int, int], float] | None = None

    def serves(self, rows: int, weight_MD: Tensor) -> bool:
        """Return whether the product with so many rows is faster with the copy.

        That of one row is not, but where the copy is there it is in the processor's cache rather than the matrix.
        """
        least = 2 if self.dtype == torch.float32 and self._copy is None else 1
        return least <= rows <= FEW and not weight_MD.is_inference()

    def multiply(self, x: Tensor, weight_MD: Tensor, bias_M: Tensor | None) -> Tensor:
        """Return x W^T + b."""
        parts = [part for part in (weight_MD, bias_M) if part is not None]
        content = tuple(number for part in parts for number in content_of(part))
        if self._copy is None or self._copy[0] != content:
            weight, bias = (None if part is None else part.detach().to(self.dtype) for part in (weight_MD, bias_M))
            self._copy = content, torch.ops.mkldnn._reorder_linear_weight(weight, FEWEST), bias
        _, packed_MD, bias_M = self._copy
        return _onednn(x.to(self.dtype), packed_MD, bias_M).to(x.dtype)

    def error(self, x: Tensor, weight_MD: Tensor) -> Tensor:
        """Return a bound on the error of x W^T for each row of x: 0 unless the copy has 16 bits.

        Input, weight and output are each off by 2^-8 of their size at most. By the inequality of Cauchy and Schwarz a
        product of two rows, and so its error, is at most that share of the product of their norms.
        """
        if self.dtype == torch.float32:
            return x.new_zeros(x.shape[:-1])
        content = content_of(weight_MD)
        if self._longest is None or self._longest[0] != content:
            self._longest = content, float(weight_MD.norm(dim=1).max())
        norms: Tensor = x.norm(dim=-1)
        return norms * (3.1 * 2**-8 * self._longest[1])

    def __reduce__(self) -> tuple[Callable[[], "Packed"], tuple[()]]:
        return partial(Packed, rounded=self.rounded), ()  # a copied or pickled model makes its own


class Linear(nn.Linear):
    """torch.nn.Linear with a faster kernel: the same parameters and results."""

    packed: Packed | None = None
    """Packed copy of the weight, in a model that is not trained."""
    rounded: bool = False
    """True if the packed copy may have 16 bits."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias, self.packed)


def linear(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None, packed: Packed | None = None) -> Tensor:
    """Return x W^T + b for x with any leading dimensions."""
    if torch.is_grad_enabled():
        return training_linear(x, weight_MD, bias_M)
    if weight_MD.numel() >= LARGE and not torch.compiler.is_compiling() and x.device.type == "cpu":
        rows = _rows(x)
        if packed is not None and packed.serves(rows, weight_MD) and _serves(x, weight_MD):
            return packed.multiply(x, weight_MD, bias_M)
        if 0 < rows <= FEWEST and len(weight_MD) % BLOCKS == 0:
            return _in_blocks(x, weight_MD, bias_M)
        if rows <= FEW and _serves(x, weight_MD):
            return _onednn(x, weight_MD, bias_M)
    return F.linear(x, weight_MD, bias_M)


def training_linear(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None) -> Tensor:
    """Return x W^T + b in a process that trains, with or without a gradient."""
    if weight_MD.numel() < MIDDLING or _rows(x) < MANY or not _serves(x, weight_MD):
        return F.linear(x, weight_MD, bias_M)
    output: Tensor = _Linear.apply(x, weight_MD, bias_M)  # type: ignore[no-untyped-call]
    return output


def pack(model: nn.Module) -> None:
    """Let a model that is not trained keep its matrices in oneDNN's layout, too, once few rows have used them."""
    for module in model.modules():
        if hasattr(module, "packed"):
            setattr(module, "packed", Packed(rounded=getattr(module, "rounded", False)))  # noqa: B010  # to mypy a tensor


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
    """Return (W x^T + b)^T by blocks of W's rows, one per core, so that the matrix is read once at full bandwidth.

    Otherwise one core reads the matrix for one row, and for a few rows it is read several times.
    """
    M, D = weight_MD.shape
    blocks = weight_MD.view(BLOCKS, M // BLOCKS, D)
    columns = x.reshape(-1, D).T.expand(BLOCKS, D, -1)
    output = (
        torch.bmm(blocks, columns) if bias_M is None else torch.baddbmm(bias_M.view(BLOCKS, -1, 1), blocks, columns)
    )
    if x.numel() > D:  # for one row the columns are in place
        output = output.view(M, -1).T.contiguous()
    return output.view(*x.shape[:-1], M)


def _rows(x: Tensor) -> int:
    return x.numel() // (x.shape[-1] or 1)


@cache
def _available() -> bool:
    known: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return known and torch.backends.cpu.get_cpu_capability() == "AVX512"


@cache
def _multiplies_bf16() -> bool:
    return _available() and bool(torch.cpu._is_avx512_bf16_supported())


def _onednn(x: Tensor, weight_MD: Tensor, bias_M: Tensor | None = None) -> Tensor:
    output: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight_MD, bias_M, "none", [], "")
    return output


class _Linear(torch.autograd.Function):
    """oneDNN's linear with a gradient, which torch lacks. torch computes the gradient of the matrix faster."""

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
