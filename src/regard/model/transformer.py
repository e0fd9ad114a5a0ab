"""The Transformer (section 3): encoder, decoder, and one embedding matrix for both and for the projection.

Shapes: B sentences, S source positions, T target positions, D = d_model, V vocabulary.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.beams import sources_of
from regard.model.cache import Cache, Joined, KeyValue
from regard.model.embedding import Embedded, initialise
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.masks import not_padding
from regard.model.next_word import NextWord, Turn
from regard.model.seq2seq import Attentions, DecoderState, Memory


@dataclass(frozen=True)
class TransformerState:
    """The keys and values of the target so far, and of the source, for every decoder layer.

    A source's are kept once: rows that continue the same source stand side by side, and as many for each. So what
    reorders the beams of a sentence copies only what they have written.
    """

    caches: tuple[Cache, ...]
    memories: tuple[KeyValue, ...]
    mask_BS: Tensor | None
    """None where no source is padded, as a single one never is."""
    beams: int = 1
    """Rows for each source."""
    turn: Turn | None = None
    """Which word comes next in each row, where the decoder is shown it."""

    @property
    def length(self) -> int:
        return self.caches[0].length

    def select(self, rows: Tensor) -> Self:
        sources, beams = sources_of(rows // self.beams)
        memories, mask_BS = self.memories, self.mask_BS
        turn = None if self.turn is None else self.turn.select(rows)
        if not torch.equal(sources, torch.arange(len(memories[0].key_BHSK), device=sources.device)):
            memories = tuple(memory.select(sources) for memory in memories)
            mask_BS = mask_BS.index_select(0, sources) if mask_BS is not None else None
            turn = None if turn is None else turn.of(sources)
        return type(self)(tuple(cache.select(rows) for cache in self.caches), memories, mask_BS, beams, turn)


class Transformer(Embedded):
    """The model of the paper when the config is `base`, but for its first weights (see `initialise`).

    Every other choice is a stated departure.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, positions=config.positions)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.next_word = (
            NextWord(config.source_vocabulary or config.vocabulary, config.vocabulary) if config.next_word else None
        )
        self.apply(initialise)

    def encode(self, source_BS: Tensor) -> Memory:
        return self._encode(source_BS, weights=False)[0]

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self._decode(target_BT, self._one_pass(self.encode(source_BS)))[0]

    def start(self, memory: Memory, max_length: int) -> TransformerState:
        mask_BS = None if bool(memory.mask_BS.all()) else memory.mask_BS
        return self._state(Cache(), memory, mask_BS)

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, TransformerState)
        features_BTD, state, _ = self._decode(tokens_BT, state)
        return self.logits(features_BTD), state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        memory, encoder = self._encode(source_BS, weights=True)
        _, _, pairs = self._decode(target_BT, self._one_pass(memory), weights=True)
        decoder, cross = zip(*pairs, strict=True)
        return Attentions(tuple(encoder), decoder, cross)

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[Memory, list[Tensor]]:
        mask_BS = not_padding(source_BS)
        x_BSD = self.embedded_source(source_BS)
        recorded = []
        for layer in self.encoder:
            x_BSD, weights_BHSS = layer(x_BSD, mask_BS, weights=weights)
            if weights_BHSS is not None:
                recorded.append(weights_BHSS)
        encoded_BSD = self.encoder_norm(x_BSD)
        if self.next_word is not None:
            return self.next_word.remember(encoded_BSD, source_BS, mask_BS), recorded
        return Memory(encoded_BSD, mask_BS), recorded

    def _memories(self, memory: Memory) -> tuple[KeyValue, ...]:
        layers: Iterable[DecoderLayer] = self.decoder  # type: ignore[assignment]  # a ModuleList forgets the kind
        return tuple(layer.memory(memory.encoded_BSD) for layer in layers)

    def _state(self, empty: Cache, memory: Memory, mask_BS: Tensor | None) -> TransformerState:
        return TransformerState((empty,) * len(self.decoder), self._memories(memory), mask_BS, turn=Turn.first(memory))

    def _one_pass(self, memory: Memory) -> TransformerState:
        """The state before a target that is read at once, and may be differentiated."""
        return self._state(Joined(), memory, memory.mask_BS)

    def _decode(
        self, target_BT: Tensor, state: TransformerState, *, weights: bool = False
    ) -> tuple[Tensor, TransformerState, list[tuple[Tensor, Tensor]]]:
        """The features of T further positions, the state after them and, when asked, each layer's two attentions."""
        x_BTD, turn = self.embedded_target(target_BT, state.length), state.turn
        if self.next_word is not None:
            assert turn is not None, "the memory has no words"
            word_BTD, turn = self.next_word(turn, target_BT)
            x_BTD = x_BTD + word_BTD
        caches, recorded = [], []
        for layer, cache, memory in zip(self.decoder, state.caches, state.memories, strict=True):
            x_BTD, grown, pair = layer(x_BTD, cache, memory, state.mask_BS, weights=weights)
            caches.append(grown)
            recorded.append(pair)
        after = TransformerState(tuple(caches), state.memories, state.mask_BS, state.beams, turn)
        return self.decoder_norm(x_BTD), after, recorded
