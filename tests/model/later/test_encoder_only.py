"""An encoder alone: labels and masked tokens."""

import pytest
import torch
from tests.support.plain_layers import PlainLayers, as_tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.model.build import build
from regard.model.later.encoder_only import MASK, EncoderOnly

SIZES = {"encoder_layers": 2, "d_model": 16, "d_ff": 24, "heads": 2, "architecture": "encoder-only"}
SOURCE = torch.tensor([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD]])
TARGET = torch.tensor([[BOS, 4, EOS], [BOS, 6, EOS]])


def labels() -> EncoderOnly:
    torch.manual_seed(1)
    built = build(model_config(**SIZES, vocabulary=7, source_vocabulary=20))
    assert isinstance(built, EncoderOnly)
    return built


def masked(**changes: object) -> EncoderOnly:
    torch.manual_seed(1)
    built = build(model_config(**SIZES, vocabulary=20, learns="masked", **changes))
    assert isinstance(built, EncoderOnly)
    return built


@torch.no_grad()
def test_a_label_is_expected_once_and_padding_changes_nothing() -> None:
    model = labels().eval()
    loss_input = model.loss_input(SOURCE, TARGET)
    assert loss_input.expected.tolist() == [4, 6] and loss_input.features.shape == (2, 16)
    assert model.logits(loss_input.features).shape == (2, 7)
    alone = model.loss_input(SOURCE[1:, :2], TARGET[1:]).features
    torch.testing.assert_close(alone[0], loss_input.features[1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model.features(SOURCE, TARGET[:, :1])[:, 0], loss_input.features)
    encoded = model.encode(SOURCE).encoded_BSD
    assert model.pool is not None
    mean = torch.tanh(model.pool(torch.stack((encoded[0].mean(0), encoded[1, :2].mean(0)))))
    torch.testing.assert_close(loss_input.features, mean, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_every_position_sees_all(norm: str) -> None:
    """Against plain loops."""
    model = masked(norm=norm).eval()
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    layers = PlainLayers(model, 2, pre_norm=norm == "pre")
    encoded = model.encode(SOURCE).encoded_BSD
    for row, length in enumerate((5, 2)):
        expected = as_tensor(layers.encoded(SOURCE[row, :length].tolist(), 2))
        torch.testing.assert_close(encoded[row, :length], expected, atol=2e-4, rtol=1e-3)


def test_masks_are_as_in_bert() -> None:
    model = masked().train()
    torch.manual_seed(0)
    source = torch.randint(4, 20, (500, 60))
    source[:, -1] = EOS
    chosen, given = model._corrupted(source)
    assert not chosen[:, -1].any() and torch.equal(given[~chosen], source[~chosen])
    assert abs(float(chosen[:, :-1].float().mean()) - 0.15) < 0.01
    of_chosen = given[chosen]
    assert abs(float((of_chosen == MASK).float().mean()) - 0.8) < 0.02
    same = float((of_chosen == source[chosen]).float().mean())
    assert abs(same - (0.1 + 0.1 / 16)) < 0.02, "a tenth stays, and a random token may be the same"
    assert int(given.max()) < 20


@torch.no_grad()
def test_masked_tokens_are_expected_from_both_sides() -> None:
    model = masked().eval()
    source = torch.randint(4, 20, (4, 30))
    loss_input = model.loss_input(source, TARGET)
    again = model.loss_input(source, TARGET)
    assert torch.equal(loss_input.expected, again.expected), "every validation has the same masks"
    there = loss_input.expected != PAD
    chosen, given = model._corrupted(source)
    assert torch.equal(there, chosen) and torch.equal(loss_input.expected[there], source[there])
    torch.testing.assert_close(loss_input.features, model.encode(given).encoded_BSD)
    assert 0 < int(there.sum()) < 60, "some of them, not all"
    assert model.logits(loss_input.features).shape == (4, 30, 20)


def test_two_vocabularies_predict_the_text_s_own() -> None:
    model = masked(source_vocabulary=30, share_embeddings=False)
    assert len(model.projection_VD) == 30


@pytest.mark.parametrize("make", [labels, masked])
def test_training_reaches_every_parameter(make: object) -> None:
    model = make().train()  # type: ignore[operator]
    torch.manual_seed(3)
    source = torch.randint(4, 20, (2, 40))
    loss_input = model.loss_input(source, TARGET)
    model.logits(loss_input.features).logsumexp(-1).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_it_writes_no_text() -> None:
    model = labels()
    with pytest.raises(UserError, match="regard classify"):
        model.start(model.encode(SOURCE), 5)
    assert model.attentions(SOURCE, TARGET).cross == ()
