"""Order of pairs by their two lengths, cut into batches.

Shapes: N pairs, C cells; a cell is all pairs of one source length and one target length.
"""

import math

import numpy as np
from numpy.typing import NDArray

LAYOUTS = 8  # more trials gain less than 0.1 % of padding

Integers = NDArray[np.int64]


def lay_out(
    source_N: Integers, target_N: Integers, batch_tokens: int, random: np.random.Generator
) -> tuple[Integers, list[int]]:
    """Return an order of pairs with little padding, and the bounds of its batches; pairs of equal lengths are shuffled.

    Lengths are without EOS, batch_tokens counts it: rows × longest source and rows × longest target are at most that.

    Of several random layouts of the cells, the one with the fewest positions is taken. Cells are much fewer than pairs,
    so a trial costs little more than cutting.
    """
    if not len(source_N):
        return np.empty(0, dtype=np.int64), [0]
    width = int(target_N.max()) + 1
    cells_C, cell_N, count_C = np.unique(source_N * width + target_N, return_inverse=True, return_counts=True)
    source_C, target_C = cells_C // width + 1, cells_C % width + 1
    fewest = None
    for _ in range(LAYOUTS):
        order_C = _snake(source_C, target_C, count_C, batch_tokens, random)
        source, target = (np.repeat(lengths[order_C], count_C[order_C]) for lengths in (source_C, target_C))
        bounds = _cut(np.maximum(source, target), batch_tokens, random.uniform())
        widths = np.maximum.reduceat(source, bounds[:-1]) + np.maximum.reduceat(target, bounds[:-1])
        positions = int((widths * np.diff(bounds)).sum())
        if fewest is None or positions < fewest[0]:
            fewest = positions, order_C, bounds
    assert fewest is not None
    _, order_C, bounds = fewest
    rank_C = np.empty_like(order_C)
    rank_C[order_C] = np.arange(len(order_C))
    shuffled_N = random.permutation(len(source_N))
    # Stable, because the order of ties must not depend on the processor's sorting instructions.
    return shuffled_N[np.argsort(rank_C[cell_N[shuffled_N]], kind="stable")], bounds


def _snake(
    source_C: Integers, target_C: Integers, count_C: Integers, batch_tokens: int, random: np.random.Generator
) -> Integers:
    """Order the cells in strips of one length, up and down in the other, so that neighbours are near in both.

    A strip joins as many lengths as fill a few batches: narrower ones make batches wide in the other length. Which
    length, how wide and where the first strip ends is random; that moves the batches' boundaries from epoch to epoch.
    """
    across_C, along_C = (source_C, target_C) if random.integers(2) else (target_C, source_C)
    filled = np.bincount(across_C, weights=np.maximum(source_C, target_C) * count_C) / batch_tokens
    batches = random.uniform(1.5, 4.0)
    strip = np.floor((np.cumsum(filled) - filled) / batches + random.uniform())
    strip = np.cumsum(np.diff(strip, prepend=strip[0]) > 0)
    strip_C = strip[across_C]
    return np.lexsort((np.where(strip_C % 2, -along_C, along_C), strip_C))


def _cut(longest_N: Integers, batch_tokens: int, first: float) -> list[int]:
    """Fill batch after batch while rows × the longest of them <= batch_tokens; one row may be longer than that.

    The first batch gets only the fraction `first` of its rows, which moves all later boundaries. Without that, pairs of
    rare lengths would be in a batch with the same pairs in every epoch.
    """
    bounds = [0]
    rows = np.arange(1, batch_tokens + 1)
    while (begin := bounds[-1]) < len(longest_N):
        longest = np.maximum.accumulate(longest_N[begin : begin + batch_tokens // int(longest_N[begin])])
        filled = int(np.searchsorted(longest * rows[: len(longest)], batch_tokens, side="right"))
        bounds.append(begin + max(filled if begin else math.ceil(first * filled), 1))
    return bounds
