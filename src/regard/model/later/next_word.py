"""Hard monotonic alignment (Aharoni and Goldberg, 2017): a parser's decoder receives the next source word.

A linearised tree has a symbol for each word of its sentence, in order. So the number of words written so far determines
the next word, and the model need not learn to count: the encoder's output for that word is added to the decoder's
input.

Shapes: B sentences, S source positions, N = S + 1 words, of which those beyond the last are EOS, R rows (as many for
each sentence, adjacent), T target positions, D = d_model, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from regard.config.model import AnyTransformerConfig
from regard.model.cache import sources_of
from regard.model.layers import LayerCache
from regard.model.seq2seq import Memory
from regard.model.transformer import Transformer, TransformerState


@dataclass(frozen=True)
class WordMemory(Memory):
    """The encoder's output, and its output for each word."""

    word_BND: Tensor
    """The encoder's output for the first token of each word, followed by that for EOS."""


class Turn(NamedTuple):
    """The number of words that each row has written."""

    word_BND: Tensor
    """The encoder's output for each word; see `WordMemory`."""
    written_R: Tensor
    """Number of words before the next position."""

    @classmethod
    def first(cls, word_BND: Tensor) -> "Turn":
        """Return the state before the first word, with one row per source."""
        return cls(word_BND, torch.zeros(len(word_BND), dtype=torch.long, device=word_BND.device))

    def select(self, rows: Tensor) -> "Turn":
        return Turn(self.word_BND, self.written_R.index_select(0, rows))

    def of(self, sources: Tensor) -> "Turn":
        return Turn(self.word_BND.index_select(0, sources), self.written_R)


class NextWord(nn.Module):
    """Flags of the tokens that are words; they are not learned, but saved with the weights."""

    def __init__(self, source_vocabulary: int, vocabulary: int) -> None:
        super().__init__()
        self.source_V = nn.Parameter(torch.zeros(source_vocabulary), requires_grad=False)
        """1 for tokens that begin a word."""
        self.target_V = nn.Parameter(torch.zeros(vocabulary), requires_grad=False)
        """1 for symbols that stand for a word."""

    def memory(self, encoded_BSD: Tensor, source_BS: Tensor, mask_BS: Tensor) -> WordMemory:
        """Return the encoder's output together with its output for each word."""
        place_S = torch.arange(source_BS.shape[1], device=source_BS.device)
        last_B1 = (mask_BS.sum(1, keepdim=True) - 1).clamp(min=0)
        begin_BS = torch.where(self.source_V[source_BS] > 0, place_S, last_B1).sort(dim=1).values
        which_BND = torch.cat((begin_BS, last_B1), dim=1)[:, :, None].expand(-1, -1, encoded_BSD.shape[2])
        return WordMemory(encoded_BSD, mask_BS, encoded_BSD.gather(1, which_BND))

    def forward(self, turn: Turn, target_RT: Tensor) -> tuple[Tensor, Turn]:
        """Return the encoder's output for the word after each target token, R, T, D, and the new word counts."""
        word_BND = turn.word_BND
        (B, N, D), (R, T) = word_BND.shape, target_RT.shape
        written_RT = turn.written_R[:, None] + (self.target_V[target_RT] > 0).cumsum(1)
        which_BM = written_RT.clamp(max=N - 1).view(B, R // B * T) if B else written_RT
        shown_RTD = word_BND.gather(1, which_BM[:, :, None].expand(-1, -1, D)).view(R, T, D)
        return shown_RTD, Turn(word_BND, written_RT[:, -1])


@dataclass(frozen=True)
class NextWordState(TransformerState):
    """The state of a decoder that receives the next word."""

    turn: Turn = field(kw_only=True)

    def select(self, rows: Tensor) -> Self:
        selected, turn = super().select(rows), self.turn.select(rows)
        if selected.memories is not self.memories:
            turn = turn.of(sources_of(rows // self.beams)[0])
        return replace(selected, turn=turn)


class NextWordTransformer(Transformer):
    """A Transformer whose decoder receives the next source word (`model.next_word`)."""

    def __init__(self, config: AnyTransformerConfig) -> None:
        super().__init__(config)
        self.next_word = NextWord(config.source_vocabulary or config.vocabulary, config.vocabulary)

    def word_flags(self, source: Sequence[float], target: Sequence[float]) -> dict[str, Tensor]:
        """Return, by name, the parameters that flag the word tokens of both vocabularies."""
        return {"next_word.source_V": torch.tensor(source), "next_word.target_V": torch.tensor(target)}

    def _encode(self, source_BS: Tensor, *, weights: bool) -> tuple[Memory, list[Tensor]]:
        memory, recorded = super()._encode(source_BS, weights=weights)
        words = self.next_word.memory(memory.encoded_BSD, source_BS, memory.mask_BS)
        return replace(words, penalty=memory.penalty), recorded

    def _state(self, empty: LayerCache, memory: Memory, mask_BS: Tensor | None) -> NextWordState:
        assert isinstance(memory, WordMemory)
        state = super()._state(empty, memory, mask_BS)
        return NextWordState(state.caches, state.memories, mask_BS, turn=Turn.first(memory.word_BND))

    def _decoder_input(self, target_RT: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        assert isinstance(state, NextWordState)
        x_RTD, _ = super()._decoder_input(target_RT, state)
        word_RTD, turn = self.next_word(state.turn, target_RT)
        return x_RTD + word_RTD, replace(state, turn=turn)
