"""Our Transformer against torch's, with the same weights; and what must hold of an encoder without positions."""

import pytest
import torch
from torch import nn

from regard.config.model import TransformerConfig, model_config
from regard.config.presets import paper_figures, preset, preset_names
from regard.config.special_tokens import BOS, PAD
from regard.model.build import build
from regard.model.kernels.dropout import Dropout
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.masks import not_padding
from regard.model.transformer import Transformer

CONFIG = model_config(vocabulary=60, encoder_layers=3, decoder_layers=3, d_model=32, d_ff=64, heads=4, dropout=0.1)


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    theirs.out_proj.bias.copy_(ours.output.bias)


def copy_rest(ours: EncoderLayer | DecoderLayer, theirs: nn.Module, norms: list[str]) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for number, around in enumerate(norms, 1):
        getattr(theirs, f"norm{number}").load_state_dict(getattr(ours, around).norm.state_dict())


@torch.no_grad()
def torch_twin(ours: Transformer) -> nn.Transformer:
    config = ours.config
    theirs = nn.Transformer(
        config.d_model, config.heads, config.encoder_layers, config.decoder_layers, config.d_ff, 0.0, batch_first=True
    )
    theirs.encoder.norm = theirs.decoder.norm = None  # torch adds one; the paper, being post-norm, has none
    for mine, other in zip(ours.encoder, theirs.encoder.layers, strict=True):
        copy_attention(mine.attention, other.self_attn)
        copy_rest(mine, other, ["around_attention", "around_feed_forward"])
    for mine, other in zip(ours.decoder, theirs.decoder.layers, strict=True):
        copy_attention(mine.attention, other.self_attn)
        copy_attention(mine.cross, other.multihead_attn)
        copy_rest(mine, other, ["around_attention", "around_cross", "around_feed_forward"])
    return (
        theirs.train()
    )  # with no dropout it computes the same, without the fused path that turns padding into nested tensors


@pytest.fixture
def ours() -> Transformer:
    torch.manual_seed(5)
    model = build(CONFIG)
    assert isinstance(model, Transformer)
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms start at 0 and 1, which would hide a mix-up
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    source, target = torch.randint(4, 60, (3, 12)), torch.randint(4, 60, (3, 10))
    target[:, 0] = BOS
    source[1, 7:] = PAD
    target[2, 5:] = PAD
    return source, target


@torch.no_grad()
def test_equals_torch(ours: Transformer) -> None:
    theirs = torch_twin(ours)
    source, target = pair()
    wanted = theirs(
        ours.embed_source(source, ours.embedding_VD),
        ours.embed_target(target, ours.embedding_VD),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(10),
        src_key_padding_mask=torch.where(source == PAD, -torch.inf, 0.0),
        memory_key_padding_mask=torch.where(source == PAD, -torch.inf, 0.0),
        tgt_key_padding_mask=torch.where(target == PAD, -torch.inf, 0.0),
        tgt_is_causal=True,
    )
    real = not_padding(target)
    torch.testing.assert_close(ours.features(source, target)[real], wanted[real], atol=1e-5, rtol=1e-5)
    memory = theirs.encoder(
        ours.embed_source(source, ours.embedding_VD), src_key_padding_mask=torch.where(source == PAD, -torch.inf, 0.0)
    )
    real = not_padding(source)
    torch.testing.assert_close(ours.encode(source).encoded_BSD[real], memory[real], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_embedding_is_scaled_and_tied(ours: Transformer) -> None:
    source, target = pair()
    embedded = ours.embed_source(source, ours.embedding_VD)
    assert ours.embed_source.positions is not None
    wanted = ours.embedding_VD[source] * 32**0.5 + ours.embed_source.positions(0, 12)
    torch.testing.assert_close(embedded, wanted)
    features = ours.features(source, target)
    torch.testing.assert_close(ours.logits(features), features @ ours.embedding_VD.T)


@torch.no_grad()
def test_beams_share_their_source(ours: Transformer) -> None:
    """Reordering the beams of a sentence copies nothing of its source; leaving out a sentence leaves out its source."""
    source, target = pair()
    _, state = ours.advance(target[:, :1], ours.start(ours.encode(source), 10))
    opened = state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
    reordered = opened.select(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert reordered.memories is opened.memories is state.memories
    _, grown = ours.advance(target[[0, 0, 1, 1, 2, 2], 1:2], reordered)
    assert grown.memories is state.memories
    dropped = grown.select(torch.tensor([4, 5, 1, 0]))
    assert [len(memory.key_BHSK) for memory in dropped.memories] == [2, 2, 2]


@torch.no_grad()
def test_without_padding_there_is_no_mask(ours: Transformer) -> None:
    source, target = pair()
    assert ours.start(ours.encode(source), 10).mask_BS is not None
    alone = ours.start(ours.encode(source[:1]), 10)
    assert alone.mask_BS is None
    logits, _ = ours.advance(target[:1], alone)
    torch.testing.assert_close(logits, ours.logits(ours.features(source, target))[:1], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_without_positions_the_encoder_cannot_tell_orders_apart() -> None:
    torch.manual_seed(0)
    source = torch.randint(4, 60, (1, 9))
    order = torch.randperm(9)
    blind = build(CONFIG.model_copy(update={"positions": "none"})).eval()
    moved = blind.encode(source[:, order]).encoded_BSD
    torch.testing.assert_close(moved, blind.encode(source).encoded_BSD[:, order], atol=1e-5, rtol=1e-5)
    seeing = build(CONFIG).eval()
    moved = seeing.encode(source[:, order]).encoded_BSD
    assert not torch.allclose(moved, seeing.encode(source).encoded_BSD[:, order], atol=1e-2)


# PAPER.md, section 5: what follows from the definition with a vocabulary of 37,000, in millions.
COUNTS = {
    "base": 63.1, "B-16": 56.0, "B-32": 58.4, "C-N2": 33.7, "C-N4": 48.4, "C-N8": 77.8, "C-d256": 26.8,
    "C-d1024": 163.9, "C-ff1024": 50.5, "C-ff4096": 88.3, "big": 214.2,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in preset_names() if type(preset(name).model) is TransformerConfig])
def test_parameter_counts(name: str) -> None:
    config = preset(name, model={"vocabulary": 37_000})
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in build(config).parameters() if parameter.requires_grad)
    c = config.model
    attention = c.d_model * c.heads * 2 * (c.d_k + c.d_v) + c.heads * (2 * c.d_k + c.d_v) + c.d_model
    feed_forward = 2 * c.d_model * c.d_ff + c.d_ff + c.d_model
    if c.experts:
        feed_forward = c.experts * (feed_forward + 2 * c.d_model)  # with the gate and its noise
    encoder = attention + feed_forward + 2 * 2 * c.d_model
    decoder = 2 * attention + feed_forward + 3 * 2 * c.d_model
    learned = 2 * c.max_length * c.d_model if c.positions == "learned" else 0
    last_norms = 2 * 2 * c.d_model if c.norm == "pre" else 0
    layers = c.encoder_layers * encoder + c.decoder_layers * decoder
    assert count == 37_000 * c.d_model + layers + learned + last_norms
    if name in COUNTS:
        assert round(count / 1e6, 1) == pytest.approx(COUNTS[name], abs=0.1001)
    paper = paper_figures(name)
    assert (name in COUNTS) == (paper is not None and paper.parameters is not None)


def test_dropout_is_where_the_paper_has_it() -> None:
    """Section 5.4: on embeddings and on every sub-layer's output; two calls differ, and with chance 0 they do not."""
    source, target = pair()
    model = build(CONFIG).train()
    assert not torch.equal(model.features(source, target), model.features(source, target))
    still = build(CONFIG.model_copy(update={"dropout": 0.0})).train()
    assert torch.equal(still.features(source, target), still.features(source, target))
    places = [name for name, part in model.named_modules() if isinstance(part, Dropout) and part.chance]
    assert len(places) == 2 + 3 * 2 + 3 * 3
