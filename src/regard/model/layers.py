"""The layers of the encoder and the decoder (section 3.1) and the feed-forward network (section 3.3).

Shapes: B sentences, S source positions, T target positions, D = d_model, K = d_k, V = d_v.
"""

from typing import NamedTuple

from torch import Tensor, nn

from regard.config.later import (
    LinformerConfig,
    LongformerConfig,
    MambaConfig,
    MixerConfig,
    PerformerConfig,
    StateSpaceConfig,
)
from regard.config.model import AnyTransformerConfig, TransformerConfig
from regard.model.attention import MultiHeadAttention
from regard.model.cache import Cache, KeyValue, Recent
from regard.model.kernels.dropout import Dropout
from regard.model.kernels.linear import Linear
from regard.model.later.experts import Experts
from regard.model.later.linformer import Linformer
from regard.model.later.longformer import Longformer
from regard.model.later.mamba import Mamba, MambaState
from regard.model.later.mixer import Mixer
from regard.model.later.performer import Performer
from regard.model.later.state_space import StateSpace
from regard.model.seq2seq import Layer

LayerCache = Cache | MambaState
"""The cache of a decoder layer: what it keeps of the target positions so far."""

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


class FeedForward(nn.Module):
    """Feed-forward network FFN(x) = max(0, x W1 + b1) W2 + b2 (equation 2), the same at every position."""

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        self.inner = Linear(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]()
        self.outer = Linear(d_ff, d_model)

    def forward(self, x_BTD: Tensor) -> Tensor:
        output: Tensor = self.outer(self.activation(self.inner(x_BTD)))
        return output


class AddNorm(nn.Module):
    """Residual connection and norm around a sub-layer: LayerNorm(x + Dropout(Sublayer(x))) (sections 3.1 and 5.4).

    With pre-norm (not the paper) it is x + Dropout(Sublayer(LayerNorm(x))). A caller computes y = sublayer(enter(x)),
    then x = leave(x, y).
    """

    def __init__(self, d_model: int, dropout: float, norm: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def enter(self, x_BTD: Tensor) -> Tensor:
        normed: Tensor = self.norm(x_BTD) if self.pre else x_BTD
        return normed

    def leave(self, x_BTD: Tensor, y_BTD: Tensor) -> Tensor:
        sum_BTD: Tensor = x_BTD + self.dropout(y_BTD)
        return sum_BTD if self.pre else self.norm(sum_BTD)


def _self_attention(config: AnyTransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        config.d_k,
        config.d_v,
        score=config.score,
        rotary=config.positions == "rotary",
        relative_distance=config.relative_distance if config.positions == "relative" else 0,
        neighbours=config.neighbours if isinstance(config, TransformerConfig) else 0,
        dropout=config.attention_dropout,
    )


def _mixing(  # noqa: PLR0911  # a line for each kind
    config: AnyTransformerConfig,
) -> MultiHeadAttention | StateSpace | Mamba | Mixer:
    """Return the layer that mixes the encoder's positions."""
    sizes = (config.d_model, config.heads, config.d_k, config.d_v)
    rotary, dropout = config.positions == "rotary", config.attention_dropout
    match config:
        case LongformerConfig():
            return Longformer(
                *sizes, window=config.window, global_tokens=config.global_tokens, rotary=rotary, dropout=dropout
            )
        case LinformerConfig():
            return Linformer(*sizes, rank=config.rank, max_length=config.max_length, dropout=dropout)
        case PerformerConfig():
            return Performer(*sizes, features=config.features, rotary=rotary)
        case StateSpaceConfig():
            return StateSpace(config.d_model, config.state_size)
        case MambaConfig():
            return Mamba(config.d_model, config.state_size, config.expand, config.kernel, causal=False)
        case MixerConfig():
            return Mixer(config.max_length, config.token_units)
        case _:
            return _self_attention(config)


def _feed_forward(config: AnyTransformerConfig) -> FeedForward | Experts:
    if isinstance(config, TransformerConfig) and config.experts:
        return Experts(config.d_model, config.d_ff, config.experts, config.active_experts)
    return FeedForward(config.d_model, config.d_ff, config.activation)


class LayerOutput(NamedTuple):
    """The output of a layer, and in training the penalty of its experts, if it has some."""

    x_BTD: Tensor
    penalty: Tensor | None


def apply_feed_forward(
    network: FeedForward | Experts, around: AddNorm, x_BTD: Tensor, mask_BT: Tensor | None
) -> LayerOutput:
    """Apply the feed-forward network, or experts, with its residual connection and norm."""
    if isinstance(network, Experts):
        y_BTD, penalty = network(around.enter(x_BTD), mask_BT)
        return LayerOutput(around.leave(x_BTD, y_BTD), penalty)
    return LayerOutput(around.leave(x_BTD, network(around.enter(x_BTD))), None)


class EncoderLayer(Layer):
    """An encoder layer: self-attention, or the layer that `model.mixing` selects, then feed-forward."""

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__()
        self.attention = _mixing(config)
        self.around_attention = AddNorm(config.d_model, config.dropout, config.norm)
        self.feed_forward = _feed_forward(config)
        self.around_feed_forward = AddNorm(config.d_model, config.dropout, config.norm)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[LayerOutput, Tensor | None]:
        attended, weights_BHSS = self.attention.mix(self.around_attention.enter(x_BSD), mask_BS, weights=weights)
        x_BSD = self.around_attention.leave(x_BSD, attended)

        return apply_feed_forward(self.feed_forward, self.around_feed_forward, x_BSD, mask_BS), weights_BHSS


class DecoderLayer(Layer):
    """A decoder layer: masked self-attention, attention over the encoder's output, feed-forward."""

    uses_weights = ("memory", "refine")

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__()
        self.attention = self.self_attention(config)
        self.around_attention = AddNorm(config.d_model, config.dropout, config.norm)
        sizes = (config.d_model, config.heads, config.d_k, config.d_v)
        self.cross = MultiHeadAttention(*sizes, score=config.score, dropout=config.attention_dropout)
        self.around_cross = AddNorm(config.d_model, config.dropout, config.norm)
        self.feed_forward = _feed_forward(config)
        self.around_feed_forward = AddNorm(config.d_model, config.dropout, config.norm)

    @staticmethod
    def self_attention(config: AnyTransformerConfig) -> nn.Module:
        """Return the sub-layer that mixes the target's positions."""
        return _self_attention(config)

    def memory(self, encoded_BSD: Tensor) -> KeyValue:
        """Return the keys and values of the encoder's output, which are the same for every target position."""
        return self.cross.keys_values(encoded_BSD)

    def forward(
        self,
        x_BTD: Tensor,
        cache: LayerCache,
        memory: KeyValue,
        mask_BS: Tensor | None,
        mask_BT: Tensor | None = None,
        *,
        weights: bool = False,
    ) -> tuple[LayerOutput, LayerCache, tuple[Tensor | None, Tensor | None]]:
        """Return the output at T further positions, the cache with their keys and values, and the weights if `weights`.

        Attention needs no mask for target padding: it is on the right, where the causal mask hides it; `mask_BT` keeps
        it from experts. A source may have several adjacent rows; cross-attention treats their queries as those of one
        long row.
        """
        attended, cache, own_BHTT = self.attend(self.around_attention.enter(x_BTD), cache, weights=weights)
        x_BTD = self.around_attention.leave(x_BTD, attended)
        fed, cross_BHTS = self._after_attention(x_BTD, memory, mask_BS, mask_BT, weights=weights)
        return fed, cache, (own_BHTT, cross_BHTS)

    def refine(
        self, x_BTD: Tensor, mask_BT: Tensor, memory: KeyValue, mask_BS: Tensor, *, weights: bool = False
    ) -> tuple[LayerOutput, tuple[Tensor | None, Tensor | None]]:
        """Return the output at all target positions, each seeing all others, and the weights if `weights`."""
        assert isinstance(self.attention, MultiHeadAttention)
        attended, own_BHTT = self.attention.mix(self.around_attention.enter(x_BTD), mask_BT, weights=weights)
        x_BTD = self.around_attention.leave(x_BTD, attended)
        fed, cross_BHTS = self._after_attention(x_BTD, memory, mask_BS, mask_BT, weights=weights)
        return fed, (own_BHTT, cross_BHTS)

    def _after_attention(
        self, x_BTD: Tensor, memory: KeyValue, mask_BS: Tensor | None, mask_BT: Tensor | None, *, weights: bool
    ) -> tuple[LayerOutput, Tensor | None]:
        """Return the output of attention over the encoder's output and of the feed-forward network."""
        entered = self.around_cross.enter(x_BTD)
        query = self.cross.queries(entered.reshape(memory.key_BHSK.shape[0], -1, entered.shape[2]))
        attended, cross_BHTS = self.cross(query, memory, mask_BS, weights=weights)
        x_BTD = self.around_cross.leave(x_BTD, attended.view_as(x_BTD))

        return apply_feed_forward(self.feed_forward, self.around_feed_forward, x_BTD, mask_BT), cross_BHTS

    def attend(self, x_BTD: Tensor, cache: LayerCache, *, weights: bool) -> tuple[Tensor, LayerCache, Tensor | None]:
        """Return the self-attention of T further positions, the cache with them and, if `weights`, B, H, T, T."""
        assert isinstance(cache, Cache) and isinstance(self.attention, MultiHeadAttention)
        query, keys_values = self.attention.queries_keys_values(x_BTD, cache.length)
        cache = cache.append(keys_values)
        attended, own_BHTT = self.attention(query, cache.content, causal=True, weights=weights)
        return attended, cache, own_BHTT


class MambaDecoderLayer(DecoderLayer):
    """A decoder layer with Mamba instead of self-attention; it keeps a state of one size."""

    @staticmethod
    def self_attention(config: AnyTransformerConfig) -> nn.Module:
        assert isinstance(config, MambaConfig)
        return Mamba(config.d_model, config.state_size, config.expand, config.kernel, causal=True)

    def attend(self, x_BTD: Tensor, cache: LayerCache, *, weights: bool) -> tuple[Tensor, LayerCache, Tensor | None]:
        assert isinstance(cache, MambaState) and isinstance(self.attention, Mamba)
        mixed, state = self.attention.advance(x_BTD, cache)
        return mixed, state, None


def decoder_layer(config: AnyTransformerConfig) -> DecoderLayer:
    """Return a decoder layer of the kind that the config describes."""
    return MambaDecoderLayer(config) if isinstance(config, MambaConfig) else DecoderLayer(config)


def empty_cache(config: AnyTransformerConfig) -> LayerCache:
    """Return a decoder layer's cache before the first token."""
    if isinstance(config, MambaConfig):
        return MambaState()
    if isinstance(config, TransformerConfig) and config.neighbours and config.blocks == 1:
        return Recent(keep=config.neighbours // 2)
    return Cache()
