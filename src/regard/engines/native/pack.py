"""Pack a saved model's weights in the order that the native engine expects.

Shapes: T positions, V vocabulary, D = d_model, K = d_k.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from regard.config.model import ModelConfig, TransformerConfig
from regard.engines.native.library import Config
from regard.errors import UserError
from regard.exchange.kinds import PROPOSALS, other_kind
from regard.model.sinusoids import TABLE, sinusoid_table
from regard.saved.saved_model import WEIGHTS
from regard.saved.weights import Array

ACTIVATIONS = {"relu": 1, "gelu": 2, "silu": 3}


def unsupported(config: ModelConfig) -> str | None:
    """Return why the native engine does not support a model, or None if it does."""
    if not isinstance(config, TransformerConfig):
        return other_kind(config)
    checks = {
        f"its positions are {config.positions}": config.positions == "relative",
        f"the scores of its attention are {config.score}": config.score == "additive",
        "its decoder is shown the next word": config.next_word,
        "it has a mixture of experts": config.experts > 0,
        "its attention is restricted to neighbours": config.neighbours > 0,
    }
    return next((reason for reason, holds in checks.items() if holds), None)


def positions(config: ModelConfig) -> int:
    """Return the number of positions that the engine supports, in the source and in the target."""
    return config.position_limit or TABLE


def packed_config(config: TransformerConfig, *, int8: bool) -> Config:
    return Config(
        source_vocabulary=config.source_vocabulary or config.vocabulary,
        vocabulary=config.vocabulary,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        d_model=config.d_model,
        d_ff=config.d_ff,
        heads=config.heads,
        d_k=config.d_k,
        d_v=config.d_v,
        positions=positions(config),
        bounded=config.positions == "learned",
        additive=config.positions in ("sinusoidal", "learned"),
        rotary=config.positions == "rotary",
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
        share_embeddings=config.share_embeddings,
        tie_projection=config.tie_projection,
        int8=int8,
        attention_scale=1.0 / math.sqrt(config.d_k) if config.score == "scaled" else 1.0,
    )


def packed_tensors(config: TransformerConfig, weights: Mapping[str, Array]) -> list[Array]:
    """Return all tensors in order as C floats; raise UserError if one is missing or extra. The engine checks shapes."""
    left = {name: weight for name, weight in weights.items() if not name.startswith(PROPOSALS)}

    def take(name: str) -> Array:
        if name not in left:
            raise UserError(f"{WEIGHTS}: {name} is missing, which config.json asks for; restore both")
        return np.ascontiguousarray(left.pop(name), np.float32)

    tensors = [take(name) if isinstance(name, str) else name for name in _order(config)]
    if left:
        raise UserError(f"{WEIGHTS}: {min(left)} has no place in what config.json asks for; restore both")
    return tensors


def _order(config: TransformerConfig) -> Iterator[str | Array]:
    yield "embedding_VD"
    if not config.share_embeddings:
        yield "source_VD"
    if not config.tie_projection:
        yield "untied_VD"
    if config.positions == "learned":
        yield from ("embed_source.positions.weight", "embed_target.positions.weight")
    elif config.positions == "sinusoidal":
        yield from [sinusoid_table(0, TABLE, config.d_model)] * 2
    elif config.positions == "rotary":
        yield sinusoid_table(0, TABLE, config.d_k)
    for number in range(config.encoder_layers):
        yield from _attention(f"encoder.{number}", "attention")
        yield from _feed_forward(f"encoder.{number}")
    if config.norm == "pre":
        yield from _pair("encoder_norm")
    for number in range(config.decoder_layers):
        yield from _attention(f"decoder.{number}", "attention")
        yield from _attention(f"decoder.{number}", "cross")
        yield from _feed_forward(f"decoder.{number}")
    if config.norm == "pre":
        yield from _pair("decoder_norm")


def _pair(name: str) -> tuple[str, str]:
    return f"{name}.weight", f"{name}.bias"


def _attention(layer: str, name: str) -> Iterator[str]:
    for part in ("query", "key", "value", "output"):
        yield from _pair(f"{layer}.{name}.{part}")
    yield from _pair(f"{layer}.around_{name}.norm")


def _feed_forward(layer: str) -> Iterator[str]:
    for part in ("feed_forward.inner", "feed_forward.outer", "around_feed_forward.norm"):
        yield from _pair(f"{layer}.{part}")
