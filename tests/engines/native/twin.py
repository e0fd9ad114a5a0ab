"""The Transformer in int8 as plainly as numpy can say it: what the native engine must compute, float rounding aside.

A matrix has a scale for each output, 127 / max |w|; an activation one for each row. Sums of products are integers.

Shapes: T positions, S positions of what is attended to, D = d_model, H heads, K = d_k or d_v, V vocabulary.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.config.model import ModelConfig
from regard.config.special_tokens import BOS, EOS
from regard.model.sinusoids import sinusoid_table

Array = Any
RESERVED = 3


def rounded(rows_TD: Array) -> tuple[Array, Array]:
    """Integers from -127 to 127 and the scale of each row."""
    largest_T1 = np.abs(rows_TD).max(1, keepdims=True)
    scale_T1 = np.where(largest_T1 > 0, np.float32(127) / np.where(largest_T1 > 0, largest_T1, 1), 1).astype(np.float32)
    return np.rint(rows_TD * scale_T1).astype(np.int32), scale_T1


def linear(x_TD: Array, weight_ED: Array, bias_E: Array | float = 0.0) -> Array:
    left_TD, left_T1 = rounded(x_TD)
    right_ED, right_E1 = rounded(weight_ED)
    return (left_TD @ right_ED.T) / (left_T1 * right_E1[:, 0]) + bias_E


class Twin:
    """A post-norm or pre-norm Transformer with sinusoidal positions and ReLU, one embedding for all."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, Array]) -> None:
        self.config, self.weights = config, weights
        integers_VD, scale_V1 = rounded(weights["embedding_VD"])
        self.embedding_VD = (integers_VD / scale_V1).astype(np.float32)

    def greedy(self, source: list[int], limit: int) -> list[int]:
        """The most probable token, step by step, over the whole prefix every time."""
        memory_SD = self.encode([*source, EOS])
        tokens = [BOS]
        while len(tokens) <= limit:
            logits_V = self.logits(tokens, memory_SD)[-1]
            logits_V[:RESERVED] = -np.inf
            tokens.append(int(logits_V.argmax()))
            if tokens[-1] == EOS:
                return tokens[1:-1]
        return tokens[1:]

    def encode(self, source: list[int]) -> Array:
        x_SD = self.embedded(source)
        for number in range(self.config.encoder_layers):
            layer = f"encoder.{number}"
            x_SD = self.around(
                x_SD, f"{layer}.around_attention", lambda x, at=layer: self.attend(x, x, at, "attention")
            )
            x_SD = self.around(x_SD, f"{layer}.around_feed_forward", lambda x, at=layer: self.feed_forward(x, at))
        return self.norm(x_SD, "encoder_norm") if self.config.norm == "pre" else x_SD

    def logits(self, target: list[int], memory_SD: Array) -> Array:
        x_TD = self.embedded(target)
        for number in range(self.config.decoder_layers):
            layer = f"decoder.{number}"
            x_TD = self.around(
                x_TD, f"{layer}.around_attention", lambda x, at=layer: self.attend(x, x, at, "attention", causal=True)
            )
            x_TD = self.around(
                x_TD, f"{layer}.around_cross", lambda x, at=layer: self.attend(x, memory_SD, at, "cross")
            )
            x_TD = self.around(x_TD, f"{layer}.around_feed_forward", lambda x, at=layer: self.feed_forward(x, at))
        x_TD = self.norm(x_TD, "decoder_norm") if self.config.norm == "pre" else x_TD
        return linear(x_TD, self.weights["embedding_VD"])

    def embedded(self, tokens: list[int]) -> Array:
        size = self.config.d_model
        return self.embedding_VD[tokens] * np.float32(np.sqrt(size)) + sinusoid_table(0, len(tokens), size)

    def around(self, x_TD: Array, name: str, sublayer: Any) -> Array:
        if self.config.norm == "pre":
            return x_TD + sublayer(self.norm(x_TD, f"{name}.norm"))
        return self.norm(x_TD + sublayer(x_TD), f"{name}.norm")

    def norm(self, x_TD: Array, name: str) -> Array:
        centred_TD = x_TD - x_TD.mean(1, keepdims=True)
        deviation_T1 = np.sqrt((centred_TD**2).mean(1, keepdims=True) + 1e-5)
        return centred_TD / deviation_T1 * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def projected(self, x_TD: Array, name: str) -> Array:
        return linear(x_TD, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def feed_forward(self, x_TD: Array, layer: str) -> Array:
        inner = np.maximum(self.projected(x_TD, f"{layer}.feed_forward.inner"), 0)
        return self.projected(inner, f"{layer}.feed_forward.outer")

    def attend(self, x_TD: Array, memory_SD: Array, layer: str, name: str, *, causal: bool = False) -> Array:
        heads = self.config.heads
        query, key, value = (
            self.projected(rows, f"{layer}.{name}.{part}").reshape(len(rows), heads, -1).transpose(1, 0, 2)
            for rows, part in ((x_TD, "query"), (memory_SD, "key"), (memory_SD, "value"))
        )
        scores_HTS = query @ key.transpose(0, 2, 1) / np.sqrt(self.config.d_k)
        if causal:
            scores_HTS = np.where(np.tri(len(x_TD), dtype=bool), scores_HTS, -np.inf)
        weights_HTS = np.exp(scores_HTS - scores_HTS.max(2, keepdims=True))
        weights_HTS /= weights_HTS.sum(2, keepdims=True)
        joined_TD = (weights_HTS @ value).transpose(1, 0, 2).reshape(len(x_TD), -1)
        return self.projected(joined_TD, f"{layer}.{name}.output")
