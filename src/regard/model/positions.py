"""Positions: sinusoids (section 3.5), learned (Table 3 row E), rotary and relative.

Shapes: B sentences, H heads, T and S positions, D = d_model, K = d_k, R relative distances.
"""

from functools import cache

import torch
from torch import Tensor, nn

from regard.errors import UserError
from regard.model.sinusoids import TABLE, sinusoid_table


def sinusoids(start: int, stop: int, size: int) -> Tensor:
    """Return PE(pos, 2i) = sin(pos / 10000^(2i/size)), PE(pos, 2i+1) = cos(same), start <= pos < stop (section 3.5)."""
    return torch.from_numpy(sinusoid_table(start, stop, size))


@cache
def _table(size: int) -> Tensor:
    """Return the sinusoids of the first positions, computed once for all layers."""
    return sinusoids(0, TABLE, size)


class Sinusoids(nn.Module):
    """Sinusoids of positions start to stop, from a table as far as it reaches."""

    table_TD: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("table_TD", _table(size), persistent=False)

    def forward(self, start: int, stop: int) -> Tensor:
        if stop <= len(self.table_TD):
            return self.table_TD[start:stop]
        return sinusoids(start, stop, self.size).to(self.table_TD)


class LearnedPositions(nn.Module):
    """A trained vector for each position (Table 3 row E; Gehring et al., 2017)."""

    def __init__(self, length: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, start: int, stop: int) -> Tensor:
        check_learned(stop, len(self.weight))
        return self.weight[start:stop]


def check_learned(stop: int, length: int) -> None:
    """Reject a text that is longer than the `length` positions that a model has learned."""
    if stop > length:
        raise UserError(
            f"a text of {stop} tokens is longer than the {length} positions that this model has learned; "
            "split it, or train with a larger model.max_length"
        )


def rotate(x_BHTK: Tensor, sinusoid_TK: Tensor) -> Tensor:
    """Rotate each pair of dimensions by an angle proportional to the position (RoPE: Su et al., 2021, equation 34).

    The dot product of a rotated query and a rotated key then depends on their distance only. The angles are those of
    the sinusoids.
    """
    sin_TI, cos_TI = sinusoid_TK[:, 0::2], sinusoid_TK[:, 1::2]
    even, odd = x_BHTK[..., 0::2], x_BHTK[..., 1::2]
    turned = torch.stack((even * cos_TI - odd * sin_TI, even * sin_TI + odd * cos_TI), dim=-1)
    return turned.flatten(-2)


class RelativePositions(nn.Module):
    """A learned key for each distance (Shaw et al., 2018, equation 4): q_i · (k_j + a_{j-i}), clipped at a distance."""

    def __init__(self, distance: int, d_k: int) -> None:
        super().__init__()
        self.distance = distance
        self.key_RK = nn.Parameter(torch.empty(2 * distance + 1, d_k))
        nn.init.normal_(self.key_RK, std=d_k**-0.5)

    def forward(self, query: Tensor, distance_TS: Tensor) -> Tensor:
        """Return q_i · a_{j-i} for queries (..., T, K), without a tensor of T·S·K."""
        products_TR = query @ self.key_RK.T
        which_TS = distance_TS.clamp(-self.distance, self.distance) + self.distance
        return products_TR.gather(-1, which_TS.expand(*products_TR.shape[:-1], which_TS.shape[-1]))
