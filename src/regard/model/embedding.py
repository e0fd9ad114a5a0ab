"""Embeddings (section 3.4) and the base class of models that have them, with one shared matrix or several.

Shapes: B sentences, S source positions, T target positions, D = d_model, V vocabulary.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import ModelConfig
from regard.model.attention import MultiHeadAttention
from regard.model.kernels.dropout import Dropout
from regard.model.later.longformer import Longformer
from regard.model.later.mamba import Mamba
from regard.model.later.state_space import StateSpace
from regard.model.layers import FeedForward
from regard.model.positions import LearnedPositions, Sinusoids
from regard.model.seq2seq import Seq2Seq


class Embed(nn.Module):
    """Token embeddings times sqrt(d_model) (section 3.4), plus positions (section 3.5), then dropout (section 5.4)."""

    def __init__(self, config: ModelConfig, *, positions: str, scaled: bool) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model) if scaled else 1.0
        self.dropout = Dropout(config.dropout)
        self.positions: nn.Module | None = None  # rotary and relative positions are applied in attention instead
        if positions == "sinusoidal":
            self.positions = Sinusoids(config.d_model)
        elif positions == "learned":
            assert config.position_limit is not None
            self.positions = LearnedPositions(config.position_limit, config.d_model)

    def forward(self, tokens_BT: Tensor, weight_VD: Tensor, start: int = 0) -> Tensor:
        x_BTD = F.embedding(tokens_BT, weight_VD) * self.scale
        if self.positions is not None:
            x_BTD = x_BTD + self.positions(start, start + tokens_BT.shape[1])
        dropped: Tensor = self.dropout(x_BTD)
        return dropped


class Embedded(Seq2Seq):
    """A model whose features have the size of its embeddings, so that embedding and projection can share a matrix."""

    def __init__(self, config: ModelConfig, *, positions: str, scaled: bool = True) -> None:
        super().__init__()
        self.config = config
        size = config.d_model
        self.embedding_VD = _embedding(config.vocabulary, size)
        self.source_VD = (
            None if config.share_embeddings else _embedding(config.source_vocabulary or config.vocabulary, size)
        )
        self.untied_VD = None if config.tie_projection else _embedding(config.vocabulary, size)
        self.embed_source = Embed(config, positions=positions, scaled=scaled)
        self.embed_target = Embed(config, positions=positions, scaled=scaled)

    @property
    def projection_VD(self) -> Tensor:
        return self.embedding_VD if self.untied_VD is None else self.untied_VD

    def embedded_source(self, source_BS: Tensor) -> Tensor:
        embedded: Tensor = self.embed_source(source_BS, self.embedding_VD if self.source_VD is None else self.source_VD)
        return embedded

    def embedded_target(self, target_BT: Tensor, start: int = 0) -> Tensor:
        """Return the embedded target tokens; `start` is the position of the first."""
        embedded: Tensor = self.embed_target(target_BT, self.embedding_VD, start)
        return embedded


def _embedding(vocabulary: int, d_model: int) -> nn.Parameter:
    """Return a matrix drawn so that, times sqrt(d_model), its elements have variance 1, and logits start near 0."""
    weight_VD = nn.Parameter(torch.empty(vocabulary, d_model))
    nn.init.normal_(weight_VD, std=d_model**-0.5)
    return weight_VD


SMALL = 0.5  # times Glorot's size


def initialise(module: nn.Module) -> None:
    """Initialise the weights.

    The paper does not say how; its authors' code draws matrices by Glorot and Bengio, 2010, and starts biases at 0.

    Here W^Q and W^K are smaller by sqrt(2), like the parts of one matrix for queries, keys and values, and the matrices
    of residual branches (W^V, W^O, W1 and W2) by 2, much as in DeepNet (Wang et al., 2022). The norm after the sum then
    passes on more of x, and with a high learning rate the decoder learns early to attend to the source. Layers that
    replace attention in the encoder are initialised likewise.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    if isinstance(module, MultiHeadAttention):
        _draw(2**-0.5, module.query, module.key)
        _draw(SMALL, module.value, module.output)
    if isinstance(module, Longformer) and module.global_tokens:
        _draw(2**-0.5, module.global_query, module.global_key)
        _draw(SMALL, module.global_value)
    if isinstance(module, StateSpace | Mamba):
        _draw(SMALL, module.output)
    if isinstance(module, FeedForward):
        _draw(SMALL, module.inner, module.outer)


def _draw(gain: float, *layers: nn.Linear) -> None:
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight, gain=gain)
