"""Measure dependencies in the autograd graph: sequential operations, path lengths and saved memory; and peak memory.

Shapes: E = 2 ends of a sentence, N positions, D = d_model.
"""

from collections.abc import Callable
from itertools import count

import torch
from torch import Tensor
from torch.autograd.graph import Node, saved_tensors_hooks

from regard.paper.table1.layer_types import D_K, KERNEL, NEIGHBOURS, Mixing, hop


def longest_chain(output: Tensor) -> int:
    """Return the length of the longest chain of dependent operations from the inputs to the output."""
    assert output.grad_fn is not None
    length: dict[Node, int] = {}
    open_nodes: list[Node] = [output.grad_fn]
    while open_nodes:
        node = open_nodes[-1]
        needed = [before for before, _ in node.next_functions if before is not None]
        missing = [before for before in needed if before not in length]
        if missing:
            open_nodes += missing
        else:
            length[open_nodes.pop()] = 1 + max((length[before] for before in needed), default=0)
    return length[output.grad_fn]


def sequential_steps(mixing: Mixing, d: int, n: int) -> int:
    """Return the sequential operations: n if each further position lengthens the longest chain, 1 if none does."""
    half, shorter, whole = (longest_chain(mixing.mix(_input(length, d))) for length in (n // 2, n - 1, n))
    added = whole - shorter
    assert whole - half == added * (n - n // 2), "a chain grows by as much with every position, or not at all"
    return n if added else 1


def path_length(kind: str, n: int) -> int:
    """Return the maximum path length between an input and an output: in layers or, in a recurrent layer, in steps.

    The first and the last output are traced back hop by hop, from the positions reached so far to the inputs with a
    nonzero gradient, until neither set grows. All other outputs lie between the two, and every position is treated
    alike. The gradient is drawn at random for every hop, since it would vanish on a long path.
    """
    reached_EN = torch.zeros(2, n, dtype=torch.bool)
    reached_EN[0, 0] = reached_EN[1, -1] = True
    hops = 0
    while True:
        grown_EN = reached_EN | _reached_from(reached_EN, hop(kind, hops))
        if torch.equal(grown_EN, reached_EN):
            return hops
        reached_EN, hops = grown_EN, hops + 1


def _reached_from(outputs_EN: Tensor, mixing: Mixing) -> Tensor:
    """Return the inputs with a nonzero gradient when the given outputs have one."""
    x_END = torch.randn(*outputs_EN.shape, D_K, requires_grad=True)
    y_END = mixing.mix(x_END)
    (gradient_END,) = torch.autograd.grad(y_END, x_END, torch.randn_like(y_END) * outputs_EN[:, :, None])
    return (gradient_END != 0).any(2)


def path_formula(kind: str, n: int) -> int:
    """Return the exact path length, of which Table 1 gives the order: k and r are centred on a position."""
    match kind:
        case "self-attention":
            return 1
        case "recurrent":
            return n - 1
        case "dilated" | "separable, dilated":
            return next(layers for layers in count() if KERNEL**layers >= n)
        case "convolutional" | "separable":
            return -(-(n - 1) // (KERNEL // 2))
        case _:
            return -(-(n - 1) // (NEIGHBOURS // 2))


def kept_bytes(mixing: Mixing, d: int, n: int) -> int:
    """Return the bytes that a layer saves for the backward pass, without its input and its parameters."""
    x_1ND = _input(n, d)
    given = {_place(tensor) for tensor in (x_1ND, *mixing.layer.parameters())}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[_place(tensor)] = tensor.untyped_storage().nbytes()
        return tensor.detach()

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        output = mixing.mix(x_1ND)
    assert output.requires_grad  # keeps the saved tensors alive until here, so that no two shared an address
    return sum(size for place, size in kept.items() if place not in given)


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the peak memory that torch allocates during a call, beyond what it held before."""
    with torch.profiler.profile(profile_memory=True) as profile:
        work()
    held = most = 0
    for event in sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _input(n: int, d: int) -> Tensor:
    return torch.randn(1, n, d, requires_grad=True)
