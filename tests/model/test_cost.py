"""Counted operations against torch's own counter, and parameters against the model's own."""

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard.config.model import model_config
from regard.config.presets import preset, preset_names
from regard.model.build import build
from regard.model.cost import cost

CONFIG = model_config(vocabulary=100, encoder_layers=2, decoder_layers=3, d_model=24, d_ff=40, heads=3, d_k=5, d_v=7)


@pytest.mark.parametrize(("source", "target"), [(9, 6), (1, 1), (30, 40)])
def test_operations_equal_torchs_count(source: int, target: int) -> None:
    model = build(CONFIG.model_copy(update={"score": "scaled"})).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        tokens = torch.full((1, source), 5)
        # Recorded weights take the equation as written, whose products the counter sees one by one.
        model.attentions(tokens, torch.full((1, target), 5))
        model.logits(torch.zeros(1, target, 24))
    assert cost(CONFIG, source, target).forward_flops == counter.get_total_flops()


def test_operations_count_the_experts_that_a_token_uses() -> None:
    sizes = {"vocabulary": 100, "encoder_layers": 2, "decoder_layers": 1, "d_model": 24, "d_ff": 40, "heads": 3}
    config = model_config(**sizes, experts=7, active_experts=2)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model = build(config).eval()
        model.attentions(torch.full((1, 9), 5), torch.full((1, 6), 5))
        model.logits(torch.zeros(1, 6, 24))
    assert cost(config, 9, 6).forward_flops == counter.get_total_flops()


LINEAGE = {name: preset(name).model.architecture for name in preset_names()}
LATER = ("transformer", "mask-predict", "decoder-only", "encoder-only")  # the Transformer, and what came after it
LINEAGE = {name: kind for name, kind in LINEAGE.items() if kind not in LATER and not name.endswith("-published")}


@pytest.mark.parametrize("name", LINEAGE)
@pytest.mark.filterwarnings("ignore:TF32")
def test_operations_of_the_other_models_equal_torchs_count(name: str) -> None:
    config = preset(name, model={"vocabulary": 100, "decoder_layers": 3, "encoder_layers": 2, "d_model": 24}).model
    model = build(config).eval().requires_grad_(False)
    source, target = torch.full((1, 9), 5), torch.full((1, 6), 5)
    # oneDNN's LSTM is one operation, of which the counter knows nothing.
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter, torch.no_grad():
        model.logits(model.features(source, target))
    additive = config.architecture in ("gnmt", "deep-attention") or getattr(config, "attention", None) == "additive"
    unseen = 2 * 9 * 6 * 24 if additive else 0  # the products with v
    assert cost(config, 9, 6).forward_flops == counter.get_total_flops() + unseen


@pytest.mark.parametrize(("source", "target"), [(9, 6), (1, 1), (13, 20)])
@pytest.mark.parametrize(
    "settings",
    [
        {"blocks": 4, "encoder_layers": 2, "decoder_layers": 3},
        {"blocks": 3, "blocks_tuned": True, "encoder_layers": 2, "decoder_layers": 3},
        {"architecture": "mask-predict", "max_length": 50},
        {"architecture": "decoder-only", "decoder_layers": 3},
        {"architecture": "encoder-only", "encoder_layers": 3, "learns": "labels"},
        {"architecture": "encoder-only", "encoder_layers": 3, "learns": "masked"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_operations_of_later_models_equal_torchs_count(settings: dict[str, Any], source: int, target: int) -> None:
    """Of a pass in training: mask-predict predicts the length, too."""
    sizes = {"vocabulary": 100, "d_model": 24, "d_ff": 40, "heads": 3, "d_k": 5, "d_v": 7}
    config = model_config(**sizes, **settings)
    model = build(config).eval()
    fused = sdpa_kernel(SDPBackend.MATH)  # the counter does not see into torch's other kernels
    with FlopCounterMode(display=False) as counter, torch.no_grad(), fused:
        given = model.loss_input(torch.full((1, source), 5), torch.full((1, target + 1), 5))
        model.logits(given.features)
    assert cost(config, source, target).forward_flops == counter.get_total_flops()


@pytest.mark.parametrize("name", LINEAGE)
def test_other_models_have_the_parameters_of_tiny(name: str) -> None:
    """So that a comparison at 10,000 tokens is one of architectures, not of sizes."""
    figures = cost(preset(name).model)
    assert figures.parameters == pytest.approx(cost(preset("tiny").model).parameters, rel=0.05)
    with torch.device("meta"):
        counted = sum(parameter.numel() for parameter in build(preset(name)).parameters())
    assert sum(figures.parts.values()) == figures.parameters == counted
    assert figures.parts["embedding"] == 10_000 * preset(name).model.d_model


def test_parts_of_the_other_models_have_names() -> None:
    assert set(cost(preset("lstm-additive").model).parts) == {
        "embedding", "encoder cells", "decoder cells", "bridge", "score", "combine",
    }  # fmt: skip
    assert set(cost(preset("convs2s").model).parts) == {
        "embedding", "source positions", "target positions", "encoder convolution", "decoder convolution",
        "decoder attention",
    }  # fmt: skip
    assert set(cost(preset("gnmt").model).parts) == {"embedding", "encoder cells", "decoder cells", "score"}
    assert set(cost(preset("deep-att").model).parts) == {
        "embedding", "encoder cells", "decoder cells", "score", "join", "output",
    }  # fmt: skip
    assert {"encoder norm", "decoder convolution", "norm", "output"} <= set(cost(preset("bytenet").model).parts)


def test_parts_add_up() -> None:
    figures = cost(preset("base").model)
    assert sum(figures.parts.values()) == figures.parameters == 63_082_496
    assert figures.parts["embedding"] == 37_000 * 512
    assert figures.weights_bytes == 4 * figures.parameters
    assert {"encoder attention", "decoder cross", "encoder feed-forward", "decoder norm"} <= set(figures.parts)


def test_every_kind_of_part_has_a_name() -> None:
    config = model_config(
        vocabulary=100, source_vocabulary=50, d_model=16, heads=2, positions="learned", norm="pre", tie_projection=False
    )
    parts = cost(config).parts
    assert {"source embedding", "projection", "source positions", "target positions", "norm"} <= set(parts)
