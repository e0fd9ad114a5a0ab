"""ByteNet (Kalchbrenner et al., 2016): dilated convolutions, in a decoder that is stacked on the encoder.

As in the paper: residual blocks with ReLU, as for its translations, which reduce 2d channels to d, convolve, and expand
d to 2d again, with layer norm before each ReLU; dilations that double from layer to layer up to r, then start again;
only past positions in the decoder's convolutions; and the target stacked on the source (dynamic unfolding): at t the
decoder reads the encoder's output at t, and zeros past its end.

Simplified: tokens are subwords, not characters. The encoder's output is added to the embedding of the target token, and
is as long as the source, where the paper's later version lengthens it by a factor. The projection is tied.

Shapes: B sentences, S source positions, T target positions, P positions before them, D = d_model, C = D / 2 channels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import DilatedConfig
from regard.model.earlier.convolutional import windows
from regard.model.earlier.stacked import Stacked, StackedLayer
from regard.model.earlier.state import PastState
from regard.model.embedding import initialise
from regard.model.kernels.dropout import Dropout
from regard.model.kernels.linear import Linear


class DilatedBlock(StackedLayer):
    """Residual block x + W_3 ReLU(LN(W_2 * ReLU(LN(W_1 ReLU(LN(x)))))), where * is a dilated convolution."""

    def __init__(self, size: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.channels = channels = max(1, size // 2)
        self.reach = (kernel - 1) * dilation
        self.norm_in = nn.LayerNorm(size)
        self.narrow = Linear(size, channels)
        self.norm_narrow = nn.LayerNorm(channels)
        self.convolution = Linear(kernel * channels, channels)
        self.norm_out = nn.LayerNorm(channels)
        self.widen = Linear(channels, size)
        self.dropout = Dropout(dropout)

    def around(self, x_BSD: Tensor, mask_BS1: Tensor) -> Tensor:
        before = self.dilation * ((self.kernel - 1) // 2)
        inner_BSC = self._inner(x_BSD) * mask_BS1
        return self._outer(F.pad(inner_BSC, (0, 0, before, self.reach - before)), x_BSD)

    def after(self, x_BTD: Tensor, past_BPC: Tensor) -> tuple[Tensor, Tensor]:
        seen_BPC = torch.cat((past_BPC, self._inner(x_BTD)), dim=1)
        return self._outer(seen_BPC, x_BTD), seen_BPC[:, x_BTD.shape[1] :]

    def _inner(self, x_BTD: Tensor) -> Tensor:
        inner: Tensor = self.norm_narrow(self.narrow(self.norm_in(x_BTD).relu())).relu()
        return inner

    def _outer(self, seen_BPC: Tensor, x_BTD: Tensor) -> Tensor:
        convolved_BTC = self.convolution(windows(seen_BPC, x_BTD.shape[1], self.kernel, self.dilation))
        added_BTD: Tensor = self.dropout(self.widen(self.norm_out(convolved_BTC).relu()))
        return x_BTD + added_BTD


class Dilated(Stacked):
    """ByteNet; the last layer is followed by a norm, ReLU and one more linear map before the vocabulary."""

    def __init__(self, config: DilatedConfig) -> None:
        encoder, decoder = (_blocks(config, layers) for layers in (config.encoder_layers, config.decoder_layers))
        super().__init__(config, encoder, decoder, positions="none", norm=True)
        self.output = Linear(config.d_model, config.d_model)
        self.apply(initialise)

    def _decode(self, target_RT: Tensor, state: PastState) -> tuple[Tensor, PastState]:
        x_RTD, state = super()._decode(target_RT, state)
        return self.output(x_RTD.relu()), state


def _blocks(config: DilatedConfig, layers: int) -> list[DilatedBlock]:
    rates = [1]
    while 2 * rates[-1] <= config.dilation:
        rates.append(2 * rates[-1])
    return [
        DilatedBlock(config.d_model, config.kernel, rates[number % len(rates)], config.dropout)
        for number in range(layers)
    ]
