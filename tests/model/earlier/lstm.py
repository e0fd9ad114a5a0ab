"""An LSTM step by its equations, and attention by a loop: what the deep models are compared with."""

import torch
from torch import Tensor, nn

from regard.model.earlier.deep import Deep


def step(kind: str, layer: nn.RNNBase, suffix: str, x: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """One cell at one position of one sentence: the equations of the docstring of `cells`."""
    W, U, b, b_ = (getattr(layer, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    if kind == "rnn":
        return torch.tanh(W @ x + b + U @ h + b_), m
    if kind == "lstm":
        i, f, n, o = (W @ x + b + U @ h + b_).chunk(4)
        m = torch.sigmoid(f) * m + torch.sigmoid(i) * torch.tanh(n)
        return torch.sigmoid(o) * torch.tanh(m), m
    (r, z, n), (r_, z_, n_) = (W @ x + b).chunk(3), (U @ h + b_).chunk(3)
    z = torch.sigmoid(z + z_)
    return (1 - z) * torch.tanh(n + torch.sigmoid(r + r_) * n_) + z * h, m


KEPT = 0.7


def attend(model: Deep, y: Tensor, x: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The context and the weights after the bottom layer's output y."""
    query, key = model.score.query, model.score.key
    both = [query.weight @ y + query.bias + key.weight @ x_t + key.bias for x_t in x]
    scores = torch.stack([model.score.v_D @ torch.tanh(one) for one in both])
    p = scores.exp() / scores.exp().sum()
    return torch.stack([p[t] * x[t] for t in range(len(x))]).sum(0), p


class Scale(nn.Module):
    """In place of dropout: an effect that can be computed."""

    def forward(self, x: Tensor) -> Tensor:
        return KEPT * x
