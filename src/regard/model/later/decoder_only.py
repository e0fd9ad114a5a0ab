"""A decoder alone (GPT: Radford et al., 2018): source and target as one sequence, translation as its continuation.

    x_1 … x_S EOS BOS y_1 … y_T

Every position sees those before it. `encode` reads the source and keeps its keys and values, and the target goes on
from them. Only target tokens are predicted in training; GPT predicts all. Positions count on from source to target.

Shapes: B sentences, R rows (a hypothesis each), S source positions, T target positions, D = d_model, K = d_k.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.later import DecoderOnlyConfig
from regard.model.attention import MultiHeadAttention
from regard.model.cache import Cache, Joined, KeyValue
from regard.model.embedding import Embed, Embedded, initialise
from regard.model.layers import EncoderLayer, LayerOutput, apply_feed_forward
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, Memory


@dataclass(frozen=True)
class PrefixMemory(Memory):
    """The source as the beginning of the sequence."""

    layers: tuple[KeyValue, ...]
    """The keys and values of the source for each layer."""


@dataclass(frozen=True)
class PrefixState:
    """The keys and values of the source, with its padding, and of the target so far."""

    caches: tuple[Cache, ...]
    source_RS: Tensor
    """True where there is a source token."""

    @property
    def length(self) -> int:
        return self.caches[0].length - self.source_RS.shape[1]

    def select(self, rows: Tensor) -> Self:
        caches = tuple(cache.select(rows) for cache in self.caches)
        return replace(self, caches=caches, source_RS=self.source_RS.index_select(0, rows))


class DecoderOnlyLayer(EncoderLayer):
    """Causal self-attention, then feed-forward."""

    uses_weights = ("extend",)

    def extend(
        self, x_BTD: Tensor, cache: Cache, keys_BS: Tensor | None, mask_BT: Tensor | None, *, weights: bool
    ) -> tuple[LayerOutput, Cache, Tensor | None]:
        """Return the output at T further positions, the cache with them and, if `weights`, B, H, T, S + T."""
        assert isinstance(self.attention, MultiHeadAttention)
        query, keys_values = self.attention.queries_keys_values(self.around_attention.enter(x_BTD), cache.length)
        cache = cache.append(keys_values)
        attended, weights_BHTS = self.attention(query, cache.content, keys_BS, causal=True, weights=weights)
        x_BTD = self.around_attention.leave(x_BTD, attended)
        return apply_feed_forward(self.feed_forward, self.around_feed_forward, x_BTD, mask_BT), cache, weights_BHTS


class DecoderOnly(Embedded):
    """One stack of causal layers for source and target."""

    def __init__(self, config: DecoderOnlyConfig) -> None:
        super().__init__(config, positions=config.positions)
        self.embed_source = self.embed_target  # the target's positions are those after the source's
        self.decoder = nn.ModuleList(DecoderOnlyLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.apply(initialise)

    def encode(self, source_BS: Tensor) -> PrefixMemory:
        return self._encode(source_BS, weights=False)[0]

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        memory = self.encode(source_BS)
        return self._decode(target_BT, self._state(memory, tuple(map(Joined.of, memory.layers))))[0]

    def start(self, memory: Memory, max_length: int) -> PrefixState:
        assert isinstance(memory, PrefixMemory)
        return self._state(memory, tuple(Cache().append(layer) for layer in memory.layers))

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, PrefixState]:
        assert isinstance(state, PrefixState)
        features_RTD, state, _ = self._decode(tokens_BT, state)
        return self.logits(features_RTD), state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        """Return the weights among source tokens, among target tokens, and from target to source.

        The last two are parts of one softmax, so that they add up to 1 together.
        """
        memory, encoder = self._encode(source_BS, weights=True)
        state = self._state(memory, tuple(map(Joined.of, memory.layers)))
        both = self._decode(target_BT, state, weights=True)[2]
        S = source_BS.shape[1]
        return Attentions(encoder, tuple(one[..., S:] for one in both), tuple(one[..., :S] for one in both))

    def _state(self, memory: PrefixMemory, caches: tuple[Cache, ...]) -> PrefixState:
        return PrefixState(caches, memory.mask_BS)

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[PrefixMemory, tuple[Tensor, ...]]:
        """Read the source; its padding is on the right, where no token before sees it."""
        mask_BS = not_padding(source_BS)
        x_BSD, caches, recorded = self._layers(self.embedded_source(source_BS), self._empty(), None, weights=weights)
        return PrefixMemory(x_BSD, mask_BS, tuple(cache.content for cache in caches)), recorded

    def _empty(self) -> tuple[Cache, ...]:
        return tuple(Joined() for _ in self.decoder)

    def _decode(
        self, target_RT: Tensor, state: PrefixState, *, weights: bool = False
    ) -> tuple[Tensor, PrefixState, tuple[Tensor, ...]]:
        """Return the features of T further target positions, the state after them and, if `weights`, the weights."""
        T = target_RT.shape[1]
        there_RX = F.pad(state.source_RS, (0, state.length + T), value=True)
        place_RT = state.source_RS.sum(1, keepdim=True) + torch.arange(
            state.length, state.length + T, device=target_RT.device
        )
        x_RTD = self._embedded(target_RT, place_RT)
        x_RTD, caches, recorded = self._layers(x_RTD, state.caches, there_RX, weights=weights)
        return self.decoder_norm(x_RTD), replace(state, caches=caches), recorded

    def _embedded(self, tokens_RT: Tensor, place_RT: Tensor) -> Tensor:
        """Embed tokens at their own positions, which differ between rows."""
        embed: Embed = self.embed_target
        x_RTD = F.embedding(tokens_RT, self.embedding_VD) * embed.scale
        if embed.positions is not None:
            stop = int(place_RT.max()) + 1 if place_RT.numel() else 0
            x_RTD = x_RTD + embed.positions(0, stop)[place_RT]
        dropped: Tensor = embed.dropout(x_RTD)
        return dropped

    def _layers(
        self, x_RTD: Tensor, caches: tuple[Cache, ...], there_RX: Tensor | None, *, weights: bool
    ) -> tuple[Tensor, tuple[Cache, ...], tuple[Tensor, ...]]:
        grown, recorded = [], []
        for layer, cache in zip(self.decoder, caches, strict=True):
            assert isinstance(layer, DecoderOnlyLayer)
            (x_RTD, _), longer, weights_RHTX = layer.extend(x_RTD, cache, there_RX, None, weights=weights)
            grown.append(longer)
            if weights_RHTX is not None:
                recorded.append(weights_RHTX)
        return x_RTD, tuple(grown), tuple(recorded)
