"""What every model promises (docs/architecture.md), over every choice of positions, norm and attention."""

from itertools import product
from typing import Any

import pytest
import torch

from regard.config.model import ModelConfig, model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq

SMALL: dict[str, Any] = {
    "vocabulary": 40,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
    "d_k": 6,
    "d_v": 10,
    "relative_distance": 3,
}
EXPERTS: dict[str, Any] = {"experts": 5, "active_experts": 2, "d_ff": 12}
POSITIONS = ("sinusoidal", "learned", "rotary", "relative", "none")
CHOICES: dict[str, dict[str, Any]] = {
    f"{positions} {norm} {score} {neighbours}": {**SMALL, **dict(zip(keys, choice, strict=True))}
    for keys in [("positions", "norm", "score", "neighbours")]
    for choice in product(POSITIONS, ("post", "pre"), ("scaled", "unscaled", "additive"), (0, 4))
    for positions, norm, score, neighbours in [choice]
} | {
    "next word": {**SMALL, "next_word": True, "source_vocabulary": 50},
    "separate vocabularies": {**SMALL, "source_vocabulary": 50},
    "untied": {**SMALL, "tie_projection": False, "share_embeddings": False},
    "attention dropout": {**SMALL, "attention_dropout": 0.5},
    "gelu": {**SMALL, "activation": "gelu"},
    "silu": {**SMALL, "activation": "silu"},
    "experts": {**SMALL, **EXPERTS},
    "one expert of two": {**SMALL, "experts": 2, "active_experts": 1, "norm": "pre"},
    "blocks": {**SMALL, "blocks": 3},
    "blocks, all tuned": {**SMALL, "blocks": 2, "blocks_tuned": True, "norm": "pre", "positions": "rotary"},
    "deep and shallow": {**SMALL, "encoder_layers": 3, "decoder_layers": 1},
}
LEAST: dict[str, Any] = {"vocabulary": 40, "encoder_layers": 2, "decoder_layers": 2, "d_model": 16}
CHOICES |= {
    f"{cell} {attention}": {**LEAST, "architecture": "recurrent", "cell": cell, "attention": attention}
    for cell, attention in product(("rnn", "lstm", "gru"), ("none", "dot", "additive"))
}
OTHERS: dict[str, list[dict[str, Any]]] = {
    "recurrent": [{"encoder_layers": 3, "decoder_layers": 1}, {"source_vocabulary": 50, "tie_projection": False}],
    "gnmt": [
        {},
        {"encoder_layers": 4, "decoder_layers": 3},
        {"decoder_layers": 1, "source_vocabulary": 50},
        EXPERTS,
    ],
    "deep-attention": [
        {},
        {"encoder_layers": 3, "decoder_layers": 1},
        {"encoder_layers": 1, "source_vocabulary": 50},
    ],
    "convolutional": [
        {},
        {"kernel": 1},
        {"kernel": 4, "positions": "none"},
        {"kernel": 5, "source_vocabulary": 50},
    ],
    "dilated": [{}, {"decoder_layers": 4, "dilation": 2}, {"kernel": 1}, {"kernel": 4, "dilation": 1}],
    "feedforward": [{"d_ff": 24}, {"norm": "pre", "positions": "learned"}, {"positions": "none", "d_ff": 8}],
}
CHOICES |= {
    f"{architecture} {number}": {**LEAST, "architecture": architecture, **more}
    for architecture, choices in OTHERS.items()
    for number, more in enumerate(choices)
}
MIXING: dict[str, list[dict[str, Any]]] = {
    "longformer": [{"window": 3}, {"window": 1, "global_tokens": 3, "positions": "rotary"}, {"global_tokens": 0}],
    "linformer": [{"rank": 4}, {"rank": 9, "max_length": 14, "positions": "none", "norm": "pre"}],
    "performer": [{"features": 20}, {"features": 5, "positions": "rotary"}],
    "mamba": [{"state_size": 3}, {"kernel": 1, "expand": 1, "positions": "none", "norm": "pre"}],
    "mixer": [{"token_units": 7, "max_length": 14}, {"max_length": 9, "positions": "relative"}],
    "state-space": [{"state_size": 6}, {"state_size": 2, "positions": "relative", "score": "additive"}],
}
CHOICES |= {
    f"{mixing} {number}": {**SMALL, "mixing": mixing, **more}
    for mixing, choices in MIXING.items()
    for number, more in enumerate(choices)
}

ONE_STACK = {key: value for key, value in SMALL.items() if key not in ("encoder_layers", "relative_distance")}
CHOICES |= {
    "decoder alone": {**ONE_STACK, "architecture": "decoder-only"},
    "decoder alone, learned": {**ONE_STACK, "architecture": "decoder-only", "positions": "learned", "norm": "pre"},
    "decoder alone, two vocabularies": {**ONE_STACK, "architecture": "decoder-only", "source_vocabulary": 50},
}

SOURCE = torch.tensor(
    [[5, 6, 7, 8, 9, 10, 11, 12, EOS], [13, 14, EOS] + [PAD] * 6, [EOS] + [PAD] * 8, [15] * 6 + [EOS] + [PAD] * 2]
)
TARGET = torch.tensor(
    [[BOS, 5, 9, 7, 30, 8], [BOS, 20, 21, 22, 23, 24], [BOS, 8, 8, 8, 8, 8], [BOS, 31, 32, 33, 34, 35]]
)


@pytest.fixture(params=CHOICES, scope="module")
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    torch.manual_seed(3)
    model = build(model_config(**CHOICES[request.param])).eval().requires_grad_(False)
    for name, table_V in model.named_parameters():
        if name.startswith("next_word."):
            table_V[4::2] = 1.0  # words, as training would mark them
        if name.endswith("gate_ED"):
            table_V.normal_()  # at 0, where it starts, all experts are alike
    return model


def expected(model: Seq2Seq) -> torch.Tensor:
    return model.logits(model.features(SOURCE, TARGET))


def close(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(actual, wanted, atol=2e-5, rtol=1e-4)


def test_advance_equals_features_and_logits(model: Seq2Seq) -> None:
    state = model.start(model.encode(SOURCE), TARGET.shape[1])
    for position in range(TARGET.shape[1]):
        logits, state = model.advance(TARGET[:, position : position + 1], state)
        close(logits[:, 0], expected(model)[:, position])
        assert state.length == position + 1


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_prefix_at_once_equals_one_by_one(model: Seq2Seq, cut: int) -> None:
    state = model.start(model.encode(SOURCE), TARGET.shape[1])
    first, state = model.advance(TARGET[:, :cut], state)
    second, _ = model.advance(TARGET[:, cut:], state)
    close(torch.cat((first, second), dim=1), expected(model))


def test_padding_changes_nothing(model: Seq2Seq) -> None:
    for row, length in enumerate((9, 3, 1, 7)):
        alone = model.logits(model.features(SOURCE[row : row + 1, :length], TARGET[row : row + 1]))
        close(alone[0], expected(model)[row])
    longer_source = torch.cat((SOURCE, torch.full((4, 5), PAD)), dim=1)
    longer_target = torch.cat((TARGET, torch.full((4, 3), PAD)), dim=1)
    close(model.logits(model.features(longer_source, longer_target))[:, : TARGET.shape[1]], expected(model))


def test_future_tokens_change_nothing(model: Seq2Seq) -> None:
    for position in range(1, TARGET.shape[1]):
        changed = TARGET.clone()
        changed[:, position:] = 39
        logits = model.logits(model.features(SOURCE, changed))
        close(logits[:, :position], expected(model)[:, :position])
        assert not torch.allclose(logits[:, position:], expected(model)[:, position:], atol=1e-4)


def test_select_repeats_reorders_and_drops(model: Seq2Seq) -> None:
    rows = torch.tensor([3, 1, 1, 0, 3])
    _, state = model.advance(TARGET[:, :2], model.start(model.encode(SOURCE), 6))
    logits, _ = model.advance(TARGET[rows, 2:4], state.select(rows))
    close(logits, expected(model)[rows, 2:4])


def test_select_among_beams(model: Seq2Seq) -> None:
    """Beams are opened, reordered within their sentences, mixed, and left out with their sentence."""
    _, state = model.advance(TARGET[:, :2], model.start(model.encode(SOURCE), 6))
    rows = torch.arange(4)
    for chosen in (
        torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
        torch.tensor([1, 0, 2, 3, 3, 5, 8, 7, 6, 9, 10, 9]),
        torch.tensor([9, 9, 10, 3, 4, 5]),
        torch.tensor([3, 4, 3, 1]),
        torch.tensor([2, 3]),
    ):
        rows, state = rows[chosen], state.select(chosen)
        logits, _ = model.advance(TARGET[rows, 2:4], state)
        close(logits, expected(model)[rows, 2:4])


def test_a_state_is_a_value(model: Seq2Seq) -> None:
    """Two ways on from one state, taken in turn, do not disturb each other."""
    _, state = model.advance(TARGET[:, :2], model.start(model.encode(SOURCE), 6))
    _, left = model.advance(TARGET[:, 2:3], state)
    _, right = model.advance(torch.full((4, 1), 39), state)
    assert state.length == 2 and left.length == right.length == 3
    close(model.advance(TARGET[:, 3:4], left)[0][:, 0], expected(model)[:, 3])
    other = TARGET.clone()
    other[:, 2] = 39
    wanted = model.logits(model.features(SOURCE, other))[:, 3]
    close(model.advance(TARGET[:, 3:4], right)[0][:, 0], wanted)


def test_recorded_attention_is_what_the_model_does(model: Seq2Seq) -> None:
    recorded = model.attentions(SOURCE, TARGET)
    config: ModelConfig = model.config  # type: ignore[assignment]
    heads = getattr(config, "heads", 1)
    for kind, queries, keys in ((recorded.encoder, 9, 9), (recorded.decoder, 6, 6), (recorded.cross, 6, 9)):
        for weights in kind:
            assert weights.shape == (4, heads, queries, keys)
    together = config.architecture == "decoder-only"  # source and target are of one sequence
    for layer, weights in enumerate(recorded.cross):
        total = weights.sum(-1) + (recorded.decoder[layer].sum(-1) if together else 0)
        torch.testing.assert_close(total, torch.ones(4, heads, 6))
        assert weights[1, :, :, 3:].abs().max() == 0, "padding gets no weight"
    for weights in recorded.decoder:
        assert weights.triu(1).abs().max() == 0, "the future gets no weight"


def test_training_reaches_every_parameter(model: Seq2Seq) -> None:
    torch.manual_seed(1)
    trained = build(model.config).train()  # type: ignore[arg-type]
    loss_input = trained.loss_input(SOURCE, TARGET)
    loss = trained.logits(loss_input.features).logsumexp(-1).sum()
    (loss if loss_input.penalty is None else loss + loss_input.penalty).backward()
    for name, parameter in trained.named_parameters():
        if parameter.requires_grad:  # which tokens are words is known
            assert parameter.grad is not None and parameter.grad.isfinite().all(), name
