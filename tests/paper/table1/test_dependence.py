import pytest
import torch

from regard.paper.table1.dependence import kept_bytes, longest_chain, path_formula, path_length, sequential_steps
from regard.paper.table1.layer_types import D_K, FARTHER, TABLE, hop, mixing

KINDS = (*TABLE, *FARTHER.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 9, 70, 256])
def test_path_by_gradients_is_the_formula(kind: str, n: int) -> None:
    assert path_length(kind, n) == (path_formula(kind, n) if n > 1 else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_path_is_where_a_stack_of_that_many_shows_every_input_to_every_output(kind: str) -> None:
    """All outputs against all inputs, through the whole stack at once, and not through one layer fewer."""
    torch.manual_seed(1)
    n = 10
    length = path_length(kind, n)
    assert seen(kind, length, n).all()
    assert not seen(kind, length - 1, n).all()


def seen(kind: str, hops: int, n: int) -> torch.Tensor:
    """Whether each output sees each input; what lies after it counts as seen where a layer only looks back."""

    x_1ND = torch.randn(1, n, D_K, requires_grad=True)
    y_1ND = x_1ND
    for number in range(hops):
        y_1ND = hop(kind, number).mix(y_1ND)
    rows = [torch.autograd.grad(y_1ND[:, t].sin().sum(), x_1ND, retain_graph=True)[0] for t in range(n)]
    seen_NN = (torch.cat(rows) != 0).any(2)
    if kind in ("recurrent", *FARTHER.values()):
        assert not seen_NN.triu(1).any()
        seen_NN |= torch.ones(n, n, dtype=torch.bool).triu(1)
    return seen_NN


@pytest.mark.parametrize(
    ("kind", "steps"),
    [("self-attention", 1), ("recurrent", 200), ("convolutional", 1), ("separable", 1), ("restricted", 1)],
)
def test_only_a_recurrence_takes_a_step_for_each_position(kind: str, steps: int) -> None:
    assert sequential_steps(mixing(kind, D_K), D_K, 200) == steps


def test_longest_chain_is_of_dependent_operations() -> None:
    x = torch.randn(3, requires_grad=True)
    leaf = 1  # where the gradient arrives
    assert longest_chain(x.tanh()) == 1 + leaf
    assert longest_chain(x.tanh() + x.sin()) == 2 + leaf  # side by side
    assert longest_chain(x.tanh().sin().cos() + x) == 4 + leaf


def test_memory_kept_is_what_the_equations_need() -> None:
    n, number = 128, 4
    attention, written = mixing("self-attention", D_K), mixing("self-attention", D_K, as_written=True)
    assert kept_bytes(attention, D_K, n) == number * (n * D_K + n)  # the output, and a normaliser a query
    assert kept_bytes(written, D_K, n) == (number + 1) * n * n  # the weights, and the mask in bytes
    recurrence = mixing("recurrent", D_K)
    assert kept_bytes(recurrence, D_K, 2 * n) - kept_bytes(recurrence, D_K, n) == number * n * D_K  # the states
