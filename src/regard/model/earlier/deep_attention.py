"""Deep-Att (Zhou et al., 2016): a deep LSTM with fast-forward connections and alternating directions.

A layer is taken apart into a linear block f and a recurrent block, the LSTM whose gates are σ and tanh of f_t + W_r
h_{t-1}. The next layer reads not only the recurrent output h but also f, so that a path of linear maps alone leads
through all layers:

    f^k_t = W^k_f [Half(f^{k-1}_t), Dr(h^{k-1}_t)],        h^k_t = LSTM(f^k_t, h^k_{t±1}),        f^1_t = W^1_f x_t

Half is the first half of f, which has four times the size of h, and Dr is dropout.

The encoder has two columns of layers, which see the source independently. Directions are interleaved: the first layer
of one column reads forward, that of the other backward, and each layer reads against the direction of the one below it.
What attention reads is a linear map of both columns' top layers: W_p [h, Half(f), h', Half(f')]. The decoder's bottom
layer attends to it (deep.py), and its layers read forward. Its output is a linear map of [h, Half(f)] of the top layer.

As published: two columns of 9 layers, a decoder of 7, 512 units, vocabularies of words of 30,000 or more. Their LSTM
also has weights from the cell state to its gates, which torch's lacks. The output's linear map is ours: it brings
[h, Half(f)] to the size of the embeddings, which are also the projection.

Shapes: B sentences, R rows, S source positions, T target positions, D = d_model, E inputs of a layer, F = 2·D.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.config.model import DeepAttentionConfig
from regard.model.earlier.deep import Above, Bottom, Cell, Deep, read_on
from regard.model.earlier.recurrent import open_forget_gates
from regard.model.embedding import initialise
from regard.model.kernels.linear import Linear, linear
from regard.model.masks import not_padding
from regard.model.seq2seq import Memory


class DeepAttention(Deep):
    """Deep-Att's encoder and decoder."""

    def __init__(self, config: DeepAttentionConfig) -> None:
        super().__init__(config)
        size = config.d_model
        self.encoder: Sequence[Sequence[nn.LSTM]] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList is untyped
            nn.ModuleList(
                nn.LSTM(3 * size if layer else size, size, batch_first=True) for layer in range(config.encoder_layers)
            )
            for _ in range(2)
        )
        self.join = Linear(6 * size, size)  # W_p
        self.decoder: Sequence[nn.LSTM] = nn.ModuleList(  # type: ignore[assignment]
            nn.LSTM(3 * size, size, batch_first=True) for _ in range(config.decoder_layers - 1)
        )
        self.output = Linear(3 * size, size)
        self.apply(initialise)
        self.apply(open_forget_gates)

    def encode(self, source_BS: Tensor) -> Memory:
        mask_BS = not_padding(source_BS)
        x_BSD = self.embedded_source(source_BS)
        backward_BS = _reversal(mask_BS)
        columns = [self._column(layers, x_BSD, backward_BS, first) for first, layers in enumerate(self.encoder)]
        return Memory(self.join(torch.cat(columns, dim=2)), mask_BS)

    def _column(self, layers: Sequence[nn.LSTM], x_BSE: Tensor, backward_BS: Tensor, first: int) -> Tensor:
        """Return [h, Half(f)] of a column's top layer; its first layer reads forward if `first` is 0."""
        top_BSE = x_BSE
        for number, layer in enumerate(layers):
            half_BSF = half(layer, x_BSE)
            if (number + first) % 2:
                h_BSD = _reordered(layer(_reordered(x_BSE, backward_BS))[0], backward_BS)
            else:
                h_BSD, _ = layer(x_BSE)
            x_BSE = torch.cat((half_BSF, self.dropout(h_BSD)), dim=2)
            top_BSE = torch.cat((h_BSD, half_BSF), dim=2)
        return top_BSE

    def _above(self, bottom: Bottom, cells: Sequence[Cell], mask_RT: Tensor | None) -> Above:
        h_RTD, half_RTF = bottom.y_RTD, half(self.bottom, bottom.read_RTE)
        after = []
        for layer, cell in zip(self.decoder, cells, strict=True):
            x_RTE = torch.cat((half_RTF, self.dropout(h_RTD)), dim=2)
            half_RTF = half(layer, x_RTE)
            h_RTD, last = read_on(layer, x_RTE, cell)
            after.append(last)
        return Above(self.dropout(self.output(torch.cat((h_RTD, half_RTF), dim=2))), after)


def half(layer: nn.LSTM | nn.LSTMCell, x_BTE: Tensor) -> Tensor:
    """Return Half(f), which torch's fused layer computes as well but does not return."""
    names = ("weight_ih", "bias_ih") if isinstance(layer, nn.LSTMCell) else ("weight_ih_l0", "bias_ih_l0")
    weight, bias = map(layer.get_parameter, names)
    size = 2 * layer.hidden_size
    return linear(x_BTE, weight[:size], bias[:size])


def _reversal(mask_BS: Tensor) -> Tensor:
    """Return, for each position, the one at its place when the sentence is read backward; padding stays."""
    place_S = torch.arange(mask_BS.shape[1], device=mask_BS.device)
    return torch.where(mask_BS, mask_BS.sum(1, keepdim=True) - 1 - place_S, place_S)


def _reordered(x_BSE: Tensor, order_BS: Tensor) -> Tensor:
    return x_BSE.gather(1, order_BS[:, :, None].expand_as(x_BSE))
