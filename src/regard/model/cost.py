"""What a model costs: parameters by part, memory, and floating-point operations."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import torch

from regard.config import ModelConfig
from regard.model.build import build


@dataclass(frozen=True)
class Cost:
    """Figures that follow from the description alone."""

    parameters: int
    parts: dict[str, int]
    """Parameters by part of the model."""
    weights_bytes: int
    """The weights in float32."""
    training_bytes: int
    """Weights, gradients and Adam's two moments in float32; activations come on top, and grow with the batch."""
    source_tokens: int
    target_tokens: int
    """The sentence pair that the operations are counted for, ends included."""
    forward_flops: int
    """One pass over that pair; a multiplication and an addition are two operations."""
    training_flops: int
    """Forward and backward: three times the forward pass."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def cost(config: ModelConfig, source_tokens: int = 25, target_tokens: int = 25) -> Cost:
    """Count without allocating: the model is built on torch's meta device."""
    with torch.device("meta"):
        model = build(config)
    parts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        parts[_part(name)] += parameter.numel()
    total = sum(parts.values())
    flops = forward_flops(config, source_tokens, target_tokens)
    return Cost(total, dict(parts), 4 * total, 16 * total, source_tokens, target_tokens, flops, 3 * flops)


def _part(name: str) -> str:
    """`encoder.3.attention.query.weight` counts as `encoder attention`."""
    words = [word for word in name.split(".") if not word.isdigit()]
    if words[0] in ("encoder", "decoder"):
        part = "norm" if words[1].startswith("around") else words[1].replace("_", "-")
        return f"{words[0]} {part}"
    if words[0].startswith("embed_"):
        return f"{words[0].removeprefix('embed_')} positions"
    return {"embedding_VD": "embedding", "source_VD": "source embedding", "untied_VD": "projection"}.get(
        words[0], "norm"
    )


def forward_flops(config: ModelConfig, S: int, T: int) -> int:
    """Multiplications and additions in the matrix products of one pass over S source and T target tokens (section 3).

    Per attention from m queries to n keys: 2·m·d·h·(d_k + d_v) for W^Q and W^O, 2·n·d·h·(d_k + d_v) for W^K and W^V,
    and 2·m·n·h·(d_k + d_v) for Q K^T and the weighted sum. Softmax, norms and other sums over elements are left out.
    """
    d, heads_width = config.d_model, config.heads * (config.d_k + config.d_v)

    def attend(m: int, n: int, seen: int) -> int:
        return 2 * (m + n) * d * heads_width + 2 * m * seen * heads_width

    def self_attend(n: int) -> int:
        return attend(n, n, min(n, 2 * (config.neighbours // 2) + 1) if config.neighbours else n)

    def feed_forward(n: int) -> int:
        return 4 * n * d * config.d_ff

    encoder = config.encoder_layers * (self_attend(S) + feed_forward(S))
    decoder = config.decoder_layers * (self_attend(T) + attend(T, S, S) + feed_forward(T))
    return encoder + decoder + 2 * T * d * config.vocabulary
