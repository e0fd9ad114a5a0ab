"""ConvS2S against its equations, written out position by position."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.earlier.convolutional import Convolutional, GatedConvolution, windows

D = 10


def gated(layer: GatedConvolution, before: list[Tensor], i: int, first: int) -> Tensor:
    """h^l_i from the h^{l-1} from `first` on, in sections 3.2 and 3.4 of the paper; zeros beyond the sentence."""
    seen = [before[j] if 0 <= j < len(before) else torch.zeros(D) for j in range(first, first + layer.kernel)]
    A, B = (layer.convolution.weight @ torch.cat(seen) + layer.convolution.bias).chunk(2)
    return (A * torch.sigmoid(B) + before[i]) * math.sqrt(0.5)


def slowly(model: Convolutional, source: list[int], target: list[int]) -> tuple[Tensor, list[Tensor]]:
    k = model.config.kernel
    places = [embed.positions.weight for embed in (model.embed_source, model.embed_target)]
    e, g = (
        [model.embedding_VD[token] + place[i] for i, token in enumerate(tokens)]
        for tokens, place in zip((source, target), places, strict=True)
    )
    z = e
    for layer in model.encoder:
        z = [gated(layer, z, i, i - (k - 1) // 2) for i in range(len(z))]
    h, recorded = g, []
    for layer in model.decoder:
        h = [gated(layer.convolution, h, i, i - k + 1) for i in range(len(h))]
        new, rows = [], []
        for h_i, g_i in zip(h, g, strict=True):
            d = (layer.attention.weight @ h_i + layer.attention.bias + g_i) * math.sqrt(0.5)
            scores = torch.stack([d @ z_j for z_j in z])
            a = scores.exp() / scores.exp().sum()
            c = sum((a[j] * (z[j] + e[j]) for j in range(len(z))), torch.zeros(D)) * math.sqrt(0.5 * len(z))
            new.append((h_i + c) * math.sqrt(0.5))
            rows.append(a)
        h = new
        recorded.append(torch.stack(rows))
    return torch.stack(h), recorded


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@torch.no_grad()
def test_equals_the_equations(kernel: int) -> None:
    torch.manual_seed(2)
    config = model_config(
        architecture="convolutional", vocabulary=30, d_model=D, kernel=kernel, encoder_layers=3, decoder_layers=2
    )
    model = build(config).eval()
    assert isinstance(model, Convolutional)
    for parameter in model.parameters():
        parameter.add_(0.2 * torch.randn_like(parameter))
    sources, target = [[5, 6, 7, 8, EOS], [9, EOS], [EOS]], [BOS, 4, 4, 20, 21, 22]
    source_BS = torch.tensor([source + [PAD] * (5 - len(source)) for source in sources])
    target_BT = torch.tensor([target] * 3)
    features = model.features(source_BS, target_BT)
    cross = model.attentions(source_BS, target_BT).cross
    for row, source in enumerate(sources):
        wanted, weights = slowly(model, source, target)
        torch.testing.assert_close(features[row], wanted, atol=1e-5, rtol=1e-5)
        for layer, weights_TS in enumerate(weights):
            torch.testing.assert_close(cross[layer][row, 0, :, : len(source)], weights_TS, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 4), (4, 2)])
def test_windows_make_torchs_convolution_a_product(kernel: int, dilation: int) -> None:
    x_BPD, weight = torch.randn(2, 20, 5), torch.randn(7, 5, kernel)
    wanted = F.conv1d(x_BPD.transpose(1, 2), weight, dilation=dilation).transpose(1, 2)
    window = windows(x_BPD, wanted.shape[1], kernel, dilation)
    torch.testing.assert_close(window @ weight.transpose(1, 2).flatten(1).T, wanted, atol=1e-5, rtol=1e-5)


def test_variance_stays() -> None:
    """Sections 3.4 and 3.5: with its first weights a layer neither swells nor shrinks what it is given."""
    torch.manual_seed(0)
    for dropout in (0.0, 0.5):
        layer = GatedConvolution(256, 3, dropout).train()
        x_BTD = 0.1 * torch.randn(8, 50, 256)
        output_BTD, _ = layer.after(x_BTD, torch.zeros(8, 2, 256))
        assert output_BTD[:, 2:].std().item() == pytest.approx(0.1, rel=0.1)
