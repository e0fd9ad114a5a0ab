"""The Transformer (section 3): encoder, decoder, and one embedding matrix for both and for the projection.

Shapes: B sentences, S source positions, T target positions, D = d_model, V vocabulary.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.cache import Cache, KeyValue
from regard.model.dropout import Dropout
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.masks import not_padding
from regard.model.positions import LearnedPositions, Sinusoids
from regard.model.seq2seq import Attentions, DecoderState, Memory, Seq2Seq


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

    @property
    def length(self) -> int:
        return self.caches[0].length

    def select(self, rows: Tensor) -> Self:
        sources, beams = _sources(rows // self.beams)
        memories, mask_BS = self.memories, self.mask_BS
        if not torch.equal(sources, torch.arange(len(memories[0].key_BHSK), device=sources.device)):
            memories = tuple(memory.select(sources) for memory in memories)
            mask_BS = mask_BS.index_select(0, sources) if mask_BS is not None else None
        return type(self)(tuple(cache.select(rows) for cache in self.caches), memories, mask_BS, beams)


def _sources(source_R: Tensor) -> tuple[Tensor, int]:
    """The sources to keep if these are the sources of the rows, and for how many rows each."""
    runs = 1 + int((source_R[1:] != source_R[:-1]).sum())
    beams = max(1, len(source_R) // runs)
    source_B = source_R[::beams]
    alike = torch.equal(source_B.repeat_interleave(beams), source_R)
    return (source_B, beams) if alike else (source_R, 1)


class Embed(nn.Module):
    """Tokens times sqrt(d_model) (section 3.4), plus positions (section 3.5), then dropout (section 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.positions: nn.Module | None = None  # rotary and relative positions enter in attention instead
        if config.positions == "sinusoidal":
            self.positions = Sinusoids(config.d_model)
        elif config.positions == "learned":
            self.positions = LearnedPositions(config.max_length, config.d_model)

    def forward(self, tokens_BT: Tensor, weight_VD: Tensor, start: int = 0) -> Tensor:
        x_BTD = F.embedding(tokens_BT, weight_VD) * self.scale
        if self.positions is not None:
            x_BTD = x_BTD + self.positions(start, start + tokens_BT.shape[1])
        dropped: Tensor = self.dropout(x_BTD)
        return dropped


class Transformer(Seq2Seq):
    """The model of the paper when the config is `base`; every other field is a stated departure."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        size = config.d_model
        self.embedding_VD = _embedding(config.vocabulary, size)
        self.source_VD = (
            None if config.share_embeddings else _embedding(config.source_vocabulary or config.vocabulary, size)
        )
        self.untied_VD = None if config.tie_projection else _embedding(config.vocabulary, size)
        self.embed_source = Embed(config)
        self.embed_target = Embed(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(size) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size) if pre else nn.Identity()
        self.apply(_initialise)

    @property
    def projection_VD(self) -> Tensor:
        return self.embedding_VD if self.untied_VD is None else self.untied_VD

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
        features_BTD, caches, _ = self._decode(tokens_BT, state.caches, state.memories, state.mask_BS, weights=False)
        return self.logits(features_BTD), TransformerState(caches, state.memories, state.mask_BS, state.beams)

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        memory, encoder = self._encode(source_BS, weights=True)
        _, _, pairs = self._decode(target_BT, None, self._memories(memory), memory.mask_BS, weights=True)
        decoder, cross = zip(*pairs, strict=True)
        return Attentions(tuple(encoder), decoder, cross)

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[Memory, list[Tensor]]:
        mask_BS = not_padding(source_BS)
        x_BSD = self.embed_source(source_BS, self.embedding_VD if self.source_VD is None else self.source_VD)
        recorded = []
        for layer in self.encoder:
            x_BSD, weights_BHSS = layer(x_BSD, mask_BS, weights=weights)
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
        *,
        weights: bool,
    ) -> tuple[Tensor, tuple[Cache, ...], list[tuple[Tensor, Tensor]]]:
        x_BTD = self.embed_target(target_BT, self.embedding_VD, caches[0].length if caches else 0)
        grown, recorded = [], []
        for number, layer in enumerate(self.decoder):
            cache = caches[number] if caches else None
            x_BTD, cache, pair = layer(x_BTD, cache, memories[number], mask_BS, weights=weights)
            grown.append(cache)
            recorded.append(pair)
        return self.decoder_norm(x_BTD), tuple(grown), recorded


def _embedding(vocabulary: int, d_model: int) -> nn.Parameter:
    """Drawn so that, times sqrt(d_model), its elements have variance 1, and logits start near 0."""
    weight_VD = nn.Parameter(torch.empty(vocabulary, d_model))
    nn.init.normal_(weight_VD, std=d_model**-0.5)
    return weight_VD


def _initialise(module: nn.Module) -> None:
    """The paper does not say; its authors' code draws matrices by Glorot and Bengio, 2010, and starts biases at 0."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
