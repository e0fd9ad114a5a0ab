"""GNMT against its equations, written out position by position."""

import pytest
import torch
from tests.model.earlier.lstm import KEPT, Scale, attend, step
from torch import Tensor, nn

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.earlier.gnmt import Gnmt
from regard.model.later.experts import Experts

D = 10


def cell(layer: nn.LSTM | nn.LSTMCell, suffix: str, x: Tensor, m: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    if isinstance(layer, nn.LSTMCell):
        renamed = nn.LSTM(2 * D, D)
        for name, parameter in layer.named_parameters():
            setattr(renamed, f"{name}_l0", parameter)
        layer = renamed
    return step("lstm", layer, suffix, x, m, c)


def read(layer: nn.LSTM, inputs: list[Tensor], suffix: str = "l0") -> list[Tensor]:
    m = c = torch.zeros(D)
    outputs = []
    for x in inputs:
        m, c = cell(layer, suffix, x, m, c)
        outputs.append(m)
    return outputs


def encoded(model: Gnmt, source: list[int], kept: float = 1.0) -> list[Tensor]:
    """The encoder's output; `kept` multiplies what dropout is applied to."""
    inputs = [model.embedding_VD[token] * D**0.5 for token in source]
    forward = read(model.encoder[0], inputs)
    backward = read(model.encoder[0], inputs[::-1], "l0_reverse")[::-1]
    x = [torch.cat(pair) for pair in zip(forward, backward, strict=True)]
    for number, layer in enumerate(list(model.encoder)[1:], 2):
        m = read(layer, [kept * one for one in x])
        x = [a + b for a, b in zip(m, x, strict=True)] if number >= 3 else m
        if number == 2:
            x = [mixed(model.encoder_experts, one, kept) for one in x]
    return x


def mixed(experts: Experts | None, x: Tensor, kept: float) -> Tensor:
    """x + Experts(x) of one position, or x without experts."""
    return x if experts is None else x + experts((kept * x)[None, None])[0][0, 0]


def slowly(model: Gnmt, source: list[int], target: list[int], kept: float = 1.0) -> tuple[Tensor, Tensor]:
    """The features of one pair, and the weights of attention, one position and one layer after the other."""
    x = encoded(model, source, kept)
    layers = [model.bottom, *model.decoder]
    states = [(torch.zeros(D), torch.zeros(D)) for _ in layers]
    features, recorded = [], []
    for token in target:
        a, p = attend(model, states[0][0], x)
        below = model.embedding_VD[token] * D**0.5
        for number, layer in enumerate(layers, 1):
            inputs = below if number == 1 else kept * below
            m, c = cell(layer, "l0", torch.cat((inputs, a)), *states[number - 1])
            states[number - 1] = m, c
            below = m + below if number >= 3 else m
            if number == 1:
                below = mixed(model.decoder_experts, below, kept)
        features.append(kept * below)
        recorded.append(p)
    return torch.stack(features), torch.stack(recorded)


def random_model(encoder: int, decoder: int, **experts: int) -> Gnmt:
    torch.manual_seed(2)
    sizes = {"vocabulary": 30, "d_model": D, "encoder_layers": encoder, "decoder_layers": decoder}
    model = build(model_config(architecture="gnmt", **sizes, **experts))
    assert isinstance(model, Gnmt)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize("experts", [{}, {"experts": 3, "active_experts": 2, "d_ff": 7}], ids=["plain", "experts"])
@pytest.mark.parametrize(("encoder", "decoder"), [(2, 1), (2, 2), (4, 4)])
@torch.no_grad()
def test_dropout_is_on_what_a_layer_passes_on(encoder: int, decoder: int, experts: dict[str, int]) -> None:
    """Not on residual connections, nor on the context."""
    model = random_model(encoder, decoder, **experts)
    model.dropout = Scale()  # type: ignore[assignment]
    source, target = [5, 6, 7, EOS], [BOS, 4, 20]
    features = model.features(torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(features[0], slowly(model, source, target, KEPT)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("experts", [{}, {"experts": 3, "active_experts": 2, "d_ff": 7}], ids=["plain", "experts"])
@pytest.mark.parametrize(("encoder", "decoder"), [(2, 1), (2, 2), (4, 4)])
@torch.no_grad()
def test_equals_the_equations(encoder: int, decoder: int, experts: dict[str, int]) -> None:
    model = random_model(encoder, decoder, **experts)
    sources, target = [[5, 6, 7, 8, EOS], [9, EOS], [EOS]], [BOS, 4, 4, 20, 21]
    source_BS = torch.tensor([source + [PAD] * (5 - len(source)) for source in sources])
    target_BT = torch.tensor([target] * 3)
    features = model.features(source_BS, target_BT)
    (cross,) = model.attentions(source_BS, target_BT).cross
    for row, source in enumerate(sources):
        wanted, weights_TS = slowly(model, source, target)
        torch.testing.assert_close(features[row], wanted, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(cross[row, 0, :, : len(source)], weights_TS, atol=1e-5, rtol=1e-5)


def test_gates_that_forget_start_open_in_every_layer() -> None:
    model = build(model_config(architecture="gnmt", vocabulary=30, d_model=D, encoder_layers=3, decoder_layers=3))
    biases = [bias for name, bias in model.named_parameters() if "bias_ih" in name]
    assert len(biases) == 4 + 3
    for bias in biases:
        _, forget, _, _ = bias.chunk(4)
        assert (forget == 1).all() and not (bias == 1).all()


@torch.no_grad()
def test_the_first_words_are_read_through_attention_alone() -> None:
    """The decoder starts at 0: with the same encoder output it does not know which source it had."""
    model = random_model(2, 2)
    state = model.start(model.encode(torch.tensor([[5, 6, 7, EOS]])), 4)
    assert all(not part.any() for pair in state.cells for part in pair)
