"""GNMT (Wu et al., 2016): a deep LSTM with residual connections and attention from the decoder's bottom layer.

The encoder's bottom layer reads the source in both directions, its second layer receives both, and from the third layer
on each layer's input is added to its output (m is the hidden state that other papers call h):

    m_t, c_t = LSTM(x_t, m_{t-1}, c_{t-1})        x'_t = m_t + x_t

The decoder is such a stack, too. Its bottom layer attends to the source (deep.py), and every layer reads the context
a_i beside the output of the layer below. Dropout is on embeddings and on what a layer passes to the next, never from
one position to the next (Zaremba et al., 2014).

With `experts` it is the model for translation of Shazeer et al., 2017: a mixture of experts between the encoder's
second and third layer, and one between the decoder's first and second, each with a residual connection. They also have
residual connections around the first layers, LSTMs with 2,048 units projected to 512, and another score; here those are
GNMT's.

As published: 8 + 8 layers of 1,024 units, 32,000 word pieces, dropout 0.2, gradients clipped at a norm of 5.

Shapes: B sentences, R rows, S source positions, T target positions, D = d_model, E = 2·D.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.config.model import GnmtConfig
from regard.model.earlier.deep import Above, Bottom, Cell, Deep, read_on, read_packed
from regard.model.earlier.recurrent import open_forget_gates
from regard.model.embedding import initialise
from regard.model.later.experts import Experts
from regard.model.masks import not_padding
from regard.model.seq2seq import Memory

RESIDUAL_FROM = 2  # the third layer


class Gnmt(Deep):
    """GNMT's encoder and decoder."""

    def __init__(self, config: GnmtConfig) -> None:
        super().__init__(config)
        size = config.d_model
        self.encoder: Sequence[nn.LSTM] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList is untyped
            nn.LSTM(2 * size if layer == 1 else size, size, batch_first=True, bidirectional=layer == 0)
            for layer in range(config.encoder_layers)
        )
        self.decoder: Sequence[nn.LSTM] = nn.ModuleList(  # type: ignore[assignment]
            nn.LSTM(2 * size, size, batch_first=True) for _ in range(config.decoder_layers - 1)
        )
        sizes = (size, config.d_ff, config.experts, config.active_experts)
        self.encoder_experts = Experts(*sizes) if config.experts else None
        self.decoder_experts = Experts(*sizes) if config.experts else None
        self.apply(initialise)
        self.apply(open_forget_gates)

    def encode(self, source_BS: Tensor) -> Memory:
        mask_BS = not_padding(source_BS)
        (bottom, *others), penalty = self.encoder, None
        x_BSD = read_packed(bottom, self.embedded_source(source_BS), mask_BS)
        for number, layer in enumerate(others, 1):
            m_BSD, _ = layer(self.dropout(x_BSD))
            x_BSD = m_BSD + x_BSD if number >= RESIDUAL_FROM else m_BSD
            if number == 1:
                x_BSD, penalty = self._mixed(self.encoder_experts, x_BSD, mask_BS)
        return Memory(x_BSD, mask_BS, penalty=penalty)

    def _mixed(self, experts: Experts | None, x_BTD: Tensor, mask_BT: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return x + Experts(x), or x itself if there are none, and the penalty of the experts."""
        if experts is None:
            return x_BTD, None
        y_BTD, penalty = experts(self.dropout(x_BTD), mask_BT)
        return x_BTD + y_BTD, penalty

    def _above(self, bottom: Bottom, cells: Sequence[Cell], mask_RT: Tensor | None) -> Above:
        x_RTD, penalty = self._mixed(self.decoder_experts, bottom.y_RTD, mask_RT)
        after = []
        for number, (layer, cell) in enumerate(zip(self.decoder, cells, strict=True), 1):
            m_RTD, last = read_on(layer, torch.cat((self.dropout(x_RTD), bottom.context_RTD), dim=2), cell)
            x_RTD = m_RTD + x_RTD if number >= RESIDUAL_FROM else m_RTD
            after.append(last)
        return Above(self.dropout(x_RTD), after, penalty)
