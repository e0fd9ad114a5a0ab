"""Heads for blockwise decoding, against plain loops, and what is trained and what stays."""

import pytest
import torch
import torch.nn.functional as F

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.later.blockwise import BlockwiseTransformer, starting_heads
from regard.model.seq2seq import Seq2Seq

SIZES = {
    "vocabulary": 12,
    "encoder_layers": 1,
    "decoder_layers": 2,
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


def normed(x: torch.Tensor, norm: torch.nn.Module) -> torch.Tensor:
    assert isinstance(norm, torch.nn.LayerNorm)
    return F.layer_norm(x, (8,), norm.weight, norm.bias)


def plain(one: BlockwiseTransformer, row: int, feature_D: torch.Tensor, token: int, head: int) -> torch.Tensor:
    """The features of a proposal, from the definition: one head, one position, one sentence at a time."""
    heads, there = one.proposals, SOURCE[row] != PAD
    encoded_SD = one.encode(SOURCE[row : row + 1, there]).encoded_BSD[0]
    cross = one.decoder[-1].cross
    known_E = torch.cat((feature_D, one.embedding_VD[token] * 8**0.5))
    x_D = feature_D + heads.known.weight[8 * head : 8 * head + 8] @ known_E + heads.known.bias[8 * head : 8 * head + 8]
    query_D = heads.query(normed(x_D, heads.around_cross.norm))
    parts = []
    for part in (slice(0, 4), slice(4, 8)):  # two heads of attention
        keys, values = cross.key(encoded_SD)[:, part], cross.value(encoded_SD)[:, part]
        parts.append(torch.softmax(keys @ query_D[part] / 4**0.5, 0) @ values)
    x_D = x_D + heads.output(torch.cat(parts))
    inner_F = heads.feed_forward.inner(normed(x_D, heads.around_feed_forward.norm)).clamp(min=0)
    return normed(x_D + heads.feed_forward.outer(inner_F), heads.norm)


@torch.no_grad()
def test_heads_learn_the_tokens_after_the_next() -> None:
    one = model().eval()
    for parameter in one.proposals.parameters():
        parameter.normal_()
    loss_input = one.loss_input(SOURCE, TARGET)
    features = one.features(SOURCE, TARGET[:, :-1])
    assert loss_input.share == 1 / 3 and loss_input.features.shape == (3, 2, 5, 8)
    for head in range(3):
        for row in range(2):
            for t in range(5):
                later = t + 2 + head
                wanted = int(TARGET[row, later]) if later < 6 else PAD
                assert int(loss_input.expected[head, row, t]) == wanted
                expected = plain(one, row, features[row, t], int(TARGET[row, t + 1]), head)
                torch.testing.assert_close(loss_input.features[head, row, t], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_proposals_are_the_most_probable_tokens_of_the_heads() -> None:
    one = model().eval()
    for parameter in one.proposals.parameters():
        parameter.normal_()
    one.proposals.known.weight.mul_(10)  # so that the heads differ
    one.proposals.norm.bias.zero_()
    features_BTD, state = one.decoded(TARGET[:, :2], one.start(one.encode(SOURCE), 6))
    proposed = one.proposed(features_BTD[:, 1], torch.tensor([8, 5]), state)
    for row, token in enumerate((8, 5)):
        heads = [int(one.logits(plain(one, row, features_BTD[row, 1], token, head)).argmax()) for head in range(3)]
        assert proposed[row].tolist() == heads != heads[::-1]
    assert state.length == 2 and state.first(1).length == 1


@torch.no_grad()
def test_what_is_taken_back_leaves_no_trace() -> None:
    one = model().eval()
    start = one.start(one.encode(SOURCE), 6)
    _, grown = one.decoded(TARGET[:, [0, 1, 4, 4]], start)
    taken = grown.first(2)
    buffer = taken.caches[0].buffer  # type: ignore[attr-defined]
    again, longer = one.decoded(TARGET[:, 2:5], taken)
    assert longer.caches[0].buffer is buffer, "nothing is copied"  # type: ignore[attr-defined]
    whole = one.features(SOURCE, TARGET)
    torch.testing.assert_close(again, whole[:, 2:5], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_taking_back_leaves_a_branch_alone() -> None:
    """A state that has been advanced twice has two branches, of which one was copied; the other goes on as it was."""
    one = model().eval()
    start = one.start(one.encode(SOURCE), 6)
    _, first = one.decoded(TARGET[:, :3], start)
    _, second = one.decoded(TARGET[:, 3:5], first)
    _, other = one.decoded(TARGET[:, [4, 4]], first)
    other.first(3)
    after, _ = one.decoded(TARGET[:, 5:6], second)
    torch.testing.assert_close(after, one.features(SOURCE, TARGET)[:, 5:6], atol=1e-5, rtol=1e-5)


def test_heads_start_as_the_last_decoder_layer() -> None:
    torch.manual_seed(2)
    for norm in ("pre", "post"):
        sizes = {**SIZES, "norm": norm}
        trained = dict(build(model_config(**sizes)).state_dict())
        initial = dict(build(model_config(**sizes, blocks=3)).state_dict())
        trained = {name: torch.randn_like(weight) for name, weight in trained.items()}
        heads = starting_heads(initial, trained, 2)
        assert heads.keys() == initial.keys()
        assert torch.equal(heads["proposals.query.weight"], trained["decoder.1.cross.query.weight"])
        assert torch.equal(heads["proposals.output.bias"], trained["decoder.1.cross.output.bias"])
        assert torch.equal(heads["proposals.feed_forward.inner.weight"], trained["decoder.1.feed_forward.inner.weight"])
        assert torch.equal(heads["proposals.known.weight"], initial["proposals.known.weight"])
        theirs = trained["decoder.1.around_cross.norm.weight"]
        assert torch.equal(heads["proposals.around_cross.norm.weight"], theirs) == (norm == "pre")
        if norm == "pre":
            assert torch.equal(heads["proposals.norm.bias"], trained["decoder_norm.bias"])
        assert torch.equal(heads["embedding_VD"], initial["embedding_VD"]), "the rest is for the caller"


@pytest.mark.parametrize("tuned", [False, True])
def test_only_the_heads_are_trained_unless_all_is(tuned: bool) -> None:
    one = model(tuned=tuned).train()
    loss_input = one.loss_input(SOURCE, TARGET)
    one.logits(loss_input.features).logsumexp(-1).sum().backward()
    with_gradient = {name.partition(".")[0] for name, parameter in one.named_parameters() if parameter.grad is not None}
    assert with_gradient == ({"proposals", "embedding_VD", "encoder", "decoder"} if tuned else {"proposals"})
    assert loss_input.features.shape[0] == (4 if tuned else 3)
    if tuned:
        assert torch.equal(loss_input.expected[0], TARGET[:, 1:])


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
