"""Hard monotonic alignment (Aharoni and Goldberg, 2017): the decoder is shown the word whose turn it is.

A linearised tree has a symbol for each word of its sentence, in order. So how many words are written says which comes
next, and nobody need learn to count: what the encoder made of it is added to the decoder's input.

Shapes: B sentences, S source positions, N = S + 1 words, of which those beyond the last are EOS, R rows (some for each
sentence, side by side), T target positions, D = d_model, V vocabulary.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.model.seq2seq import Memory


@dataclass(frozen=True)
class WordMemory(Memory):
    """A source, and its words."""

    word_BND: Tensor
    """What the encoder made of the first token of each word, and then of EOS."""


class Turn(NamedTuple):
    """How far each row has come in its words."""

    word_BND: Tensor
    """As in its memory."""
    written_R: Tensor
    """Words before the first of the positions that follow."""

    @classmethod
    def first(cls, memory: Memory) -> "Turn | None":
        """That of the first word, in a row for each source; None where words are not told apart."""
        if not isinstance(memory, WordMemory):
            return None
        words = memory.word_BND
        return cls(words, torch.zeros(len(words), dtype=torch.long, device=words.device))

    def select(self, rows: Tensor) -> "Turn":
        return Turn(self.word_BND, self.written_R.index_select(0, rows))

    def of(self, sources: Tensor) -> "Turn":
        return Turn(self.word_BND.index_select(0, sources), self.written_R)


class NextWord(nn.Module):
    """Which tokens are words. That is known, not learned, but kept with the weights."""

    def __init__(self, source_vocabulary: int, vocabulary: int) -> None:
        super().__init__()
        self.source_V = nn.Parameter(torch.zeros(source_vocabulary), requires_grad=False)
        """1 for a token that begins a word."""
        self.target_V = nn.Parameter(torch.zeros(vocabulary), requires_grad=False)
        """1 for a symbol that stands for a word."""

    def remember(self, encoded_BSD: Tensor, source_BS: Tensor, mask_BS: Tensor) -> WordMemory:
        """The memory of a source, with its words."""
        place_S = torch.arange(source_BS.shape[1], device=source_BS.device)
        last_B1 = (mask_BS.sum(1, keepdim=True) - 1).clamp(min=0)
        begin_BS = torch.where(self.source_V[source_BS] > 0, place_S, last_B1).sort(dim=1).values
        which_BND = torch.cat((begin_BS, last_B1), dim=1)[:, :, None].expand(-1, -1, encoded_BSD.shape[2])
        return WordMemory(encoded_BSD, mask_BS, encoded_BSD.gather(1, which_BND))

    def forward(self, turn: Turn, target_RT: Tensor) -> tuple[Tensor, Turn]:
        """The word that comes after each target token: R, T, D. And how far the rows have come then."""
        word_BND = turn.word_BND
        (B, N, D), (R, T) = word_BND.shape, target_RT.shape
        written_RT = turn.written_R[:, None] + (self.target_V[target_RT] > 0).cumsum(1)
        which_BM = written_RT.clamp(max=N - 1).view(B, R // B * T) if B else written_RT
        shown_RTD = word_BND.gather(1, which_BM[:, :, None].expand(-1, -1, D)).view(R, T, D)
        return shown_RTD, Turn(word_BND, written_RT[:, -1])
