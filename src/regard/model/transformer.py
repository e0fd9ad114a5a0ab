"""The Transformer (section 3): encoder, decoder, and one embedding matrix for both and for the projection.

Shapes: B sentences, R rows (one or several beams per sentence), S source positions, T target positions, D = d_model,
V vocabulary.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from regard.config.model import AnyTransformerConfig
from regard.model.cache import Cache, Joined, KeyValue, sources_of
from regard.model.embedding import Embedded, initialise
from regard.model.layers import DecoderLayer, EncoderLayer, LayerCache, decoder_layer, empty_cache
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, Memory, total


@dataclass(frozen=True)
class TransformerState:
    """The keys and values of the target so far, and of the source, for every decoder layer.

    Those of a source are stored once: the beams of a sentence are adjacent rows, equally many for each sentence. So
    reordering beams copies only the keys and values of the target.
    """

    caches: tuple[LayerCache, ...]
    memories: tuple[KeyValue, ...]
    mask_BS: Tensor | None
    """None if no source is padded, as with a single sentence."""
    beams: int = 1
    """Number of rows per source."""

    @property
    def length(self) -> int:
        return self.caches[0].length

    def first(self, length: int) -> Self:
        """Return the state after the first `length` target positions; do not use this one afterwards."""
        caches = tuple(cache.first(length) for cache in self.caches if isinstance(cache, Cache))
        assert len(caches) == len(self.caches), "a state that holds no positions can't give one back"
        return replace(self, caches=caches)

    def select(self, rows: Tensor) -> Self:
        sources, beams = sources_of(rows // self.beams)
        memories, mask_BS = self.memories, self.mask_BS
        if not torch.equal(sources, torch.arange(len(memories[0].key_BHSK), device=sources.device)):
            memories = tuple(memory.select(sources) for memory in memories)
            mask_BS = mask_BS.index_select(0, sources) if mask_BS is not None else None
        caches = tuple(cache.select(rows) for cache in self.caches)
        return replace(self, caches=caches, memories=memories, mask_BS=mask_BS, beams=beams)


class Decoded(NamedTuple):
    """The decoder's output at some positions."""

    features_RTD: Tensor
    state: TransformerState
    weights: list[tuple[Tensor, Tensor]]
    """Each layer's weights of self-attention and of cross-attention, if they were asked for."""
    penalty: Tensor | None
    """Added to the loss in training; see `features_and_penalty`."""


class Transformer(Embedded):
    """The paper's Transformer if the config is `base`, except for its initial weights (see `initialise`).

    Every other option is a stated departure from the paper.
    """

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__(config, positions=config.positions)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(decoder_layer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.apply(initialise)
        self.empty_cache = empty_cache(config)
        """The initial cache for decoding step by step."""

    def encode(self, source_BS: Tensor) -> Memory:
        return self._encode(source_BS, weights=False)[0]

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self.features_and_penalty(source_BS, target_BT)[0]

    def features_and_penalty(self, source_BS: Tensor, target_BT: Tensor) -> tuple[Tensor, Tensor | None]:
        memory = self.encode(source_BS)
        decoded = self._decode(target_BT, self._one_pass(memory))
        return decoded.features_RTD, total(memory.penalty, decoded.penalty)

    def start(self, memory: Memory, max_length: int) -> TransformerState:
        mask_BS = None if bool(memory.mask_BS.all()) else memory.mask_BS
        return self._state(self.empty_cache, memory, mask_BS)

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, TransformerState)
        decoded = self._decode(tokens_BT, state)
        return self.logits(decoded.features_RTD), decoded.state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        memory, encoder = self._encode(source_BS, weights=True)
        decoder, cross = zip(*self._decode(target_BT, self._one_pass(memory), weights=True).weights, strict=True)
        return Attentions(tuple(encoder), tuple(own for own in decoder if own is not None), cross)

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[Memory, list[Tensor]]:
        """Return the encoder's output and, if `weights`, the attention weights of each layer."""
        mask_BS = not_padding(source_BS)
        x_BSD = self.embedded_source(source_BS)
        recorded, penalty = [], None
        for layer in self.encoder:
            (x_BSD, of_layer), weights_BHSS = layer(x_BSD, mask_BS, weights=weights)
            penalty = total(penalty, of_layer)
            if weights_BHSS is not None:
                recorded.append(weights_BHSS)
        return Memory(self.encoder_norm(x_BSD), mask_BS, penalty=penalty), recorded

    def _state(self, empty: LayerCache, memory: Memory, mask_BS: Tensor | None) -> TransformerState:
        memories = self._memories(memory)
        return TransformerState((empty,) * len(memories), memories, mask_BS)

    def _memories(self, memory: Memory) -> tuple[KeyValue, ...]:
        """Return the keys and values of the encoder's output for each decoder layer."""
        layers: Iterable[DecoderLayer] = self.decoder  # type: ignore[assignment]  # ModuleList is untyped
        return tuple(layer.memory(memory.encoded_BSD) for layer in layers)

    def _one_pass(self, memory: Memory) -> TransformerState:
        """Return the initial state for a target that is read in one pass, possibly with a gradient."""
        empty = Joined() if isinstance(self.empty_cache, Cache) else self.empty_cache
        return self._state(empty, memory, memory.mask_BS)

    def _decoder_input(self, target_RT: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """Return the first decoder layer's input at T further positions, and the state after them, caches excepted."""
        return self.embedded_target(target_RT, state.length), state

    def _decode(self, target_RT: Tensor, state: TransformerState, *, weights: bool = False) -> Decoded:
        """Return the features of T further positions, the state after them and, if `weights`, each layer's weights."""
        x_RTD, after = self._decoder_input(target_RT, state)
        mask_RT = not_padding(target_RT) if self.training else None  # for experts, and in training alone
        caches, recorded, penalty = [], [], None
        for layer, cache, memory in zip(self.decoder, state.caches, state.memories, strict=True):
            (x_RTD, of_layer), grown, pair = layer(x_RTD, cache, memory, state.mask_BS, mask_RT, weights=weights)
            penalty = total(penalty, of_layer)
            caches.append(grown)
            recorded.append(pair)
        return Decoded(self.decoder_norm(x_RTD), replace(after, caches=tuple(caches)), recorded, penalty)
