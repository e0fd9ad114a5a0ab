"""Dropout that costs less than the matrix products around it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Source(threading.local):
    """A thread's source of random bytes: torch's generator, which threads share, or one of its own."""

    generator: torch.Generator | None = None


_source = _Source()


@contextmanager
def seeded_dropout(seed: int) -> Iterator[None]:
    """Make this thread's dropout on a CPU depend on a seed alone, and not on the draws of other threads.

    Afterwards the thread draws as before: a generator that stayed would make it ignore torch.manual_seed.
    """
    before, _source.generator = _source.generator, torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        _source.generator = before


class Dropout(nn.Module):
    """Dropout (section 5.4); on a CPU its rate is a multiple of 1/256 and the scale matches, so the mean is exact.

    torch's dropout spends some 12 ns per element on a random float; a random byte costs a twentieth of that.
    """

    def __init__(self, chance: float) -> None:
        super().__init__()
        self.chance = chance

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.chance == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.chance)
        return x * keep_scale(x.shape, self.chance).to(x.dtype)

    def extra_repr(self) -> str:
        return f"chance={self.chance}"


def keep_scale(shape: torch.Size, chance: float) -> Tensor:
    """Return 0 where an element is dropped, else 1 / (1 - chance), with the chance rounded to a multiple of 1/256."""
    dropped = min(255, max(1, round(chance * 256)))
    words = torch.empty((shape.numel() + 7) // 8, dtype=torch.int64)
    random = words.random_(-(2**63), None, generator=_source.generator)
    bytes_ = random.view(torch.uint8)[: shape.numel()].view(shape)
    # Compare directly into floats: a comparison that returns bools costs six times as much, and their conversion again.
    kept = torch.ge(bytes_, dropped, out=torch.empty(shape))
    return kept.mul_(256 / (256 - dropped))


def uniform(shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Return uniform numbers from 0 to below 1, on a CPU from this thread's source as dropout's are."""
    generator = _source.generator if device.type == "cpu" else None
    return torch.rand(shape, device=device, generator=generator)


def standard_normal(like: Tensor) -> Tensor:
    """Return standard normal numbers of a tensor's shape, on a CPU from this thread's source as dropout's are."""
    generator = _source.generator if like.device.type == "cpu" else None
    return torch.randn(like.shape, dtype=like.dtype, device=like.device, generator=generator)
