"""What dropout does to numbers, and where each model has it: with any one place taken out, some test here fails."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.attention import MultiHeadAttention
from regard.model.build import build
from regard.model.embedding import Embed
from regard.model.kernels.dropout import Dropout, keep_scale, seeded_dropout
from regard.model.kernels.short_attention import SHORT
from regard.model.layers import AddNorm, EncoderLayer
from regard.model.positions import sinusoids
from regard.model.seq2seq import Seq2Seq

SOURCE = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 12, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 20, 21, 22, 23], [BOS, 24, 25, 26, 27]])


@pytest.mark.parametrize("chance", [0.1, 0.3, 0.5, 0.001, 0.999])
def test_share_mean_and_gradient(chance: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 1001, requires_grad=True)
    y = Dropout(chance).train()(x)
    dropped = (y == 0).float()
    assert dropped.mean().item() == pytest.approx(chance, abs=1 / 256)
    kept = y[y != 0]
    assert (kept == kept[0]).all()
    assert kept[0].item() * (1 - round(dropped.mean().item() * 256) / 256) == pytest.approx(1.0)
    # No lane of the random words may be favoured: each of the eight bytes drops its share.
    for lane in range(8):
        assert dropped.flatten()[lane::8].mean().item() == pytest.approx(dropped.mean().item(), abs=0.01)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_nothing_is_dropped_in_evaluation_or_at_chance_zero() -> None:
    x = torch.randn(10, 10)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)


def test_follows_the_random_state() -> None:
    x = torch.randn(50, 50)
    torch.manual_seed(3)
    first = Dropout(0.5).train()(x)
    assert not torch.equal(first, Dropout(0.5).train()(x))
    torch.manual_seed(3)
    assert torch.equal(first, Dropout(0.5).train()(x))


SIZES: dict[str, Any] = {"vocabulary": 30, "encoder_layers": 2, "decoder_layers": 2, "d_model": 16}
EMBEDDINGS = ("embed_source.dropout", "embed_target.dropout")


def in_layers(side: str, *parts: str) -> tuple[str, ...]:
    return tuple(f"{side}.{layer}.{part}dropout" for layer, part in product(range(2), parts))


SUBLAYERS = (
    *in_layers("encoder", "around_attention.", "around_feed_forward."),
    *in_layers("decoder", "around_attention.", "around_cross.", "around_feed_forward."),
)
WEIGHTS = (*in_layers("encoder", "attention."), *in_layers("decoder", "attention.", "cross."))
PLACES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "transformer": ({"d_ff": 24, "heads": 2}, (*EMBEDDINGS, *SUBLAYERS)),
    "pre-norm": ({"d_ff": 24, "heads": 2, "norm": "pre"}, (*EMBEDDINGS, *SUBLAYERS)),
    "recurrent": ({"architecture": "recurrent"}, (*EMBEDDINGS, "dropout")),
    "without attention": ({"architecture": "recurrent", "attention": "none"}, (*EMBEDDINGS, "dropout")),
    "convolutional": (
        {"architecture": "convolutional"},
        (*EMBEDDINGS, *in_layers("encoder", ""), *in_layers("decoder", "convolution."), "dropout"),
    ),
    "dilated": ({"architecture": "dilated"}, (*EMBEDDINGS, *in_layers("encoder", ""), *in_layers("decoder", ""))),
    "feedforward": (
        {"architecture": "feedforward", "d_ff": 24},
        (*EMBEDDINGS, *in_layers("encoder", "around_feed_forward."), *in_layers("decoder", "around_feed_forward.")),
    ),
}


def places(model: nn.Module) -> dict[str, Dropout]:
    return {name: module for name, module in model.named_modules() if isinstance(module, Dropout)}


def check_each(model: Seq2Seq, names: tuple[str, ...], chance: float) -> None:
    """Each of these places has this chance and, by itself, changes the features."""
    found = places(model.train())
    assert {name for name, place in found.items() if place.chance == chance} == set(names)
    for place in found.values():
        place.chance = 0.0
    for layer in model.modules():
        if isinstance(layer, nn.RNNBase):
            layer.dropout = 0.0
    still = model.features(SOURCE, TARGET)
    for name in names:
        found[name].chance = 0.5
        assert not torch.allclose(model.features(SOURCE, TARGET), still, atol=1e-3), f"{name} drops nothing"
        found[name].chance = 0.0


@pytest.mark.parametrize("kind", PLACES)
def test_every_place_drops(kind: str) -> None:
    """Section 5.4: on the output of each sub-layer and on the embeddings; in the other models where they say."""
    choices, names = PLACES[kind]
    torch.manual_seed(1)
    check_each(build(model_config(**SIZES, **choices, dropout=0.25)), names, 0.25)


@pytest.mark.parametrize(
    "choices",
    [{}, {"positions": "relative"}, {"neighbours": 2}, {"mixing": "longformer", "window": 1}, {"mixing": "linformer"}],
)
def test_every_attention_drops_its_weights(choices: dict[str, Any]) -> None:
    torch.manual_seed(1)
    model = build(model_config(**SIZES, d_ff=24, heads=2, dropout=0.25, attention_dropout=0.375, **choices))
    assert {name for name, place in places(model).items() if place.chance == 0.25} == {*EMBEDDINGS, *SUBLAYERS}
    check_each(model, WEIGHTS, 0.375)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_recurrent_layers_drop_between_each_other(cell: str) -> None:
    model = build(model_config(**SIZES, architecture="recurrent", cell=cell, dropout=0.25)).train()
    layers = [layer for layer in model.modules() if isinstance(layer, nn.RNNBase)]
    assert [layer.dropout for layer in layers] == [0.25, 0.25]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_sublayers_output_is_dropped_before_it_is_added(norm: str) -> None:
    around = AddNorm(8, 0.5, norm).train()
    x, y = torch.randn(4, 5, 8), torch.randn(4, 5, 8)
    torch.manual_seed(2)
    left = around.leave(x, y)
    torch.manual_seed(2)
    sum_ = x + y * keep_scale(y.shape, 0.5)
    torch.testing.assert_close(left, sum_ if norm == "pre" else F.layer_norm(sum_, (8,)))


def test_embeddings_are_dropped_with_their_positions() -> None:
    embed = Embed(model_config(d_model=64, heads=1, dropout=0.25), positions="sinusoidal", scaled=True).train()
    tokens, weight = torch.randint(4, 30, (20, 30)), torch.randn(30, 64)
    torch.manual_seed(2)
    embedded = embed(tokens, weight)
    torch.manual_seed(2)
    kept = keep_scale(torch.Size([20, 30, 64]), 0.25)
    torch.testing.assert_close(embedded, (weight[tokens] * 8 + sinusoids(0, 30, 64)) * kept)


@pytest.mark.parametrize("kind", ["recurrent", "without attention", "convolutional"])
def test_the_output_is_dropped_last(kind: str) -> None:
    model = build(model_config(**{**SIZES, "d_model": 256}, **PLACES[kind][0], dropout=0.25)).train()
    share = (model.features(SOURCE, TARGET) == 0).float().mean().item()
    assert share == pytest.approx(0.25, abs=0.05)


def dropped_attention(layer: MultiHeadAttention, x: Tensor, seen: Tensor, seed: int) -> Tensor:
    """Equation 1 with weights dropped, written out."""
    query, (key, value) = layer.queries(x), layer.keys_values(x)
    scores = (query @ key.transpose(2, 3) * layer.scale).masked_fill(~seen, -torch.inf)
    torch.manual_seed(seed)
    kept = keep_scale(scores.shape, layer.dropout.chance)
    return layer.concat((scores.softmax(-1) * kept.to(scores.dtype)) @ value)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("way", ["short", "as written", "long"])
def test_weights_are_dropped_as_written_out(way: str, causal: bool) -> None:
    """By attention within few positions, by the equation as written and over many positions, forward and backward."""
    T = SHORT + 8 if way == "long" else 20  # with at least 16 positions the short way draws no more than the others
    layer = MultiHeadAttention(8, 2, 4, 4, dropout=0.25).double().train()
    x = torch.randn(2, T, 8, dtype=torch.float64)
    there = torch.ones(2, T, dtype=torch.bool)
    there[1, T - 3 :] = False
    seen = there[:, None, None, :] & (torch.ones(T, T, dtype=torch.bool).tril() if causal else torch.tensor(True))
    torch.manual_seed(4)
    query, memory = layer.queries(x), layer.keys_values(x)
    output, _ = layer(query, memory, there, causal=causal, weights=way == "as written")
    expected = dropped_attention(layer, x, seen, 4)
    torch.testing.assert_close(output, expected)
    aim, parameters = torch.randn_like(output), list(layer.parameters())
    gradients = torch.autograd.grad((output * aim).sum(), parameters)
    for gradient, wanted in zip(gradients, torch.autograd.grad((expected * aim).sum(), parameters), strict=True):
        torch.testing.assert_close(gradient, wanted)


def sum_weights(layer: MultiHeadAttention) -> None:
    """Make a layer's output the sum of the weights of its head, which is 1 unless some are dropped."""
    for name, part in layer.named_children():
        if name.endswith("value") and isinstance(part, nn.Linear):
            nn.init.zeros_(part.weight)
            nn.init.ones_(part.bias)
    nn.init.eye_(layer.output.weight)
    nn.init.zeros_(layer.output.bias)


@pytest.mark.parametrize("choices", [{"neighbours": 8}, {"mixing": "longformer", "window": 8, "global_tokens": 2}])
def test_restricted_attention_drops_its_share(choices: dict[str, Any]) -> None:
    layer = EncoderLayer(model_config(d_model=8, heads=1, d_k=8, d_v=8, attention_dropout=0.25, **choices)).attention
    assert isinstance(layer, MultiHeadAttention)
    sum_weights(layer)
    x, there = torch.randn(20, 60, 8), torch.ones(20, 60, dtype=torch.bool)
    layer.eval()
    torch.testing.assert_close(layer.mix(x, there)[0], torch.ones(20, 60, 8))
    layer.train()
    found = layer.mix(x, there)[0]
    assert found.mean().item() == pytest.approx(1.0, abs=0.02)
    for part in (found[:, :2], found[:, 2:]):  # global positions attend by projections of their own
        assert (part - 1).abs().max() > 0.1


@pytest.mark.parametrize("positions", [20, SHORT + 8])
def test_a_threads_own_seed_decides_which_weights_are_dropped(positions: int) -> None:
    """Whatever others draw from torch's generator meanwhile."""
    layer = MultiHeadAttention(8, 2, 4, 4, dropout=0.5).train()
    x, there = torch.randn(2, positions, 8), torch.ones(2, positions, dtype=torch.bool)

    def mixed(seed: int) -> Tensor:
        with seeded_dropout(seed):
            return layer.mix(x, there)[0]

    with ThreadPoolExecutor(1) as thread:
        first, again, other = (thread.submit(mixed, seed).result() for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def drawn_after(seed: int) -> list[float]:
    torch.manual_seed(seed)
    return keep_scale(torch.Size([64]), 0.5).tolist()


def test_a_threads_own_seed_ends_with_its_block() -> None:
    """A generator that stayed after an error would make every later step ignore its seed."""
    expected = drawn_after(1)
    with pytest.raises(MemoryError), seeded_dropout(7):
        assert drawn_after(1) != expected
        raise MemoryError
    assert drawn_after(1) == drawn_after(1) == expected
    seeded_dropout(7)  # without `with`
    assert drawn_after(1) == expected


def test_an_inner_seed_leaves_the_outer_one_in_place() -> None:
    with seeded_dropout(7):
        expected = keep_scale(torch.Size([200]), 0.5)
    with seeded_dropout(7):
        first = keep_scale(torch.Size([96]), 0.5)
        with seeded_dropout(8):
            keep_scale(torch.Size([64]), 0.5)
        found = torch.cat([first, keep_scale(torch.Size([104]), 0.5)])
    assert torch.equal(found, expected)
