"""Mamba against its recurrence, in plain loops of double precision."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS
from regard.model.build import build
from regard.model.later.mamba import Mamba, MambaState, SelectiveScan


def plain_system(layer: SelectiveScan, x_SE: Tensor) -> Tensor:
    """h_t = exp(Δ A) h_{t-1} + Δ B x_t and y_t = C h_t + D x_t, after the convolution: number by number."""
    S, E = x_SE.shape
    R, N, _ = layer.sizes
    K = layer.kernel_E1K.shape[2]
    x = [[float(v) for v in row] for row in x_SE]
    y = torch.zeros(S, E, dtype=torch.float64)
    read = []
    for t in range(S):
        row = []
        for e in range(E):
            total = float(layer.kernel_bias_E[e])
            for k in range(K):
                if t - (K - 1) + k >= 0:
                    total += float(layer.kernel_E1K[e, 0, k]) * x[t - (K - 1) + k][e]
            row.append(total / (1 + math.exp(-total)))
        read.append(row)
    hidden = [[0.0] * N for _ in range(E)]
    for t in range(S):
        chosen = [sum(float(layer.select_XE[i, e]) * read[t][e] for e in range(E)) for i in range(R + 2 * N)]
        for e in range(E):
            raw = float(layer.step_bias_E[e]) + sum(float(layer.step_ER[e, r]) * chosen[r] for r in range(R))
            step = math.log1p(math.exp(raw))
            y[t, e] = float(layer.skip_E[e]) * read[t][e]
            for n in range(N):
                decay = math.exp(-step * math.exp(float(layer.log_decay_EN[e, n])))
                hidden[e][n] = decay * hidden[e][n] + step * chosen[R + n] * read[t][e]
                y[t, e] += chosen[R + N + n] * hidden[e][n]
    return y


def plain_layer(layer: Mamba, x_SD: Tensor) -> Tensor:
    x_SE, gate_SE = (x_SD @ layer.input.weight.T + layer.input.bias).chunk(2, dim=1)
    y_SE = plain_system(layer.forwards, x_SE)
    if layer.backwards is not None:
        y_SE = y_SE + plain_system(layer.backwards, x_SE.flip(0)).flip(0)
    gated = y_SE.float() * gate_SE * torch.sigmoid(gate_SE)
    return gated @ layer.output.weight.T + layer.output.bias


def random_layer(*, causal: bool, kernel: int = 4, state_size: int = 3) -> Mamba:
    torch.manual_seed(0)
    layer = Mamba(6, state_size, 2, kernel, causal=causal).requires_grad_(False)
    for parameter in layer.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    return layer


@pytest.mark.parametrize("lengths", [(7, 4), (1, 1), (5, 2)])
def test_the_encoder_s_layer_reads_in_both_directions(lengths: tuple[int, int]) -> None:
    layer = random_layer(causal=False)
    assert layer.backwards is not None
    layer.backwards.kernel_bias_E.fill_(2.0)  # so that padding, which it reads first, would leave its mark
    layer.backwards.step_bias_E.fill_(1.0)
    x = torch.randn(2, lengths[0], 6)
    output, weights = layer.mix(x, torch.arange(lengths[0]) < torch.tensor(lengths)[:, None], weights=True)
    assert weights is None
    for b, length in enumerate(lengths):
        torch.testing.assert_close(output[b, :length], plain_layer(layer, x[b, :length]), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kernel", [1, 2, 4])
@pytest.mark.parametrize("cuts", [(0, 8), (0, 1, 2, 8), (0, 5, 8), tuple(range(9))])
def test_the_decoder_s_layer_goes_on_from_its_state(kernel: int, cuts: tuple[int, ...]) -> None:
    layer = random_layer(causal=True, kernel=kernel)
    x, state, parts = torch.randn(1, 8, 6), MambaState(), []
    for start, stop in pairwise(cuts):
        part, state = layer.advance(x[:, start:stop], state)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, dim=1)[0], plain_layer(layer, x[0]), atol=1e-5, rtol=1e-4)
    assert state.length == 8


def test_what_stands_in_the_padding_does_not_leak() -> None:
    layer = random_layer(causal=False)
    x, there = torch.randn(1, 9, 6), torch.arange(9)[None] < 5
    other = torch.where(there[..., None], x, torch.tensor(1e6))
    assert torch.equal(layer.mix(x, there)[0][there], layer.mix(other, there)[0][there])


def test_it_begins_as_in_its_paper() -> None:
    layer = Mamba(32, 16, 2, 4, causal=True).forwards
    torch.testing.assert_close(layer.log_decay_EN.exp()[3], torch.arange(1.0, 17.0))
    steps = torch.nn.functional.softplus(layer.step_bias_E)
    assert 0.0009 <= steps.min() < 0.004 and 0.03 < steps.max() <= 0.11


@pytest.mark.parametrize("settings", [{"mixing": "mamba"}, {"neighbours": 4}])
def test_a_decoder_keeps_as_much_of_a_long_text_as_of_a_short_one(settings: dict[str, object]) -> None:
    sizes = {"vocabulary": 20, "encoder_layers": 1, "decoder_layers": 2, "d_model": 8, "d_ff": 8, "heads": 2}
    model = build(model_config(**sizes, **settings)).eval().requires_grad_(False)
    state = model.start(model.encode(torch.tensor([[5, 6, EOS]])), 60)
    kept = []
    for step in range(50):
        _, state = model.advance(torch.tensor([[BOS if step == 0 else 4 + step % 9]]), state)
        caches = state.caches  # type: ignore[attr-defined]
        tensors = [part for cache in caches for part in vars(cache).values()]
        flat = [one for part in tensors for one in (part if isinstance(part, tuple) else (part,))]
        kept.append(sum(one.numel() for one in flat if isinstance(one, Tensor)))
    assert kept[10] == kept[49] > 0 and state.length == 50


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"blocks": 2}, "can't be taken back"), ({"positions": "rotary"}, "rotary"), ({"expand": 0}, "greater")],
)
def test_impossible_settings_are_rejected(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model_config(mixing="mamba", **settings)
