"""Models without attention whose decoder is stacked on the encoder: target position t reads source position t only.

The decoder's input at t is the embedding of the target token plus the encoder's output at t, or plus zeros past the end
of the source. All other context reaches a position through its layers.

Shapes: B sentences, R rows, S source positions, T target positions, P positions before them, D = d_model, C channels.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from regard.config.model import ModelConfig
from regard.model.earlier.state import PastState, Shared
from regard.model.embedding import Embedded
from regard.model.masks import not_padding
from regard.model.seq2seq import Attentions, DecoderState, Layer, Memory


class StackedLayer(Layer):
    """A layer of a stacked model."""

    uses_weights = ("around", "after")
    channels: int
    """Number of channels that the state keeps of each position."""
    reach: int
    """Number of earlier positions that the layer reads in the decoder."""

    @abstractmethod
    def around(self, x_BSD: Tensor, mask_BS1: Tensor) -> Tensor:
        """Return the output in the encoder, with positions on both sides; the mask is 0 outside the sentence."""

    @abstractmethod
    def after(self, x_BTD: Tensor, past_BPC: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output in the decoder, from the positions before, and the past that the next positions need."""


class Stacked(Embedded):
    """An encoder and a decoder of stacked layers, each with a final norm if its layers need one."""

    def __init__(
        self,
        config: ModelConfig,
        encoder: Iterable[StackedLayer],
        decoder: Iterable[StackedLayer],
        *,
        positions: str,
        norm: bool,
    ) -> None:
        super().__init__(config, positions=positions)
        self.encoder: Sequence[StackedLayer] = nn.ModuleList(encoder)  # type: ignore[assignment]  # ModuleList is untyped
        self.decoder: Sequence[StackedLayer] = nn.ModuleList(decoder)  # type: ignore[assignment]
        self.encoder_norm = nn.LayerNorm(config.d_model) if norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if norm else nn.Identity()

    def encode(self, source_BS: Tensor) -> Memory:
        mask_BS = not_padding(source_BS)
        x_BSD = self.embedded_source(source_BS)
        mask_BS1 = mask_BS[:, :, None].to(x_BSD.dtype)
        for layer in self.encoder:
            x_BSD = layer.around(x_BSD, mask_BS1)
        return Memory(self.encoder_norm(x_BSD) * mask_BS1, mask_BS)

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        return self._decode(target_BT, self.start(self.encode(source_BS), target_BT.shape[1]))[0]

    def start(self, memory: Memory, max_length: int) -> PastState:
        encoded_BSD = memory.encoded_BSD
        pasts = (encoded_BSD.new_zeros(len(encoded_BSD), layer.reach, layer.channels) for layer in self.decoder)
        return PastState(tuple(pasts), Shared((encoded_BSD,)))

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, PastState]:
        assert isinstance(state, PastState)
        features_BTD, state = self._decode(tokens_BT, state)
        return self.logits(features_BTD), state

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        return Attentions((), (), ())

    def _decode(self, target_RT: Tensor, state: PastState) -> tuple[Tensor, PastState]:
        x_RTD = self.embedded_target(target_RT, state.length) + _column(state.source, state.length, target_RT.shape[1])
        pasts = []
        for layer, past_RPC in zip(self.decoder, state.pasts, strict=True):
            x_RTD, next_RPC = layer.after(x_RTD, past_RPC)
            pasts.append(next_RPC)
        return self.decoder_norm(x_RTD), state.after(pasts, target_RT.shape[1])


def _column(source: Shared, start: int, positions: int) -> Tensor:
    """Return the encoder's output at some positions for every row: R, T, D, with zeros past its end."""
    (encoded_BSD,) = source.tensors
    there_BTD = encoded_BSD[:, start : start + positions]
    column_BTD = F.pad(there_BTD, (0, 0, 0, positions - there_BTD.shape[1]))
    return column_BTD if source.beams == 1 else column_BTD.repeat_interleave(source.beams, dim=0)
