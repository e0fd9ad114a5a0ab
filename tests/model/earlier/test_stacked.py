"""ByteNet and the feed-forward model against their equations, position by position, and what reaches a position."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.earlier.dilated import Dilated, DilatedBlock
from regard.model.earlier.feedforward import FeedForwardOnly, PositionLayer
from regard.model.earlier.stacked import Stacked

D = 8


def dilated(layer: DilatedBlock, xs: list[Tensor], firsts: list[int]) -> list[Tensor]:
    """x + W_3 ReLU(LN(W_2 * ReLU(LN(W_1 ReLU(LN(x)))))), with zeros beyond the sentence."""
    inner = [torch.relu(layer.norm_narrow(layer.narrow(torch.relu(layer.norm_in(x))))) for x in xs]
    made = []
    for x, first in zip(xs, firsts, strict=True):
        places = range(first, first + layer.kernel * layer.dilation, layer.dilation)
        seen = [inner[j] if 0 <= j < len(inner) else torch.zeros(D // 2) for j in places]
        convolved = layer.convolution.weight @ torch.cat(seen) + layer.convolution.bias
        made.append(x + layer.widen(torch.relu(layer.norm_out(convolved))))
    return made


def alone(layer: PositionLayer, xs: list[Tensor]) -> list[Tensor]:
    """LayerNorm(x + max(0, x W1 + b1) W2 + b2)."""
    network = layer.feed_forward
    return [layer.around_feed_forward.norm(x + network.outer(torch.relu(network.inner(x)))) for x in xs]


def slowly(model: Stacked, source: list[int], target: list[int]) -> Tensor:
    def embed(tokens: list[int]) -> list[Tensor]:
        places = model.embed_source.positions
        added = torch.zeros(len(tokens), D) if places is None else places(0, len(tokens))
        return [model.embedding_VD[token] * D**0.5 + added[i] for i, token in enumerate(tokens)]

    xs = embed(source)
    for layer in model.encoder:
        if isinstance(layer, DilatedBlock):
            left = layer.dilation * ((layer.kernel - 1) // 2)
            xs = dilated(layer, xs, [i - left for i in range(len(xs))])
        else:
            xs = alone(layer, xs)
    encoded = [model.encoder_norm(x) for x in xs]
    xs = [x + (encoded[t] if t < len(encoded) else 0.0) for t, x in enumerate(embed(target))]
    for layer in model.decoder:
        if isinstance(layer, DilatedBlock):
            xs = dilated(layer, xs, [t - layer.reach for t in range(len(xs))])
        else:
            xs = alone(layer, xs)
    xs = [model.decoder_norm(x) for x in xs]
    return torch.stack([model.output(torch.relu(x)) for x in xs] if isinstance(model, Dilated) else xs)


def random_model(**settings: object) -> Stacked:
    torch.manual_seed(2)
    model = build(model_config(vocabulary=30, d_model=D, **settings))
    assert isinstance(model, Stacked)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize(
    "settings",
    [
        {"architecture": "dilated", "encoder_layers": 4, "decoder_layers": 4, "dilation": 4},
        {"architecture": "dilated", "encoder_layers": 2, "decoder_layers": 3, "kernel": 4},
        {"architecture": "feedforward", "encoder_layers": 2, "decoder_layers": 2, "d_ff": 20},
        {"architecture": "feedforward", "encoder_layers": 2, "decoder_layers": 2, "d_ff": 20, "positions": "none"},
    ],
)
@torch.no_grad()
def test_equals_the_equations(settings: dict[str, object]) -> None:
    model = random_model(**settings)
    sources, target = [[5, 6, 7, 8, EOS], [9, EOS], [EOS]], [BOS, 4, 4, 20, 21, 22, 23]
    source_BS = torch.tensor([source + [PAD] * (5 - len(source)) for source in sources])
    features = model.features(source_BS, torch.tensor([target] * 3))
    for row, source in enumerate(sources):
        torch.testing.assert_close(features[row], slowly(model, source, target), atol=1e-5, rtol=1e-5)


def seen(model: Stacked, position: int) -> tuple[list[int], list[int]]:
    """Which source and which target positions the output at a position depends on."""
    source, target = torch.tensor([[5] * 40]), torch.tensor([[6] * 40])
    before = model.features(source, target)[0, position]
    found: tuple[list[int], list[int]] = [], []
    for side, places in enumerate(found):
        for place in range(40):
            pair = [source.clone(), target.clone()]
            pair[side][0, place] = 9
            if not torch.equal(model.features(*pair)[0, position], before):
                places.append(place)
    return found


@torch.no_grad()
def test_feed_forward_sees_its_own_position_only() -> None:
    model = random_model(architecture="feedforward", encoder_layers=2, decoder_layers=2, d_ff=20)
    assert isinstance(model, FeedForwardOnly)
    assert seen(model, 7) == ([7], [7])


@torch.no_grad()
def test_dilations_double_and_begin_again() -> None:
    model = random_model(architecture="dilated", encoder_layers=5, decoder_layers=5, dilation=4)
    assert [layer.dilation for layer in model.decoder] == [1, 2, 4, 1, 2]
    short = random_model(architecture="dilated", encoder_layers=1, decoder_layers=3, dilation=4)
    source, target = seen(short, 30)
    reach = 2 * (1 + 2 + 4)
    assert target == list(range(30 - reach, 31))
    assert source == list(range(30 - reach - 1, 32)), "one more on either side, through the encoder"


def test_a_block_of_zeros_passes_everything() -> None:
    block = DilatedBlock(D, 3, 2, 0.0)
    torch.nn.init.zeros_(block.widen.weight)
    torch.nn.init.zeros_(block.widen.bias)
    x_BTD = torch.randn(2, 6, D)
    assert torch.equal(block.around(x_BTD, torch.ones(2, 6, 1)), x_BTD)
    assert torch.equal(block.after(x_BTD, F.pad(x_BTD[:, :, : D // 2], (0, 0, 0, 0))[:, :4])[0], x_BTD)
