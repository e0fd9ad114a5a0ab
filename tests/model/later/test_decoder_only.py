"""A decoder alone against plain loops: one sequence, in which every position sees those before it."""

import pytest
import torch
from tests.support.plain_layers import PlainLayers, as_tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.later.decoder_only import DecoderOnly

SIZES = {"architecture": "decoder-only", "decoder_layers": 2, "d_model": 8, "d_ff": 12, "heads": 2, "vocabulary": 20}
SOURCE = [[5, 6, 7, EOS], [8, EOS, PAD, PAD]]
TARGET = [[BOS, 9, 10, 11], [BOS, 12, 13, 14]]


def random_model(norm: str, **changes: object) -> DecoderOnly:
    torch.manual_seed(4)
    built = build(model_config(**SIZES, norm=norm, **changes)).eval().requires_grad_(False)
    assert isinstance(built, DecoderOnly)
    for parameter in built.parameters():
        parameter.normal_(std=0.5)  # biases and norms, too
    return built


def plain(model: DecoderOnly, source: list[int], target: list[int], norm: str) -> torch.Tensor:
    """The features of the target, from the definition."""
    layers = PlainLayers(model, 2, pre_norm=norm == "pre")
    table = "embedding_VD" if model.source_VD is None else "source_VD"
    rows = layers.embedded(source, table) + layers.embedded(target, "embedding_VD", len(source))
    for number in range(2):
        seen = [rows[: place + 1] for place in range(len(rows))]
        rows = layers.fed(layers.attended(rows, seen, f"decoder.{number}"), f"decoder.{number}")
    rows = rows[len(source) :]
    return as_tensor([layers.norm(x, "decoder_norm") for x in rows] if norm == "pre" else rows)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("changes", [{}, {"source_vocabulary": 30}], ids=["one-vocabulary", "two"])
def test_source_and_target_are_one_sequence(norm: str, changes: dict[str, object]) -> None:
    model = random_model(norm, **changes)
    features = model.features(torch.tensor(SOURCE), torch.tensor(TARGET))
    for row, (source, target) in enumerate(zip(SOURCE, TARGET, strict=True)):
        expected = plain(model, [token for token in source if token != PAD], target, norm)
        torch.testing.assert_close(features[row], expected, atol=2e-4, rtol=1e-3)


def test_weights_of_source_and_target_add_up_to_one() -> None:
    found = random_model("post").attentions(torch.tensor(SOURCE), torch.tensor(TARGET))
    for own, cross in zip(found.decoder, found.cross, strict=True):
        torch.testing.assert_close(own.sum(-1) + cross.sum(-1), torch.ones(2, 2, 4))
        assert not bool(own.triu(1).any()), "no position sees those after it"
        assert not bool(cross[1, :, :, 2:].any()), "nor padding"
    assert all(not bool(weights.triu(1).any()) for weights in found.encoder)
