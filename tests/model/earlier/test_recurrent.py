"""Recurrent models against their equations, written out position by position; and that padding is never read."""

import pytest
import torch
from tests.model.earlier.lstm import step
from torch import Tensor, nn

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.earlier.recurrent import AdditiveAttention, Recurrent, cells

D = 12


def run(kind: str, layers: nn.RNNBase, inputs: list[Tensor], start: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    for number, begin in enumerate(start):
        (h, m), outputs = begin, []
        for x in inputs:
            h, m = step(kind, layers, f"l{number}", x, h, m)
            outputs.append(h)
        inputs = outputs
    return inputs


def run_both_ways(kind: str, layers: nn.RNNBase, inputs: list[Tensor]) -> list[Tensor]:
    for number in range(layers.num_layers):
        ways: list[list[Tensor]] = []
        for suffix, sequence in ((f"l{number}", inputs), (f"l{number}_reverse", inputs[::-1])):
            h = m = torch.zeros(layers.hidden_size)
            ways.append([])
            for x in sequence:
                h, m = step(kind, layers, suffix, x, h, m)
                ways[-1].append(h)
        inputs = [torch.cat(pair) for pair in zip(ways[0], ways[1][::-1], strict=True)]
    return inputs


def slowly(model: Recurrent, source: list[int], target: list[int]) -> tuple[Tensor, list[Tensor]]:
    """The features of one pair, and the weights of attention, as the module's docstring has them."""
    kind, config = model.config.cell, model.config
    scaled = model.embedding_VD * D**0.5
    h = run_both_ways(kind, model.encoder, [scaled[token] for token in source])
    c = torch.cat((h[-1][: D // 2], h[0][D // 2 :]))
    begin = torch.tanh(model.bridge.weight @ c + model.bridge.bias).view(-1, config.decoder_layers, D)
    s = run(kind, model.decoder, [scaled[token] for token in target], list(zip(begin[0], begin[-1], strict=True)))
    if model.score is None:
        return torch.stack(s), []
    features, recorded = [], []
    for s_t in s:
        if isinstance(model.score, AdditiveAttention):
            query, key = model.score.query, model.score.key
            both = [query.weight @ s_t + query.bias + key.weight @ h_i + key.bias for h_i in h]
            scores = torch.stack([model.score.v_D @ torch.tanh(one) for one in both])
        else:
            scores = torch.stack([s_t @ h_i for h_i in h])
        a = scores.exp() / scores.exp().sum()
        c_t = sum((a[i] * h[i] for i in range(len(h))), torch.zeros(D))
        features.append(torch.tanh(model.combine.weight @ torch.cat((c_t, s_t)) + model.combine.bias))
        recorded.append(a)
    return torch.stack(features), recorded


def random_model(cell: str, attention: str, layers: int) -> Recurrent:
    torch.manual_seed(2)
    config = model_config(
        architecture="recurrent",
        cell=cell,
        attention=attention,
        vocabulary=30,
        d_model=D,
        encoder_layers=layers,
        decoder_layers=3 - layers,
    )
    model = build(config)
    assert isinstance(model, Recurrent)
    with torch.no_grad():
        for parameter in model.parameters():  # biases that start at 0 would hide a mix-up
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("attention", ["none", "dot", "additive"])
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@torch.no_grad()
def test_equals_the_equations(cell: str, attention: str, layers: int) -> None:
    model = random_model(cell, attention, layers)
    sources, target = [[5, 6, 7, 8, EOS], [9, EOS], [EOS]], [BOS, 4, 4, 20, 21]
    source_BS = torch.tensor([source + [PAD] * (5 - len(source)) for source in sources])
    target_BT = torch.tensor([target] * 3)
    features = model.features(source_BS, target_BT)
    cross = model.attentions(source_BS, target_BT).cross
    assert len(cross) == (attention != "none")
    for row, source in enumerate(sources):
        wanted, weights = slowly(model, source, target)
        torch.testing.assert_close(features[row], wanted, atol=1e-5, rtol=1e-5)
        for position, a in enumerate(weights):
            torch.testing.assert_close(cross[0][row, 0, position, : len(source)], a, atol=1e-5, rtol=1e-5)


def test_the_gate_that_forgets_starts_open() -> None:
    for layer in (cells("lstm", D, 2, 0.1), cells("lstm", D, 1, 0.1, both_ways=True)):
        for name, bias in layer.named_parameters():
            if name.startswith("bias_ih"):
                _, forget, _, _ = bias.chunk(4)
                assert (forget == 1).all() and not (bias == 1).all()


@pytest.mark.parametrize("attention", ["none", "dot"])
@torch.no_grad()
def test_without_attention_the_source_is_one_vector(attention: str) -> None:
    """What the encoder made of the words in the middle reaches a decoder with attention only."""
    model = random_model("gru", attention, 1)
    memory, target = model.encode(torch.tensor([[5, 6, 7, EOS]])), torch.tensor([[BOS, 4]])
    before, _ = model.advance(target, model.start(memory, 2))
    memory.encoded_BSD[:, 1:-1] += 1.0
    after, _ = model.advance(target, model.start(memory, 2))
    assert torch.allclose(before, after, atol=1e-3) == (attention == "none")
