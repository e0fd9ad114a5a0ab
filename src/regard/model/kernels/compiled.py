"""Compile a model for search with torch.compile, on request; takes a minute and needs a C++ compiler or a GPU."""

from dataclasses import dataclass
from typing import Self

import torch

from regard.model.cache import Cache, KeyValue
from regard.model.seq2seq import Seq2Seq


def compile_search(model: Seq2Seq) -> None:
    """Compile a model's encode and advance, for any sizes, on their first call."""
    append = torch.compiler.disable(Cache.append)  # type: ignore[no-untyped-call]

    @dataclass(frozen=True)
    class EagerCache(Cache):
        """A cache whose append, which writes in place into shared memory, is left out of compiled graphs."""

        def append(self, new: KeyValue) -> Self:
            grown: Self = append(self, new)
            return grown

    for module in model.modules():
        if isinstance(getattr(module, "empty_cache", None), Cache):
            module.empty_cache = EagerCache()  # type: ignore[assignment]  # a Module may hold anything
    model.encode = torch.compile(model.encode, dynamic=True)  # type: ignore[method-assign]
    model.advance = torch.compile(model.advance, dynamic=True)  # type: ignore[method-assign]
