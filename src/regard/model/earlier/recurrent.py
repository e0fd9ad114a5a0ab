"""Recurrent models, the baseline of the paper: an encoder and a decoder of cells, with and without attention.

The encoder reads the source in both directions (Bahdanau et al., 2015): h_i = [h→_i ; h←_i], half of d_model each. Its
last states, c = [h→_n ; h←_1], are the fixed context vector, from which the decoder starts: s_0 = tanh(W_s c + b_s),
and an LSTM's cell state likewise. Without attention the decoder receives nothing else of the source (Sutskever et al.,
2014, who pass the states on unchanged).

With attention, position t of the decoder attends to every h_i (Luong et al., 2015, equations 5 and 7):

    a_ti = softmax_i(score(s_t, h_i)),    c_t = Σ_i a_ti h_i,    s~_t = tanh(W_c [c_t ; s_t])

and s~_t is its output. As there, and unlike Bahdanau et al., s_t does not depend on c_{t-1}: then a whole target is one
call of torch's fused layer, and its attention one matmul. Dropout is on embeddings, between layers and on the output,
never from one position to the next (Zaremba et al., 2014).

Shapes: B sentences, R rows, S source positions, T target positions, L layers, D = d_model.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.config.model import RecurrentConfig
from regard.model.earlier.state import Shared
from regard.model.embedding import Embedded, initialise
from regard.model.kernels.dropout import Dropout
from regard.model.kernels.linear import Linear
from regard.model.masks import masked_softmax, not_padding
from regard.model.seq2seq import Attentions, DecoderState, Memory

CELLS: dict[str, type[nn.RNN | nn.LSTM | nn.GRU]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def cells(kind: str, size: int, layers: int, dropout: float, *, both_ways: bool = False) -> nn.RNNBase:
    """Return layers of cells, from D to D features, with W and U of torch's names weight_ih and weight_hh:

    rnn:   h_t = tanh(W x_t + U h_{t-1} + b)
    lstm:  i, f, o = σ(W x_t + U h_{t-1} + b), each with its own;  m_t = f m_{t-1} + i tanh(W x_t + U h_{t-1} + b);
           h_t = o tanh(m_t)
    gru:   r, z = σ(W x_t + U h_{t-1} + b);  n = tanh(W x_t + b + r (U h_{t-1} + b'));  h_t = (1 - z) n + z h_{t-1}

    The LSTM's gate f starts open, its bias at 1 (Jozefowicz et al., 2015); the rest is initialised as torch does.
    """
    made = CELLS[kind](
        size,
        size // 2 if both_ways else size,
        layers,
        batch_first=True,
        dropout=dropout if layers > 1 else 0.0,
        bidirectional=both_ways,
    )
    open_forget_gates(made)
    return made


def open_forget_gates(module: nn.Module) -> None:
    """Set the bias of f to 1 if the module is an LSTM."""
    if isinstance(module, nn.LSTM | nn.LSTMCell):
        for name, parameter in module.named_parameters():
            if name.startswith("bias_ih"):
                _, forget, _, _ = parameter.detach().chunk(4)
                forget.fill_(1.0)


class DotAttention(nn.Module):
    """score(s_t, h_i) = s_t · h_i (Luong et al., 2015, equation 8)."""

    def keys(self, encoded_BSD: Tensor) -> Tensor:
        """Return the keys of the source, computed once for all target positions."""
        return encoded_BSD

    def forward(self, state_BTD: Tensor, key_BSD: Tensor) -> Tensor:
        return state_BTD @ key_BSD.transpose(1, 2)


class AdditiveAttention(nn.Module):
    """score(s_t, h_i) = v · tanh(W s_t + U h_i) (Bahdanau et al., 2015, section A.1.2; there with s_{t-1})."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = Linear(size, size)
        self.key = Linear(size, size)
        self.v_D = nn.Parameter(torch.empty(size))
        nn.init.normal_(self.v_D, std=size**-0.5)

    def keys(self, encoded_BSD: Tensor) -> Tensor:
        keys: Tensor = self.key(encoded_BSD)
        return keys

    def forward(self, state_BTD: Tensor, key_BSD: Tensor) -> Tensor:
        sum_BTSD: Tensor = self.query(state_BTD)[:, :, None] + key_BSD[:, None]
        return sum_BTSD.tanh_() @ self.v_D


@dataclass(frozen=True)
class RecurrentState:
    """The hidden states of the cells, and the source's tensors that attention reads: h_i, its keys and its mask."""

    hidden: tuple[Tensor, ...]
    """h and, for an LSTM, its cell state: each L, R, D."""
    source: Shared | None
    """None without attention."""
    length: int = 0

    def select(self, rows: Tensor) -> Self:
        hidden = tuple(part_LRD.index_select(1, rows) for part_LRD in self.hidden)
        return type(self)(hidden, self.source and self.source.select(rows), self.length)


class Recurrent(Embedded):
    """A recurrent encoder and decoder; the config selects the cell and the attention."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config, positions="none")
        size, dropout = config.d_model, config.dropout
        self.encoder = cells(config.cell, size, config.encoder_layers, dropout, both_ways=True)
        self.decoder = cells(config.cell, size, config.decoder_layers, dropout)
        self.parts = 2 if config.cell == "lstm" else 1
        self.bridge = Linear(size, self.parts * config.decoder_layers * size)  # W_s
        self.score: DotAttention | AdditiveAttention | None = None
        if config.attention != "none":
            self.score = DotAttention() if config.attention == "dot" else AdditiveAttention(size)
        self.combine = Linear(2 * size, size) if self.score is not None else None  # W_c
        self.dropout = Dropout(dropout)
        self.apply(initialise)

    def encode(self, source_BS: Tensor) -> Memory:
        """Encode packed sequences, so that the backward direction starts at the last token and padding is not read."""
        mask_BS = not_padding(source_BS)
        packed = pack_padded_sequence(
            self.embedded_source(source_BS), mask_BS.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        encoded_BSD, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=source_BS.shape[1])
        return Memory(encoded_BSD, mask_BS)

    def deterministic_in_threads(self, precision: str) -> bool:
        """Return False if cells drop by a generator that threads share, or autocast shares one copy of the weights."""
        return precision != "bf16" and not any(cells.dropout > 0.0 for cells in (self.encoder, self.decoder))

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))[0]

    def start(self, memory: Memory, max_length: int) -> RecurrentState:
        encoded_BSD = memory.encoded_BSD
        half = encoded_BSD.shape[2] // 2
        last_B = memory.mask_BS.sum(1) - 1
        forward_BD = encoded_BSD[torch.arange(len(last_B), device=last_B.device), last_B, :half]
        context_BD = torch.cat((forward_BD, encoded_BSD[:, 0, half:]), dim=1)
        begin_BPLD = self.bridge(context_BD).tanh().unflatten(1, (self.parts, self.config.decoder_layers, -1))
        hidden = begin_BPLD.permute(1, 2, 0, 3).contiguous().unbind(0)
        if self.score is None:
            return RecurrentState(hidden, None)
        return RecurrentState(hidden, Shared((encoded_BSD, self.score.keys(encoded_BSD), memory.mask_BS)))

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, RecurrentState]:
        assert isinstance(state, RecurrentState)
        features_BTD, hidden, _ = self._decode(tokens_BT, state)
        return self.logits(features_BTD), RecurrentState(hidden, state.source, state.length + tokens_BT.shape[1])

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        _, _, weights_BTS = self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))
        return Attentions((), (), () if weights_BTS is None else (weights_BTS[:, None],))

    def _decode(self, target_RT: Tensor, state: RecurrentState) -> tuple[Tensor, tuple[Tensor, ...], Tensor | None]:
        """Return the output at T further positions, the new hidden states and the attention weights."""
        before = state.hidden if self.parts == 2 else state.hidden[0]
        s_RTD, after = self.decoder(self.embedded_target(target_RT), before)
        hidden = after if self.parts == 2 else (after,)
        if state.source is None or self.score is None or self.combine is None:
            return self.dropout(s_RTD), hidden, None
        encoded_BSD, key_BSD, mask_BS = state.source.tensors
        s_BTD = state.source.by_source(s_RTD)
        weights_BTS = masked_softmax(self.score(s_BTD, key_BSD), mask_BS[:, None])
        c_BTD = weights_BTS @ encoded_BSD
        output_BTD = self.combine(torch.cat((c_BTD, s_BTD), dim=2)).tanh()
        return self.dropout(output_BTD.view_as(s_RTD)), hidden, weights_BTS
