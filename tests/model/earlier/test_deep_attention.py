"""Deep-Att against its equations, written out position by position."""

import pytest
import torch
from tests.model.earlier.lstm import KEPT, Scale, attend
from torch import Tensor, nn

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.earlier.deep_attention import DeepAttention

D = 6


def block(layer: nn.LSTM | nn.LSTMCell, x: Tensor) -> Tensor:
    """f = W_f x."""
    suffix = "" if isinstance(layer, nn.LSTMCell) else "_l0"
    f: Tensor = getattr(layer, f"weight_ih{suffix}") @ x + getattr(layer, f"bias_ih{suffix}")
    return f


def recur(layer: nn.LSTM | nn.LSTMCell, f: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrent block: an LSTM whose gates have f as their input."""
    suffix = "" if isinstance(layer, nn.LSTMCell) else "_l0"
    i, g, n, o = (f + getattr(layer, f"weight_hh{suffix}") @ h + getattr(layer, f"bias_hh{suffix}")).chunk(4)
    c = torch.sigmoid(g) * c + torch.sigmoid(i) * torch.tanh(n)
    return torch.sigmoid(o) * torch.tanh(c), c


def column(layers: list[nn.LSTM], xs: list[Tensor], *, forward: bool, kept: float = 1.0) -> list[Tensor]:
    """[h, Half(f)] of the top layer at every position; `kept` multiplies what dropout is applied to."""
    tops: list[Tensor] = []
    for layer in layers:
        fs = [block(layer, x) for x in xs]
        h = c = torch.zeros(D)
        hs = [h] * len(xs)
        for place in range(len(xs)) if forward else reversed(range(len(xs))):
            h, c = recur(layer, fs[place], h, c)
            hs[place] = h
        xs = [torch.cat((f[: 2 * D], kept * h)) for f, h in zip(fs, hs, strict=True)]
        tops = [torch.cat((h, f[: 2 * D])) for f, h in zip(fs, hs, strict=True)]
        forward = not forward
    return tops


def slowly(model: DeepAttention, source: list[int], target: list[int], kept: float = 1.0) -> tuple[Tensor, Tensor]:
    words = [model.embedding_VD[token] * D**0.5 for token in source]
    columns = [
        column(list(layers), words, forward=number == 0, kept=kept) for number, layers in enumerate(model.encoder)
    ]
    e = [model.join.weight @ torch.cat(pair) + model.join.bias for pair in zip(*columns, strict=True)]
    layers = [model.bottom, *model.decoder]
    states = [(torch.zeros(D), torch.zeros(D)) for _ in layers]
    features, recorded = [], []
    for token in target:
        c, p = attend(model, states[0][0], e)
        x = torch.cat((model.embedding_VD[token] * D**0.5, c))
        f = h = x
        for number, layer in enumerate(layers):
            f = block(layer, x)
            h, cell = recur(layer, f, *states[number])
            states[number] = h, cell
            x = torch.cat((f[: 2 * D], kept * h))
        features.append(kept * (model.output.weight @ torch.cat((h, f[: 2 * D])) + model.output.bias))
        recorded.append(p)
    return torch.stack(features), torch.stack(recorded)


def random_model(encoder: int, decoder: int) -> DeepAttention:
    torch.manual_seed(2)
    sizes = {"vocabulary": 30, "d_model": D, "encoder_layers": encoder, "decoder_layers": decoder}
    model = build(model_config(architecture="deep-attention", **sizes)).eval()
    assert isinstance(model, DeepAttention)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize(("encoder", "decoder"), [(1, 1), (2, 2), (3, 3)])
@torch.no_grad()
def test_dropout_is_on_recurrent_outputs_and_features(encoder: int, decoder: int) -> None:
    """The path of linear maps is free of it."""
    model = random_model(encoder, decoder)
    model.dropout = Scale()  # type: ignore[assignment]
    source, target = [5, 6, 7, EOS], [BOS, 4, 20]
    features = model.features(torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(features[0], slowly(model, source, target, KEPT)[0], atol=1e-5, rtol=1e-5)


def test_gates_that_forget_start_open_in_every_layer() -> None:
    sizes = {"vocabulary": 30, "d_model": D, "encoder_layers": 3, "decoder_layers": 3}
    model = build(model_config(architecture="deep-attention", **sizes))
    biases = [bias for name, bias in model.named_parameters() if "bias_ih" in name]
    assert len(biases) == 2 * 3 + 3
    for bias in biases:
        _, forget, _, _ = bias.chunk(4)
        assert (forget == 1).all() and not (bias == 1).all()


@pytest.mark.parametrize(("encoder", "decoder"), [(1, 1), (2, 2), (3, 3)])
@torch.no_grad()
def test_equals_the_equations(encoder: int, decoder: int) -> None:
    model = random_model(encoder, decoder)
    sources, target = [[5, 6, 7, 8, EOS], [9, EOS], [EOS]], [BOS, 4, 4, 20, 21]
    source_BS = torch.tensor([source + [PAD] * (5 - len(source)) for source in sources])
    target_BT = torch.tensor([target] * 3)
    features = model.features(source_BS, target_BT)
    (cross,) = model.attentions(source_BS, target_BT).cross
    for row, source in enumerate(sources):
        wanted, weights_TS = slowly(model, source, target)
        torch.testing.assert_close(features[row], wanted, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(cross[row, 0, :, : len(source)], weights_TS, atol=1e-5, rtol=1e-5)


def test_a_linear_path_leads_through_all_layers() -> None:
    """With the recurrent blocks silenced the top layer still changes with the input, and linearly."""
    torch.manual_seed(1)
    sizes = {"vocabulary": 30, "d_model": D, "encoder_layers": 4, "decoder_layers": 1}
    model = build(model_config(architecture="deep-attention", **sizes)).eval()
    assert isinstance(model, DeepAttention)
    with torch.no_grad():
        for layers in model.encoder:
            for layer in layers:
                layer.bias_hh_l0[3 * D :] = -1e9  # the output gate, so that h is 0
        x = torch.randn(1, 1, D)
        order = torch.zeros(1, 1, dtype=torch.long)
        zero, one, two = (model._column(model.encoder[0], x * factor, order, 0) for factor in (0, 1, 2))
    assert (one - zero).abs().max() > 1e-4
    torch.testing.assert_close(two - zero, 2 * (one - zero), atol=1e-5, rtol=1e-4)
