"""Compute a model's cost: parameters by part, memory, and floating-point operations."""

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import torch

from regard.config.later import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    LinformerConfig,
    LongformerConfig,
    MambaConfig,
    MaskPredictConfig,
    MixerConfig,
    PerformerConfig,
    StateSpaceConfig,
)
from regard.config.model import (
    AnyTransformerConfig,
    ConvolutionalConfig,
    DeepAttentionConfig,
    DilatedConfig,
    EarlierConfig,
    FeedForwardConfig,
    GnmtConfig,
    ModelConfig,
    RecurrentConfig,
    TransformerConfig,
)
from regard.model.build import build


@dataclass(frozen=True)
class Cost:
    """A model's cost, computed from its configuration alone."""

    parameters: int
    parts: dict[str, int]
    """Number of parameters by part of the model."""
    weights_bytes: int
    """Size of the weights in float32."""
    training_bytes: int
    """Size of weights, gradients and Adam's two moments in float32, without activations, which grow with the batch."""
    source_tokens: int
    target_tokens: int
    """Length of the sentence pair for which the operations are counted, EOS included."""
    forward_flops: int
    """Operations of one forward pass over that pair; a multiplication and an addition are two operations."""
    training_flops: int
    """Operations of a forward and a backward pass: three times the forward pass."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def cost(config: ModelConfig, source_tokens: int = 25, target_tokens: int = 25) -> Cost:
    """Return the cost of a model; it is built on torch's meta device, so nothing is allocated."""
    with torch.device("meta"):
        model = build(config)
    parts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        if name.startswith("next_word."):  # the flags of word tokens are known, not learned
            continue
        parts[_part(name, config)] += parameter.numel()
    total = sum(parts.values())
    flops = forward_flops(config, source_tokens, target_tokens)
    return Cost(total, dict(parts), 4 * total, 16 * total, source_tokens, target_tokens, flops, 3 * flops)


def _part(name: str, config: ModelConfig) -> str:
    """Return the part that a parameter belongs to: `encoder.3.attention.query.weight` is of `encoder attention`."""
    words = [word for word in name.split(".") if not word.isdigit()]
    if words[:2] == ["encoder", "attention"] and isinstance(config, AnyTransformerConfig):
        return f"encoder {config.mixing}"
    if words[0] in ("encoder", "decoder"):
        kinds = {"around": "norm", "norm": "norm", "weight": "cells", "bias": "cells"}
        return f"{words[0]} {kinds.get(words[1].partition('_')[0], words[1].replace('_', '-'))}"
    if words[0].startswith("embed_"):
        return f"{words[0].removeprefix('embed_')} positions"
    if words[0].endswith("_experts"):
        return words[0].replace("_", " ")
    names = {
        "bottom": "decoder cells",
        "embedding_VD": "embedding",
        "source_VD": "source embedding",
        "untied_VD": "projection",
    }
    return names.get(words[0], "norm" if words[0].endswith("norm") else words[0])


def forward_flops(config: ModelConfig, S: int, T: int) -> int:
    """Return the operations in the matrix products of one pass over S source and T target tokens (section 3).

    Per attention from m queries to n keys: 2·m·d·h·(d_k + d_v) for W^Q and W^O, 2·n·d·h·(d_k + d_v) for W^K and W^V,
    and 2·m·n·h·(d_k + d_v) for Q K^T and the weighted sum. Softmax, norms and other element-wise work are not counted.
    """
    projection = 2 * T * config.d_model * config.vocabulary
    if not isinstance(config, AnyTransformerConfig):
        return _earlier_flops(config, S, T) + projection
    d, heads_width = config.d_model, config.heads * (config.d_k + config.d_v)

    def attend(m: int, n: int, seen: int) -> int:
        return 2 * (m + n) * d * heads_width + 2 * m * seen * heads_width

    def self_attend(n: int) -> int:
        neighbours = config.neighbours if isinstance(config, TransformerConfig) else 0
        return attend(n, n, min(n, 2 * (neighbours // 2) + 1) if neighbours else n)

    def feed_forward(n: int) -> int:
        if isinstance(config, TransformerConfig) and config.experts:
            return experts_flops(config, n)
        return 4 * n * d * config.d_ff

    if isinstance(config, DecoderOnlyConfig):  # the source does not see the target
        of_layer = attend(S, S, S) + attend(T, T, S + T) + feed_forward(S + T)
        return config.decoder_layers * of_layer + projection
    encoder = config.encoder_layers * ((mixing_flops(config, S) or self_attend(S)) + feed_forward(S))
    if isinstance(config, EncoderOnlyConfig):  # a label for each text, or a token at each of its positions
        labelled = config.learns == "labels"
        return encoder + 2 * d * (d + config.vocabulary if labelled else S * config.vocabulary)
    of_target = mamba_flops(config, T, directions=1) if isinstance(config, MambaConfig) else self_attend(T)
    decoder = config.decoder_layers * (of_target + attend(T, S, S) + feed_forward(T))
    if isinstance(config, MaskPredictConfig):  # it also predicts the length
        return encoder + decoder + projection + 2 * d * config.max_length
    if config.blocks > 1:
        K = config.blocks - 1  # heads; their projection, and the model's own if it is trained
        own = 2 * T * 2 * d * K * d + 2 * T * K * (d + S) * heads_width + 4 * T * K * d * config.d_ff
        return encoder + decoder + own + (K + config.blocks_tuned) * projection
    return encoder + decoder + projection


def mixing_flops(config: AnyTransformerConfig, n: int) -> int:  # noqa: PLR0911  # a line for each kind
    """Return the operations of the layer that mixes n positions in the encoder; 0 if that is the paper's attention.

    A Fourier transform of m real numbers counts as 2.5·m·log2(m), as is the custom; a state-space layer needs three of
    size 2·n for each of d channels.
    """
    d, heads_width = config.d_model, config.heads * (config.d_k + config.d_v)
    projections = 4 * n * d * heads_width
    match config:
        case LongformerConfig():
            g = min(n, config.global_tokens)
            seen = min(n, 2 * (config.window // 2) + 1 + g)
            of_global = 2 * d * (g * config.heads * config.d_k + n * heads_width) + 2 * g * n * heads_width
            return projections + 2 * n * seen * heads_width + (of_global if g else 0)
        case LinformerConfig():
            return projections + 4 * n * config.rank * heads_width
        case PerformerConfig():
            return projections + 4 * n * config.features * heads_width + 2 * n * config.features * config.heads
        case StateSpaceConfig():
            kernels = 4 * d * config.state_size * (math.isqrt(n - 1) + 1) ** 2
            transforms = round(3 * d * 2.5 * 2 * n * math.log2(2 * n))
            return kernels + transforms + 4 * n * d * d
        case MambaConfig():
            return mamba_flops(config, n, directions=2)
        case MixerConfig():
            return 4 * n * config.token_units * d
        case _:
            return 0


def mamba_flops(config: MambaConfig, n: int, directions: int) -> int:
    """Return the operations of a Mamba layer: linear maps, and in each direction convolution, selection and scan.

    A state takes 6 operations a step: two for its decay and input, two for the sums, and two for the output.
    """
    d, inner = config.d_model, config.expand * config.d_model
    rank = -(-d // 16)
    selection = 2 * inner * (rank + 2 * config.state_size) + 2 * rank * inner
    system = 2 * config.kernel * inner + selection + 6 * inner * config.state_size
    return n * (6 * d * inner + directions * system)


def experts_flops(config: TransformerConfig | GnmtConfig, n: int) -> int:
    """Return the operations of a mixture of experts on n tokens: those of the gate and of the experts that they use.

    The product for the gate's noise, in training only, is not counted.
    """
    if not config.experts:
        return 0
    return n * (2 * config.d_model * config.experts + config.active_experts * 4 * config.d_model * config.d_ff)


def _earlier_flops(config: EarlierConfig, S: int, T: int) -> int:
    """Return the forward operations of a baseline model, without the projection to the vocabulary."""
    d, encoder, decoder = config.d_model, config.encoder_layers, config.decoder_layers
    match config:
        case RecurrentConfig():
            gates, parts = {"rnn": (1, 1), "gru": (3, 1), "lstm": (4, 2)}[config.cell]
            cells = encoder * S * gates * 3 * d * d + decoder * T * gates * 4 * d * d + parts * decoder * 2 * d * d
            looking = 4 * T * S * d + 4 * T * d * d if config.attention != "none" else 0
            return cells + looking + (2 * (S + T) * d * d if config.attention == "additive" else 0)
        case GnmtConfig():
            # 8·d² per cell and input of size d: 16·d² in and back in each direction of the bottom layer, and so on
            cells = (32 + 24 + 16 * (encoder - 2)) * S * d * d + decoder * 24 * T * d * d
            return cells + 2 * (S + T) * d * d + 4 * T * S * d + experts_flops(config, S + T)
        case DeepAttentionConfig():
            # f of 4·d from d, 2·d or 3·d inputs, half of it once more, and 8·d² from the hidden state
            columns = 2 * S * d * d * ((12 + 8) + (encoder - 1) * (36 + 8)) + 12 * S * d * d
            layers = T * d * d * ((24 + 8) + (decoder - 1) * (36 + 8)) + 6 * T * d * d
            return columns + layers + 2 * (S + T) * d * d + 4 * T * S * d
        case ConvolutionalConfig():
            return (encoder * S + decoder * T) * 4 * config.kernel * d * d + decoder * (2 * T * d * d + 4 * T * S * d)
        case DilatedConfig():
            inner = max(1, d // 2)
            return (encoder * S + decoder * T) * (4 * d * inner + 2 * config.kernel * inner * inner) + 2 * T * d * d
        case FeedForwardConfig():
            return (encoder * S + decoder * T) * 4 * d * config.d_ff
