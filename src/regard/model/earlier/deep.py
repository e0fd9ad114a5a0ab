"""Deep LSTM decoders whose bottom layer attends to the source: the common part of GNMT and Deep-Att.

At step i the context a_i is computed from the bottom layer's output at the step before, y_{i-1}, with y_0 = 0, and the
bottom layer reads it beside the target token:

    s_t = v · tanh(W y_{i-1} + U x_t),    p_t = softmax_t(s_t),    a_i = Σ_t p_t x_t

where x_t is the encoder's output. So only the bottom layer has to be computed step by step; the layers above it read a
whole target in one call. Neither paper says in which state the decoder starts; here it is 0, so that all it has of the
source comes from attention.

Shapes: B sentences, R rows, S source positions, T target positions, D = d_model, E = 2·D.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.config.model import DeepAttentionConfig, GnmtConfig
from regard.config.special_tokens import PAD
from regard.model.earlier.recurrent import AdditiveAttention
from regard.model.earlier.state import Shared
from regard.model.embedding import Embedded
from regard.model.kernels.dropout import Dropout
from regard.model.masks import masked_softmax
from regard.model.seq2seq import Attentions, DecoderState, Memory, total

Cell = tuple[Tensor, Tensor]
"""The hidden state and the cell state of a layer, each R, D."""


@dataclass(frozen=True)
class DeepState:
    """The states of the decoder's layers, bottom first, and the source's tensors that attention reads."""

    cells: tuple[Cell, ...]
    source: Shared
    length: int = 0

    def select(self, rows: Tensor) -> Self:
        cells = tuple((h_RD.index_select(0, rows), c_RD.index_select(0, rows)) for h_RD, c_RD in self.cells)
        return type(self)(cells, self.source.select(rows), self.length)


class Bottom(NamedTuple):
    """The bottom layer's input, output and attention at T positions."""

    read_RTE: Tensor
    """Input of the layer: the embedded token and the context."""
    y_RTD: Tensor
    context_RTD: Tensor
    weights_RTS: Tensor
    cell: Cell
    """Last state of the layer."""


class Above(NamedTuple):
    """The output of the layers above, and their states."""

    features_RTD: Tensor
    cells: Sequence[Cell]
    penalty: Tensor | None = None


class Deep(Embedded):
    """A deep LSTM model; subclasses define its encoder and the decoder's layers above the bottom one."""

    decoder: Sequence[nn.LSTM]
    """The layers above the bottom one."""

    def __init__(self, config: GnmtConfig | DeepAttentionConfig) -> None:
        super().__init__(config, positions="none")
        self.bottom = nn.LSTMCell(2 * config.d_model, config.d_model)
        self.score = AdditiveAttention(config.d_model)
        self.dropout = Dropout(config.dropout)

    @abstractmethod
    def _above(self, bottom: Bottom, cells: Sequence[Cell], mask_RT: Tensor | None) -> Above:
        """Return the features, from the bottom layer's output and the states before; the mask is for experts."""

    def deterministic_in_threads(self, precision: str) -> bool:
        """Return False if autocast shares one copy of the weights."""
        return precision != "bf16"

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self.features_and_penalty(source_BS, target_BT)[0]

    def features_and_penalty(self, source_BS: Tensor, target_BT: Tensor) -> tuple[Tensor, Tensor | None]:
        memory = self.encode(source_BS)
        above, _, _ = self._decode(target_BT, self.start(memory, target_BT.shape[1]))
        return above.features_RTD, total(memory.penalty, above.penalty)

    def start(self, memory: Memory, max_length: int) -> DeepState:
        encoded_BSD = memory.encoded_BSD
        zeros_BD = torch.zeros_like(encoded_BSD[:, 0])
        source = Shared((encoded_BSD, self.score.keys(encoded_BSD), memory.mask_BS))
        return DeepState(((zeros_BD, zeros_BD),) * (1 + len(self.decoder)), source)

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, DeepState]:
        assert isinstance(state, DeepState)
        above, state, _ = self._decode(tokens_BT, state)
        return self.logits(above.features_RTD), state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        _, _, weights_BTS = self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))
        return Attentions((), (), (weights_BTS[:, None],))

    def _decode(self, target_RT: Tensor, state: DeepState) -> tuple[Above, DeepState, Tensor]:
        """Return the output at T further positions, the state after them and the attention weights."""
        bottom = self._bottom(self.embedded_target(target_RT), state)
        mask_RT = target_RT != PAD if self.training else None
        above = self._above(bottom, state.cells[1:], mask_RT)
        after = DeepState((bottom.cell, *above.cells), state.source, state.length + target_RT.shape[1])
        return above, after, bottom.weights_RTS

    def _bottom(self, x_RTD: Tensor, state: DeepState) -> Bottom:
        """Compute the bottom layer and the contexts, one position after the other."""
        (y_RD, c_RD), outputs, contexts, weights = state.cells[0], [], [], []
        for x_RD in x_RTD.unbind(1):
            a_RD, weights_RS = self._context(y_RD, state.source)
            y_RD, c_RD = self.bottom(torch.cat((x_RD, a_RD), dim=1), (y_RD, c_RD))
            outputs.append(y_RD)
            contexts.append(a_RD)
            weights.append(weights_RS)
        context_RTD = torch.stack(contexts, 1)
        read_RTE = torch.cat((x_RTD, context_RTD), dim=2)
        return Bottom(read_RTE, torch.stack(outputs, 1), context_RTD, torch.stack(weights, 1), (y_RD, c_RD))

    def _context(self, y_RD: Tensor, source: Shared) -> tuple[Tensor, Tensor]:
        """Return the context after the bottom layer's output y, and the weights of the source positions."""
        encoded_BSD, key_BSD, mask_BS = source.tensors
        score_BKS = self.score(source.by_source(y_RD[:, None]), key_BSD)
        weights_BKS = masked_softmax(score_BKS, mask_BS[:, None])
        return (weights_BKS @ encoded_BSD).flatten(0, 1), weights_BKS.flatten(0, 1)


def read_on(layer: nn.LSTM, x_RTE: Tensor, cell: Cell) -> tuple[Tensor, Cell]:
    """Return a layer's output at T further positions and its state after them."""
    h_RTD, (h_1RD, c_1RD) = layer(x_RTE, (cell[0][None], cell[1][None]))
    return h_RTD, (h_1RD[0], c_1RD[0])


def read_packed(layer: nn.LSTM, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """Return a layer's output for padded sentences, its backward direction starting at each sentence's last token."""
    packed = pack_padded_sequence(x_BSD, mask_BS.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    output_BSD, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x_BSD.shape[1])
    return output_BSD
