"""Configurations of what came after the paper: Transformers with other layers, and with one stack instead of two."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.decode import Decoding
from regard.config.model_base import Layers, Positions, TransformerSettings


class LongformerConfig(TransformerSettings):
    """A Transformer with Longformer's attention in the encoder."""

    mixing: Literal["longformer"] = "longformer"
    window: Positions = 32
    """Longformer: size of the neighbourhood that a position attends to."""
    global_tokens: Annotated[int, Field(ge=0, le=1 << 16)] = 1
    """Longformer: number of first positions that attend to all positions, and to which all positions attend."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.needs_scaled_scores("longformer", "relative")
        return self


class LinformerConfig(TransformerSettings):
    """A Transformer with Linformer's attention in the encoder."""

    mixing: Literal["linformer"] = "linformer"
    rank: Annotated[int, Field(ge=1, le=1 << 16)] = 32
    """Linformer's k: number of mixtures of keys and values, whatever the length of the source."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.needs_scaled_scores("linformer", "relative", "rotary")
        if self.rank > self.max_length:
            raise ValueError(f"a rank of {self.rank} is no less than full; max_length is {self.max_length}")
        return self

    @property
    def position_limit(self) -> int | None:
        return self.max_length


class PerformerConfig(TransformerSettings):
    """A Transformer with the Performer's attention in the encoder."""

    mixing: Literal["performer"] = "performer"
    features: Annotated[int, Field(ge=1, le=1 << 16)] = 128
    """Performer's m: number of random features that approximate the softmax; the error falls as 1/sqrt(m)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.needs_scaled_scores("performer", "relative")
        return self


class StateSpaceConfig(TransformerSettings):
    """A Transformer with state-space layers in the encoder."""

    mixing: Literal["state-space"] = "state-space"
    state_size: Annotated[int, Field(ge=2, le=4096)] = 64
    """S4D's N: number of states of each channel, in conjugate pairs."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.state_size % 2:
            raise ValueError(f"states come in conjugate pairs, so state_size must be even, not {self.state_size}")
        return self


class MambaConfig(TransformerSettings):
    """A Transformer with Mamba's layers instead of self-attention, in encoder and decoder."""

    mixing: Literal["mamba"] = "mamba"
    state_size: Annotated[int, Field(ge=1, le=4096)] = 16
    """Mamba's N: number of states of each channel."""
    expand: Annotated[int, Field(ge=1, le=64)] = 2
    """Mamba's E: number of inner channels for each of d_model."""
    kernel: Annotated[int, Field(ge=1, le=1024)] = 4
    """Number of positions of the causal convolution, its own included."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.blocks > 1:
            raise ValueError("a state of mamba can't be taken back, so it has no blocks; leave out blocks")
        if self.positions in ("rotary", "relative"):
            raise ValueError(f"mixing by mamba can't use {self.positions} positions; take sinusoidal ones, or none")
        return self


class MixerConfig(TransformerSettings):
    """A Transformer with MLP-Mixer's network across positions in the encoder."""

    mixing: Literal["mixer"] = "mixer"
    token_units: Annotated[int, Field(ge=1, le=1 << 16)] = 64
    """MLP-Mixer's D_S: number of inner units of the network across positions."""

    @property
    def position_limit(self) -> int | None:
        return self.max_length


class MaskPredictConfig(TransformerSettings):
    """A Transformer that writes all tokens at once and refines them (Ghazvininejad et al., 2019)."""

    architecture: Literal["mask-predict"] = "mask-predict"
    mixing: Literal["attention"] = "attention"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.blocks > 1 or self.next_word:
            raise ValueError("a mask-predict model writes all tokens at once; leave out blocks and next_word")
        if self.positions not in ("sinusoidal", "learned"):  # else all masked tokens are the same, wherever they are
            raise ValueError(
                f"masked tokens differ by their positions, which can't be {self.positions}; take sinusoidal"
            )
        return self

    @property
    def decodings(self) -> tuple[Decoding, ...]:
        return ("mask-predict",)

    @property
    def position_limit(self) -> int | None:
        return self.max_length  # of which the length is predicted


class DecoderOnlyConfig(TransformerSettings):
    """A decoder alone: source and target as one sequence (GPT: Radford et al., 2018)."""

    architecture: Literal["decoder-only"] = "decoder-only"
    mixing: Literal["attention"] = "attention"
    encoder_layers: Annotated[int, Field(ge=0, le=0)] = 0
    """None: the one stack has decoder_layers."""
    decoder_layers: Layers = 12
    """Number of layers."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.blocks > 1 or self.next_word:
            raise ValueError("a decoder alone has no blocks and is shown no next word; leave them out")
        if self.positions in ("rotary", "relative"):  # they would count the padding between source and target
            raise ValueError(f"a decoder alone can't use {self.positions} positions; take sinusoidal or learned ones")
        return self

    @property
    def position_limit(self) -> int | None:
        return self.max_length // 2 if self.positions == "learned" else None  # for the source and for the target


class EncoderOnlyConfig(TransformerSettings):
    """An encoder alone: masked tokens, or a label of each text (BERT: Devlin et al., 2019)."""

    architecture: Literal["encoder-only"] = "encoder-only"
    mixing: Literal["attention"] = "attention"
    learns: Literal["labels", "masked"] = "labels"
    """labels: one for each text. masked: to fill in tokens of the text. `regard train` sets it from the data."""
    encoder_layers: Layers = 12
    """Number of layers."""
    decoder_layers: Annotated[int, Field(ge=0, le=0)] = 0
    """None: it writes nothing."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.blocks > 1 or self.next_word:
            raise ValueError("an encoder alone has no blocks and is shown no next word; leave them out")
        return self

    @property
    def decodings(self) -> tuple[Decoding, ...]:
        return ()
