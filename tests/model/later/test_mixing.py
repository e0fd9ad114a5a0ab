"""What all layers share that can take attention's place in the encoder: how their cost grows; how they are saved."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.saving import save_built
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard.config.model import ModelConfig, model_config
from regard.config.run import Config
from regard.model.build import build
from regard.model.cost import cost, mixing_flops
from regard.model.layers import EncoderLayer
from regard.saved.folder import load_model

PeakBytes = Callable[[Callable[[], object]], int]
SMALL = {"vocabulary": 40, "encoder_layers": 2, "decoder_layers": 1, "d_model": 32, "d_ff": 8, "heads": 2}
LONG = 4096
MIXING: dict[str, dict[str, Any]] = {
    "longformer": {"window": 32, "global_tokens": 2},
    "linformer": {"rank": 32, "max_length": LONG},
    "performer": {"features": 32},
    "state-space": {"state_size": 16},
}


def described(mixing: str) -> ModelConfig:
    return model_config(**SMALL, mixing=mixing, **MIXING.get(mixing, {}))


def passed(config: ModelConfig, n: int, *, backward: bool) -> Callable[[], None]:
    """One pass through the layer that mixes. Full attention is the equation as written, which holds n × n weights."""
    layer = EncoderLayer(config).attention
    x = torch.randn(1, n, config.d_model, requires_grad=backward)
    there = torch.ones(1, n, dtype=torch.bool)

    def work() -> None:
        output, _ = layer.mix(x, there, weights=config.mixing == "attention")
        if backward:
            output.sum().backward()

    return work


def operations(config: ModelConfig, n: int) -> int:
    """As torch counts them, which does not see into its fused kernel."""
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        passed(config, n, backward=False)()
    return counter.get_total_flops()


@pytest.mark.parametrize("mixing", MIXING)
def test_operations_grow_linearly(mixing: str) -> None:
    full, config = described("attention"), described(mixing)
    assert operations(full, LONG) > 3.5 * operations(full, LONG // 2)
    assert operations(config, LONG) < 2.05 * operations(config, LONG // 2)
    assert operations(config, LONG) < operations(full, LONG) / 10
    assert mixing_flops(config, LONG) < 2.2 * mixing_flops(config, LONG // 2), "Fourier transforms and all"


@pytest.mark.parametrize("mixing", MIXING)
def test_memory_grows_linearly(mixing: str, peak_bytes: PeakBytes) -> None:
    config = described(mixing)
    most = peak_bytes(passed(config, LONG, backward=True))
    assert most < 2.2 * peak_bytes(passed(config, LONG // 2, backward=True))
    assert most < peak_bytes(passed(described("attention"), LONG, backward=True)) / 10


@pytest.mark.parametrize("n", [1, 9, 500])
@pytest.mark.parametrize("mixing", ["linformer", "performer", "state-space"])
def test_counted_operations_equal_torchs(mixing: str, n: int) -> None:
    """But for Fourier transforms, which torch does not count."""
    config = described(mixing)
    transforms = round(3 * 32 * 2.5 * 2 * n * torch.tensor(2.0 * n).log2().item()) if mixing == "state-space" else 0
    assert mixing_flops(config, n) == pytest.approx(operations(config, n) + transforms, rel=1e-6)


def test_counted_operations_of_a_window_are_those_it_needs() -> None:
    """Blocks reach half a window too far; where the window is the whole source, nothing does."""
    config = described("longformer")
    assert mixing_flops(config, LONG) < operations(config, LONG) < 1.5 * mixing_flops(config, LONG)
    assert mixing_flops(config, 9) == operations(config, 9)


@pytest.mark.parametrize("mixing", MIXING)
def test_parameters_are_counted_under_their_own_name(mixing: str) -> None:
    config = described(mixing)
    sizes: list[int] = [parameter.numel() for parameter in EncoderLayer(config).attention.parameters()]
    assert cost(config).parts[f"encoder {mixing}"] == 2 * sum(sizes)


@pytest.mark.parametrize("mixing", MIXING)
def test_a_saved_model_comes_back_as_it_was(mixing: str, tmp_path: Path) -> None:
    config = described(mixing)
    model = build(config).eval()
    save_built(tmp_path / "m", model, Config(model=config), {})
    torch.manual_seed(5)
    back = load_model(tmp_path / "m").model
    source, target = torch.randint(4, 40, (2, 50)), torch.randint(4, 40, (2, 4))
    assert torch.equal(back.features(source, target), model.features(source, target))


def test_attention_keeps_its_parameters_names() -> None:
    names = {f"{part}.{kind}" for part in ("query", "key", "value", "output") for kind in ("weight", "bias")}
    assert set(EncoderLayer(described("attention")).attention.state_dict()) == names
    assert {f"encoder.1.attention.{name}" for name in names} <= set(build(described("attention")).state_dict())


def glorot(layer: nn.Linear) -> float:
    """The bound of the uniform distribution of Glorot and Bengio, 2010, equation 16."""
    return math.sqrt(6 / (layer.in_features + layer.out_features))


@pytest.mark.parametrize("mixing", ["attention", *MIXING])
def test_all_of_them_start_alike(mixing: str) -> None:
    """Queries and keys at sqrt(1/2) of Glorot's size, and every matrix of a residual branch at half of it."""
    torch.manual_seed(7)
    model = build(described(mixing))
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}
    assert len(layers) >= 2 * 3 + 10
    for name, layer in layers.items():
        size = 2**-0.5 if name.endswith(("query", "key")) else 0.5
        largest = layer.weight.abs().max().item() / glorot(layer)
        assert 0.97 * size < largest <= size * (1 + 1e-6), f"{name} begins at {largest:.2f} of Glorot's size"
        assert not layer.bias.any(), name
