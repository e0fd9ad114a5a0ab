"""The Transformer's layers by plain loops over positions and heads, in float64: a slow twin for tests of models."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import torch

Vector = np.ndarray
Rows = list[Vector]


class PlainLayers:
    """A model's weights, and the layers' equations on lists of vectors, one for each position."""

    def __init__(self, model: torch.nn.Module, heads: int, *, pre_norm: bool) -> None:
        state: Mapping[str, torch.Tensor] = model.state_dict()
        self.weights = {name: weight.double().numpy() for name, weight in state.items()}
        self.heads, self.pre_norm = heads, pre_norm

    def linear(self, x: Vector, name: str) -> Vector:
        return self.weights[f"{name}.weight"] @ x + self.weights[f"{name}.bias"]

    def norm(self, x: Vector, name: str) -> Vector:
        normal = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
        return normal * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def embedded(self, tokens: Iterable[int], table: str, start: int = 0) -> Rows:
        """sqrt(d_model) times the embedding, plus the sinusoid of each position (sections 3.4 and 3.5)."""
        rows = []
        for position, token in enumerate(tokens, start):
            vector = self.weights[table][token] * math.sqrt(self.weights[table].shape[1])
            for place in range(len(vector)):
                angle = position / 10000 ** (2 * (place // 2) / len(vector))
                vector[place] += math.cos(angle) if place % 2 else math.sin(angle)
            rows.append(vector)
        return rows

    def attention(self, x: Vector, seen: Rows, name: str) -> Vector:
        """Multi-head attention from one position to those that it sees (section 3.2)."""
        query = self.linear(x, f"{name}.query")
        keys, values = ([self.linear(one, f"{name}.{kind}") for one in seen] for kind in ("key", "value"))
        size = len(query) // self.heads
        parts = []
        for head in range(self.heads):
            part = slice(head * size, (head + 1) * size)
            scores = [float(query[part] @ key[part]) / math.sqrt(size) for key in keys]
            weights = np.exp(np.array(scores) - max(scores))
            parts.append(sum(w * v[part] for w, v in zip(weights / weights.sum(), values, strict=True)))
        return self.linear(np.concatenate(parts), f"{name}.output")

    def attended(self, rows: Rows, seen: list[Rows], layer: str, name: str = "attention") -> Rows:
        """Attention with its residual connection and norm; `seen` are the positions that each position sees."""
        around = f"{layer}.around_{name}.norm"
        found = []
        for x, others in zip(rows, seen, strict=True):
            if self.pre_norm:
                own = [self.norm(one, around) for one in others] if name == "attention" else others
                found.append(x + self.attention(self.norm(x, around), own, f"{layer}.{name}"))
            else:
                found.append(self.norm(x + self.attention(x, others, f"{layer}.{name}"), around))
        return found

    def fed(self, rows: Rows, layer: str) -> Rows:
        """The feed-forward network with its residual connection and norm (section 3.3)."""
        around, found = f"{layer}.around_feed_forward.norm", []
        for x in rows:
            entered = self.norm(x, around) if self.pre_norm else x
            inner = np.maximum(self.linear(entered, f"{layer}.feed_forward.inner"), 0.0)
            y = x + self.linear(inner, f"{layer}.feed_forward.outer")
            found.append(y if self.pre_norm else self.norm(y, around))
        return found

    def encoded(self, tokens: Iterable[int], layers: int, table: str = "embedding_VD") -> Rows:
        """The encoder's output: every position sees all."""
        rows = self.embedded(tokens, table)
        for number in range(layers):
            rows = self.fed(self.attended(rows, [rows] * len(rows), f"encoder.{number}"), f"encoder.{number}")
        return [self.norm(x, "encoder_norm") for x in rows] if self.pre_norm else rows


def as_tensor(rows: Rows) -> torch.Tensor:
    return torch.from_numpy(np.stack(rows)).float()
