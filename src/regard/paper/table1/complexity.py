"""Table 1, measured: the cost of each layer type on this machine, beside the paper's complexity (section 4)."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import linear_regression
from typing import Any

import torch
from torch import Tensor

from regard.paper.markdown import table
from regard.paper.table1.dependence import kept_bytes, path_formula, path_length, sequential_steps
from regard.paper.table1.layer_types import D_K, FARTHER, KERNEL, NEIGHBOURS, TABLE, Theory, mixing

LENGTHS = (1024, 2048, 4096, 8192)  # n, at d = 64
SIZES = (256, 512, 1024, 2048)  # d, at n = 256
MEMORY_LENGTHS = (256, 512, 1024, 2048)  # n × n numbers fit on any machine; sizes do not depend on it
PATH_LENGTHS = (16, 32, 64, 128, 256)
SHORT = 256
ROUNDS = 15


@dataclass(frozen=True)
class Measured:
    """A row of Table 1, measured. Times are CPU seconds for one sentence on one thread; sizes are bytes."""

    exponent_n: float
    """Exponent of time in n, fitted over `seconds_by_n`."""
    exponent_d: float
    sequential: int
    """Sequential operations at n = 256."""
    path: int
    """Maximum path length at n = 256: layers, or steps of a recurrent layer."""
    path_by_n: dict[int, int]
    path_by_formula: dict[int, int]
    """Exact path length by Table 1, by n."""
    seconds_by_n: dict[int, float]
    seconds_by_d: dict[int, float]
    memory_exponent_n: float
    """Exponent in n of the memory saved for the backward pass, besides input and parameters; fits `memory_by_n`."""
    memory_exponent_d: float
    memory_by_n: dict[int, int]
    memory_by_d: dict[int, int]
    theory: Theory
    others: dict[str, Any]
    """Measurements of single layer types."""

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        others = values.pop("others")
        return {**values, **others}


def measure(rounds: int = ROUNDS) -> dict[str, Measured]:
    """Measure every layer type; the keys are the names in Table 1."""
    times_n, times_d = _times(rounds)
    measured = {}
    for kind, theory in TABLE.items():
        memory_n = {n: kept_bytes(mixing(kind, D_K), D_K, n) for n in MEMORY_LENGTHS}
        memory_d = {d: kept_bytes(mixing(kind, d), d, SHORT) for d in SIZES}
        farther = FARTHER.get(kind, kind)
        paths = {n: path_length(farther, n) for n in PATH_LENGTHS}
        measured[kind] = Measured(
            exponent_n=exponent(times_n[kind]),
            exponent_d=exponent(times_d[kind]),
            sequential=sequential_steps(mixing(kind, D_K), D_K, SHORT),
            path=paths[SHORT],
            path_by_n=paths,
            path_by_formula={n: path_formula(farther, n) for n in PATH_LENGTHS},
            seconds_by_n=times_n[kind],
            seconds_by_d=times_d[kind],
            memory_exponent_n=exponent(memory_n),
            memory_exponent_d=exponent(memory_d),
            memory_by_n=memory_n,
            memory_by_d=memory_d,
            theory=theory,
            others=_others(kind),
        )
    return measured


def as_markdown(measured: Mapping[str, Measured]) -> str:
    """Return a table of measured and theoretical exponents, with a note on how to read it."""
    costs, ways = [], []
    for kind, layer in measured.items():
        theory = layer.theory
        in_n, in_d = f"{layer.exponent_n:.2f} ({theory.exponent_n})", f"{layer.exponent_d:.2f} ({theory.exponent_d})"
        costs.append((kind, theory.complexity, in_n, in_d, f"{layer.memory_exponent_n:.2f}"))
        path = f"{layer.path} ({layer.path_by_formula[SHORT]})"
        ways.append((kind, layer.sequential, theory.sequential, path, theory.path))
    quadratic = measured["self-attention"].others["memory_exponent_n_as_written"]
    contiguous = measured["convolutional"].others["contiguous_path_by_n"][SHORT]
    sizes = f"n to {max(LENGTHS):,} at d = {D_K}, d to {max(SIZES):,} at n = {SHORT}; k = {KERNEL}, r = {NEIGHBOURS}"
    return f"""\
{table(("layer", "the paper", "time in n", "time in d", "memory in n"), costs)}

Exponents of the mixing alone, by one thread: {sizes}.
In brackets the paper's. Memory is what is kept for the backward pass; self-attention is computed by a kernel that never
holds all n × n weights, and as the equation is written its exponent is {quadratic:.2f}.

{table(("layer", "steps", "the paper", "path", "the paper"), ways)}

At n = {SHORT}: steps that must follow each other, and the longest path from an input to an output, by gradients and, in
brackets, by formula. Convolutions are dilated; contiguous ones need {contiguous} layers."""


def exponent(costs: Mapping[int, float]) -> float:
    """Return p of cost ~ size^p: the slope of the least-squares line through the logarithms of both."""
    return round(linear_regression([*map(math.log, costs)], [*map(math.log, costs.values())]).slope, 3)


def _others(kind: str) -> dict[str, Any]:
    if kind == "self-attention":
        written = mixing(kind, D_K, as_written=True)
        memory = {n: kept_bytes(written, D_K, n) for n in MEMORY_LENGTHS}
        return {"memory_exponent_n_as_written": exponent(memory), "memory_by_n_as_written": memory}
    if kind in FARTHER:
        paths = {n: path_length(kind, n) for n in PATH_LENGTHS}
        formula = {n: path_formula(kind, n) for n in PATH_LENGTHS}
        return {"contiguous_path_by_n": paths, "contiguous_path_by_formula": formula}
    return {}


Times = dict[str, dict[int, float]]


def _times(rounds: int) -> tuple[Times, Times]:
    """Return seconds by kind and n, and by kind and d, on one thread, so that parallel efficiency does not count."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _by_size(LENGTHS, rounds, lambda n: (n, D_K)), _by_size(SIZES, rounds, lambda d: (SHORT, d))
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
def _by_size(sizes: tuple[int, ...], rounds: int, shape: Callable[[int], tuple[int, int]]) -> Times:
    """Return the minimum time of each, measured in rounds over all, so that a busy moment spoils no result."""
    inputs = {size: torch.randn(1, *shape(size)) for size in sizes}
    layers = {(kind, size): mixing(kind, shape(size)[1]).mix for kind in TABLE for size in sizes}
    times: Times = {kind: dict.fromkeys(sizes, float("inf")) for kind in TABLE}
    for _ in range(rounds):
        for (kind, size), mix in layers.items():
            times[kind][size] = min(times[kind][size], _seconds(mix, inputs[size]))
    return times


def _seconds(mix: Callable[[Tensor], Tensor], x_1ND: Tensor) -> float:
    """Return the CPU time of this thread, which other processes do not affect; a first call warms the caches."""
    mix(x_1ND)
    start = time.thread_time()
    mix(x_1ND)
    return time.thread_time() - start
