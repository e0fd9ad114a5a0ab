"""What a mask-predict model keeps of the contract, and what it learns.

It has no `advance`, and its decoder sees the future: those parts of the contract are not for it.
"""

import pytest
import torch
from tests.support.plain_layers import PlainLayers, as_tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.model.build import build
from regard.model.later.mask_predict import LENGTH_WEIGHT, MASK, MaskPredict

SIZES = {
    "vocabulary": 20,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
    "max_length": 12,
}
SOURCE = torch.tensor([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
TARGET = torch.tensor([[BOS, 7, 8, 9, 10, EOS], [BOS, 5, EOS, PAD, PAD, PAD], [BOS, EOS, PAD, PAD, PAD, PAD]])


@pytest.fixture(params=["sinusoidal", "learned"])
def model(request: pytest.FixtureRequest) -> MaskPredict:
    torch.manual_seed(2)
    built = build(model_config(architecture="mask-predict", **SIZES, positions=request.param)).eval()
    assert isinstance(built, MaskPredict)
    return built.requires_grad_(False)


def test_features_depend_on_the_number_of_tokens_alone(model: MaskPredict) -> None:
    before = TARGET[:, :-1]
    other = torch.where(before == PAD, PAD, 13)
    features = model.features(SOURCE, before)
    assert torch.equal(features, model.features(SOURCE, other))
    shorter = model.features(SOURCE[:1], before[:1, :3])
    assert not torch.allclose(features[:1, :3], shorter, atol=1e-3)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_every_token_sees_all_tokens_and_the_source(norm: str) -> None:
    """Against plain loops: no causal mask, cross-attention to the encoder's output, and the length from its mean."""
    torch.manual_seed(5)
    one = build(model_config(architecture="mask-predict", **SIZES, norm=norm)).eval()
    assert isinstance(one, MaskPredict)
    for parameter in one.parameters():
        parameter.normal_(std=0.5)
    layers = PlainLayers(one, 2, pre_norm=norm == "pre")
    tokens = torch.tensor([[7, MASK, 9, MASK, EOS], [MASK, EOS, PAD, PAD, PAD]])
    memory = one.encode(SOURCE[:2])
    filled, lengths = one.fill(tokens, memory), one.length_logits(memory)
    for row, (source, target) in enumerate(((5, 5), (2, 2))):
        encoded = layers.encoded(SOURCE[row, :source].tolist(), 2)
        rows = layers.embedded(tokens[row, :target].tolist(), "embedding_VD")
        for name in ("decoder.0", "decoder.1"):
            rows = layers.attended(rows, [rows] * target, name)
            rows = layers.fed(layers.attended(rows, [encoded] * target, name, "cross"), name)
        rows = [layers.norm(x, "decoder_norm") for x in rows] if norm == "pre" else rows
        expected = as_tensor([layers.weights["embedding_VD"] @ x for x in rows])
        torch.testing.assert_close(filled[row, :target], expected, atol=1e-3, rtol=1e-3)
        of_length = layers.linear(sum(encoded) / len(encoded), "length")  # type: ignore[arg-type]  # a sum of vectors
        torch.testing.assert_close(lengths[row], as_tensor([of_length])[0], atol=1e-3, rtol=1e-3)


def test_padding_changes_nothing(model: MaskPredict) -> None:
    together = model.features(SOURCE, TARGET[:, :-1])
    memory = model.encode(SOURCE)
    tokens = torch.tensor([[7, MASK, 9, 10, EOS], [MASK, EOS, PAD, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
    filled, lengths = model.fill(tokens, memory), model.length_logits(memory)
    for row, (source, target) in enumerate(((5, 5), (2, 3), (1, 2))):
        alone = model.features(SOURCE[row : row + 1, :source], TARGET[row : row + 1, :target])
        torch.testing.assert_close(alone[0], together[row, :target], atol=2e-5, rtol=1e-4)
        own = model.encode(SOURCE[row : row + 1, :source])
        within = 5 if row == 0 else target - 1
        torch.testing.assert_close(
            model.fill(tokens[row : row + 1, :within], own)[0], filled[row, :within], atol=2e-5, rtol=1e-4
        )
        torch.testing.assert_close(model.length_logits(own)[0], lengths[row], atol=2e-5, rtol=1e-4)


def test_a_token_is_predicted_from_those_on_both_sides(model: MaskPredict) -> None:
    memory = model.encode(SOURCE[:1])
    base = model.fill(torch.tensor([[7, MASK, 9, 10, EOS]]), memory)[0, 1]
    for place in (0, 2, 3):
        changed = torch.tensor([[7, MASK, 9, 10, EOS]])
        changed[0, place] = 15
        assert not torch.allclose(model.fill(changed, memory)[0, 1], base, atol=1e-4)


def test_masked_tokens_are_expected_and_the_length_is_learned(model: MaskPredict) -> None:
    loss_input = model.loss_input(SOURCE, TARGET)
    tokens = TARGET[:, 1:]
    masked = loss_input.expected != PAD
    assert torch.equal(loss_input.expected[masked], tokens[masked]) and masked.any(1).all()
    logs = model.length_logits(model.encode(SOURCE)).log_softmax(-1)
    wanted = -LENGTH_WEIGHT * (logs[0, 4] + logs[1, 1] + logs[2, 0]) / masked.sum()
    assert loss_input.penalty is not None
    torch.testing.assert_close(loss_input.penalty, wanted)
    again = model.loss_input(SOURCE, TARGET)
    assert torch.equal(again.expected, loss_input.expected), "every validation has the same masks"


def test_the_number_of_masked_tokens_is_uniform() -> None:
    torch.manual_seed(0)
    model = build(model_config(architecture="mask-predict", **SIZES)).train()
    assert isinstance(model, MaskPredict)
    tokens = torch.cat((torch.full((4000, 5), 7), torch.full((4000, 2), PAD)), dim=1)
    mask = model._random_mask(tokens)
    assert not mask[:, 5:].any()
    counts = torch.bincount(mask.sum(1), minlength=6)
    assert counts[0] == 0 and (counts[1:] > 700).all() and (counts[1:] < 900).all()
    assert (mask[:, :5].float().mean(0) - 0.6).abs().max() < 0.04, "every place is as likely"


def test_attention_has_a_row_for_each_token_and_eos(model: MaskPredict) -> None:
    recorded = model.attentions(SOURCE, TARGET[:, :-1])
    for weights in recorded.cross:
        assert weights.shape == (3, 2, 5, 5)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 5))
        assert weights[1, :, :, 2:].abs().max() == 0
    for weights in recorded.decoder:
        assert weights[0].triu(1).abs().max() > 0, "the future is seen"
        assert weights[1, :, :, 3:].abs().max() == 0, "padding is not"


def test_training_reaches_every_parameter() -> None:
    model = build(model_config(architecture="mask-predict", **SIZES)).train()
    loss_input = model.loss_input(SOURCE, TARGET)
    assert loss_input.penalty is not None
    (model.logits(loss_input.features).logsumexp(-1).sum() + loss_input.penalty).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_it_does_not_write_token_by_token(model: MaskPredict) -> None:
    with pytest.raises(UserError, match="all tokens at once"):
        model.start(model.encode(SOURCE), 5)


def test_impossible_settings_are_rejected() -> None:
    with pytest.raises(ValueError, match="leave out blocks"):
        model_config(architecture="mask-predict", **SIZES, blocks=2)
    with pytest.raises(ValueError, match="can't be rotary"):
        model_config(architecture="mask-predict", **SIZES, positions="rotary")
