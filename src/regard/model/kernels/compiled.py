"""Kernels that torch.compile makes for a model, on request. It takes a minute and a C++ compiler, or a GPU."""

import torch

from regard.model.cache import Cache
from regard.model.seq2seq import Seq2Seq


def compile_search(model: Seq2Seq) -> None:
    """Have what search asks of a model compiled when it is first asked for; any sizes may follow."""
    # A cache grows in place behind a value's back, which compiled code can't follow.
    Cache.append = torch.compiler.disable(Cache.append)  # type: ignore[method-assign, no-untyped-call]
    model.encode = torch.compile(model.encode, dynamic=True)  # type: ignore[method-assign]
    model.advance = torch.compile(model.advance, dynamic=True)  # type: ignore[method-assign]
