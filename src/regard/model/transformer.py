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
from regard.model.cache import Cache, KeyValue
from regard.model.embedding import Embedded, initialise
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.masks import not_padding
from regard.model.positions import WordPositions
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
    words_B: Tensor | None = None
    """How many words each row has written, where they are counted."""

    @property
    def length(self) -> int:
        return self.caches[0].length

    def select(self, rows: Tensor) -> Self:
        sources, beams = sources_of(rows // self.beams)
        memories, mask_BS = self.memories, self.mask_BS
        if not torch.equal(sources, torch.arange(len(memories[0].key_BHSK), device=sources.device)):
            memories = tuple(memory.select(sources) for memory in memories)
            mask_BS = mask_BS.index_select(0, sources) if mask_BS is not None else None
        words_B = None if self.words_B is None else self.words_B.index_select(0, rows)
        return type(self)(tuple(cache.select(rows) for cache in self.caches), memories, mask_BS, beams, words_B)


class Transformer(Embedded):
    """The model of the paper when the config is `base`; every other field is a stated departure."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, positions=config.positions)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.apply(initialise)

    def encode(self, source_BS: Tensor) -> Memory:
        return self._encode(source_BS, weights=False)[0]

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        memory = self.encode(source_BS)
        return self._decode(target_BT, None, self._memories(memory), memory.mask_BS, weights=False)[0]

    def start(self, memory: Memory, max_length: int) -> TransformerState:
        caches = tuple(Cache() for _ in self.decoder)
        mask_BS = None if bool(memory.mask_BS.all()) else memory.mask_BS
        return TransformerState(caches, self._memories(memory), mask_BS)

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, TransformerState)
        words_B, (memories, mask_BS) = state.words_B, (state.memories, state.mask_BS)
        features_BTD, caches, _ = self._decode(tokens_BT, state.caches, memories, mask_BS, words_B, weights=False)
        if isinstance(self.embed_target.positions, WordPositions):
            written_B = self.embed_target.positions.words(tokens_BT)[:, -1]
            words_B = written_B if words_B is None else words_B + written_B
        return self.logits(features_BTD), TransformerState(caches, memories, mask_BS, state.beams, words_B)

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        memory, encoder = self._encode(source_BS, weights=True)
        _, _, pairs = self._decode(target_BT, None, self._memories(memory), memory.mask_BS, weights=True)
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
        return Memory(self.encoder_norm(x_BSD), mask_BS), recorded

    def _memories(self, memory: Memory) -> tuple[KeyValue, ...]:
        layers: Iterable[DecoderLayer] = self.decoder  # type: ignore[assignment]  # a ModuleList forgets the kind
        return tuple(layer.memory(memory.encoded_BSD) for layer in layers)

    def _decode(
        self,
        target_BT: Tensor,
        caches: tuple[Cache, ...] | None,
        memories: tuple[KeyValue, ...],
        mask_BS: Tensor | None,
        passed_B: Tensor | None = None,
        *,
        weights: bool,
    ) -> tuple[Tensor, tuple[Cache, ...], list[tuple[Tensor, Tensor]]]:
        x_BTD = self.embedded_target(target_BT, caches[0].length if caches else 0, passed_B)
        grown, recorded = [], []
        for number, layer in enumerate(self.decoder):
            cache = caches[number] if caches else None
            x_BTD, cache, pair = layer(x_BTD, cache, memories[number], mask_BS, weights=weights)
            grown.append(cache)
            recorded.append(pair)
        return self.decoder_norm(x_BTD), tuple(grown), recorded
