"""Counted operations against torch's own counter, and parameters against the model's own."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.config import ModelConfig, preset
from regard.model.build import build
from regard.model.cost import cost

CONFIG = ModelConfig(vocabulary=100, encoder_layers=2, decoder_layers=3, d_model=24, d_ff=40, heads=3, d_k=5, d_v=7)


@pytest.mark.parametrize(("source", "target"), [(9, 6), (1, 1), (30, 40)])
def test_operations_equal_torchs_count(source: int, target: int) -> None:
    model = build(CONFIG.model_copy(update={"score": "scaled"})).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        tokens = torch.full((1, source), 5)
        # Recorded weights take the equation as written, whose products the counter sees one by one.
        model.attentions(tokens, torch.full((1, target), 5))
        model.logits(torch.zeros(1, target, 24))
    assert cost(CONFIG, source, target).forward_flops == counter.get_total_flops()


def test_parts_add_up() -> None:
    figures = cost(preset("base").model)
    assert sum(figures.parts.values()) == figures.parameters == 63_082_496
    assert figures.parts["embedding"] == 37_000 * 512
    assert figures.weights_bytes == 4 * figures.parameters
    assert {"encoder attention", "decoder cross", "encoder feed-forward", "decoder norm"} <= set(figures.parts)


def test_every_kind_of_part_has_a_name() -> None:
    config = ModelConfig(
        vocabulary=100, source_vocabulary=50, d_model=16, heads=2, positions="learned", norm="pre", tie_projection=False
    )
    parts = cost(config).parts
    assert {"source embedding", "projection", "source positions", "target positions", "norm"} <= set(parts)
