"""Heads for blockwise decoding, against plain loops, and what is trained and what stays."""

import pytest
import torch
import torch.nn.functional as F

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.later.blockwise import BlockwiseTransformer
from regard.model.seq2seq import Seq2Seq

SIZES = {
    "vocabulary": 12,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_model": 8,
    "d_ff": 16,
    "heads": 2,
    "dropout": 0.5,
}
SOURCE = torch.tensor([[4, 5, EOS], [6, EOS, PAD]])
TARGET = torch.tensor([[BOS, 7, 8, 9, 10, EOS], [BOS, 5, EOS, PAD, PAD, PAD]])


def model(blocks: int = 4, *, tuned: bool = False) -> BlockwiseTransformer:
    torch.manual_seed(1)
    built = build(model_config(**SIZES, blocks=blocks, blocks_tuned=tuned))
    assert isinstance(built, BlockwiseTransformer)
    return built


def plain(one: BlockwiseTransformer, feature_D: torch.Tensor, token: int, head: int) -> torch.Tensor:
    """LayerNorm(f + W2 max(0, W1 [f; e] + b1) + b2), from the definition."""
    heads = one.proposals
    known_E = torch.cat((feature_D, one.embedding_VD[token] * 8**0.5))
    inner_F = (known_E @ heads.inner_KEF[head] + heads.inner_bias_K1F[head, 0]).clamp(min=0)
    y_D = feature_D + inner_F @ heads.outer_KFD[head] + heads.outer_bias_K1D[head, 0]
    return F.layer_norm(y_D, (8,), heads.norm.weight, heads.norm.bias)


@torch.no_grad()
def test_heads_learn_the_tokens_after_the_next() -> None:
    one = model().eval()
    for parameter in one.proposals.parameters():
        parameter.normal_()
    lesson = one.lesson(SOURCE, TARGET)
    features = one.features(SOURCE, TARGET[:, :-1])
    assert lesson.share == 1 / 3 and lesson.features.shape == (3, 2, 5, 8)
    for head in range(3):
        for row in range(2):
            for t in range(5):
                later = t + 2 + head
                wanted = int(TARGET[row, later]) if later < 6 else PAD
                assert int(lesson.expected[head, row, t]) == wanted
                expected = plain(one, features[row, t], int(TARGET[row, t + 1]), head)
                torch.testing.assert_close(lesson.features[head, row, t], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_proposals_are_the_most_probable_tokens_of_the_heads() -> None:
    one = model().eval()
    for parameter in one.proposals.parameters():
        parameter.normal_()
    features_BTD, state = one.decoded(TARGET[:, :2], one.start(one.encode(SOURCE), 6))
    proposed = one.proposed(features_BTD[:, 1], torch.tensor([8, 5]))
    for row, token in enumerate((8, 5)):
        heads = [one.logits(plain(one, features_BTD[row, 1], token, head)).argmax() for head in range(3)]
        assert proposed[row].tolist() == [int(choice) for choice in heads]
    assert state.length == 2 and state.first(1).length == 1


@torch.no_grad()
def test_what_is_taken_back_leaves_no_trace() -> None:
    one = model().eval()
    start = one.start(one.encode(SOURCE), 6)
    _, grown = one.decoded(TARGET[:, :4], start)
    again, _ = one.decoded(TARGET[:, 2:5], grown.first(2))
    after, _ = one.decoded(TARGET[:, 4:5], grown)  # the longer state still holds what it held
    whole = one.features(SOURCE, TARGET)
    torch.testing.assert_close(again, whole[:, 2:5], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(after, whole[:, 4:5], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("tuned", [False, True])
def test_only_the_heads_are_trained_unless_all_is(tuned: bool) -> None:
    one = model(tuned=tuned).train()
    lesson = one.lesson(SOURCE, TARGET)
    one.logits(lesson.features).logsumexp(-1).sum().backward()
    with_gradient = {name.partition(".")[0] for name, parameter in one.named_parameters() if parameter.grad is not None}
    assert with_gradient == ({"proposals", "embedding_VD", "encoder", "decoder"} if tuned else {"proposals"})
    assert lesson.features.shape[0] == (4 if tuned else 3)
    if tuned:
        assert torch.equal(lesson.expected[0], TARGET[:, 1:])


def test_frozen_weights_have_no_dropout() -> None:
    one = model()
    same = [one.train().features(SOURCE, TARGET) for _ in range(2)]
    assert torch.equal(*same) and torch.equal(same[0], one.eval().features(SOURCE, TARGET))
    other = model(tuned=True).train()
    assert not torch.equal(other.features(SOURCE, TARGET), other.features(SOURCE, TARGET))


@torch.no_grad()
def test_its_own_predictions_are_those_of_the_model_without_heads() -> None:
    one = model().eval()
    without: Seq2Seq = build(model_config(**SIZES)).eval()
    own = {name: weight for name, weight in one.state_dict().items() if not name.startswith("proposals.")}
    without.load_state_dict(own)
    assert torch.equal(one.features(SOURCE, TARGET), without.features(SOURCE, TARGET))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"blocks_tuned": True}, "blocks_tuned needs blocks"),
        ({"blocks": 4, "next_word": True}, "next word"),
        ({"blocks": 0}, "greater than or equal to 1"),
    ],
)
def test_impossible_settings_are_rejected(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model_config(**SIZES, **settings)
