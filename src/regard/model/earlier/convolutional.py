"""ConvS2S (Gehring et al., 2017): convolutions instead of recurrence, and attention in every layer of the decoder.

A layer reads k neighbouring positions; in the decoder the last k, so that nothing comes from the future. It maps k
vectors of size d to 2d numbers, of which the second half gates the first, and adds its input (section 3.2):

    h^l_i = v(W^l [h^{l-1}_{i-k/2} ; … ; h^{l-1}_{i+k/2}] + b^l) + h^{l-1}_i,    v([A B]) = A ⊗ σ(B)

Attention in decoder layer l, with g_i the embedding of the target token, z_j the encoder's output and e_j the embedding
of the source token (section 3.3, equations 1 and 2; the result is added to h^l_i):

    d_i = W_d h^l_i + b_d + g_i,    a_ij = softmax_j(d_i · z_j),    c_i = Σ_j a_ij (z_j + e_j)

Every sum of two is multiplied by sqrt(0.5), and c by sqrt(m) for m source tokens, which keeps variances (section 3.4).
Left out: weight normalisation, and dividing the encoder's gradient by the number of attentions, which Adam would undo.
Embeddings have the size of the layers, so nothing maps one to the other, and the projection is tied as in the paper of
the Transformer.

Shapes: B sentences, R rows, S source positions, T target positions, P positions before them, D = d_model.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import ConvolutionalConfig
from regard.model.attention import attention
from regard.model.earlier.state import PastState, Shared
from regard.model.embedding import Embedded
from regard.model.kernels.dropout import Dropout
from regard.model.kernels.linear import Linear
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, Layer, Memory

HALF = math.sqrt(0.5)


def windows(x_BPD: Tensor, positions: int, kernel: int, dilation: int = 1) -> Tensor:
    """Return the k input positions of a convolution at each of `positions` outputs, concatenated: B, T, k·D.

    A convolution is then one matrix product, which on a CPU is faster than torch's convolutions for these sizes.
    """
    return torch.cat([x_BPD[:, dilation * n : dilation * n + positions] for n in range(kernel)], dim=2)


class GatedConvolution(Layer):
    """Gated convolution (v(W [h_{i-k/2} ; …] + b) + h_i) · sqrt(0.5), with dropout on its input (section 4)."""

    uses_weights = ("around", "after")

    def __init__(self, size: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.kernel = kernel
        self.convolution = Linear(kernel * size, 2 * size)
        self.dropout = Dropout(dropout)
        # Section 3.5: the gate halves the values, hence 4; dropout scales up what it keeps, hence 1 - dropout.
        nn.init.normal_(self.convolution.weight, std=math.sqrt(4.0 * (1.0 - dropout) / (kernel * size)))
        nn.init.zeros_(self.convolution.bias)

    def around(self, x_BSD: Tensor, mask_BS1: Tensor) -> Tensor:
        """Convolve with the positions on both sides; positions outside the sentence are zeros."""
        before, after = (self.kernel - 1) // 2, self.kernel // 2
        return self._forward(F.pad(x_BSD * mask_BS1, (0, 0, before, after)), x_BSD)

    def after(self, x_BTD: Tensor, past_BPD: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve with the k - 1 positions before; also return the k - 1 positions before the next."""
        seen_BPD = torch.cat((past_BPD, x_BTD), dim=1)
        return self._forward(seen_BPD, x_BTD), seen_BPD[:, x_BTD.shape[1] :]

    def _forward(self, seen_BPD: Tensor, x_BTD: Tensor) -> Tensor:
        window_BTC = windows(self.dropout(seen_BPD), x_BTD.shape[1], self.kernel)
        return (F.glu(self.convolution(window_BTC), dim=-1) + x_BTD) * HALF


class AttentiveConvolution(Layer):
    """A decoder layer: a gated convolution of the positions so far, then attention."""

    def __init__(self, size: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(size, kernel, dropout)
        self.attention = Linear(size, size)  # W_d
        nn.init.normal_(self.attention.weight, std=size**-0.5)
        nn.init.zeros_(self.attention.bias)

    def forward(
        self, x_RTD: Tensor, past_RPD: Tensor, embedded_RTD: Tensor, source: Shared
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the output at T further positions, the k - 1 positions before the next, and the attention weights."""
        x_RTD, past_RPD = self.convolution.after(x_RTD, past_RPD)
        query_BTD = source.by_source((self.attention(x_RTD) + embedded_RTD) * HALF)
        key_BSD, value_BSD, mask_BS = source.tensors
        c_BTD, weights_BTS = attention(query_BTD, key_BSD, value_BSD, mask_BS[:, None], 1.0)
        return (x_RTD + c_BTD.view_as(x_RTD)) * HALF, past_RPD, weights_BTS


@dataclass(frozen=True)
class EmbeddedMemory(Memory):
    """The encoder's output and its input embeddings."""

    embedded_BSD: Tensor


class Convolutional(Embedded):
    """ConvS2S (Gehring et al., 2017)."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__(config, positions=config.positions, scaled=False)  # about its paper's deviation of 0.1
        size, kernel, dropout = config.d_model, config.kernel, config.dropout
        self.encoder = nn.ModuleList(GatedConvolution(size, kernel, dropout) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(AttentiveConvolution(size, kernel, dropout) for _ in range(config.decoder_layers))
        self.dropout = Dropout(dropout)
        self.kernel = kernel

    def encode(self, source_BS: Tensor) -> EmbeddedMemory:
        mask_BS = not_padding(source_BS)
        x_BSD = embedded_BSD = self.embedded_source(source_BS)
        mask_BS1 = mask_BS[:, :, None].to(x_BSD.dtype)
        layers: Iterable[GatedConvolution] = self.encoder  # type: ignore[assignment]  # ModuleList is untyped
        for layer in layers:
            x_BSD = layer.around(x_BSD, mask_BS1)
        return EmbeddedMemory(x_BSD, mask_BS, embedded_BSD)

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))[0]

    def start(self, memory: Memory, max_length: int) -> PastState:
        assert isinstance(memory, EmbeddedMemory)
        z_BSD, mask_BS = memory.encoded_BSD, memory.mask_BS
        tokens_B11 = mask_BS.sum(1)[:, None, None].to(z_BSD.dtype)
        value_BSD = (z_BSD + memory.embedded_BSD) * (HALF * tokens_B11.sqrt())
        past_BPD = z_BSD.new_zeros(len(z_BSD), self.kernel - 1, self.config.d_model)
        return PastState((past_BPD,) * len(self.decoder), Shared((z_BSD, value_BSD, mask_BS)))

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, PastState]:
        assert isinstance(state, PastState)
        features_BTD, state, _ = self._decode(tokens_BT, state)
        return self.logits(features_BTD), state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        cross = self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))[2]
        return Attentions((), (), tuple(weights_BTS[:, None] for weights_BTS in cross))

    def _decode(self, target_RT: Tensor, state: PastState) -> tuple[Tensor, PastState, list[Tensor]]:
        x_RTD = embedded_RTD = self.embedded_target(target_RT, state.length)
        pasts, recorded = [], []
        for layer, past_RPD in zip(self.decoder, state.pasts, strict=True):
            x_RTD, next_RPD, weights_BTS = layer(x_RTD, past_RPD, embedded_RTD, state.source)
            pasts.append(next_RPD)
            recorded.append(weights_BTS)
        return self.dropout(x_RTD), state.after(pasts, target_RT.shape[1]), recorded
