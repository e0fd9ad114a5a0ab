"""Model configuration: one class per architecture, selected by `architecture` and, for Transformers, `mixing`.

The defaults of TransformerConfig are the base model of "Attention Is All You Need" (Vaswani et al., 2017). Only the
initial weights, which the paper does not specify, are smaller than in its authors' code: W^V, W^O, W1 and W2 at half of
Glorot's size, W^Q and W^K at 0.7 of it (model/embedding.py).
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter, model_validator

from regard.config.later import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    LinformerConfig,
    LongformerConfig,
    MambaConfig,
    MaskPredictConfig,
    MixerConfig,
    PerformerConfig,
    StateSpaceConfig,
)
from regard.config.model_base import AnyModel, Layers, MayHaveExperts, Positions, TransformerSettings


class TransformerConfig(TransformerSettings, MayHaveExperts):
    """The Transformer. Sizes have the paper's symbols; each option names its source."""

    mixing: Literal["attention"] = "attention"
    """The mixing of positions in the encoder. attention: the paper's, in O(n²). longformer: a sliding window and global
    tokens (Beltagy et al., 2020). linformer: keys and values of low rank (Wang et al., 2020). performer: random
    features (Choromanski et al., 2021). state-space: S4D (Gu et al., 2022). mamba: selective state spaces (Gu and Dao,
    2023). mixer: a network across positions (Tolstikhin et al., 2021). The decoder has attention, except with mamba."""
    neighbours: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Restrict self-attention to a neighbourhood of this size around each position (section 4); 0: unrestricted. The
    decoder then keeps the keys and values of half of it, however long the text."""

    @model_validator(mode="after")
    def _check_mixture(self) -> Self:
        if self.experts and self.activation != "relu":
            raise ValueError(f"experts have relu, not {self.activation}; leave out activation")
        return self


class RecurrentConfig(AnyModel):
    """A recurrent model: Sutskever et al., 2014; with attention, Bahdanau et al., 2015, or Luong et al., 2015."""

    architecture: Literal["recurrent"] = "recurrent"
    cell: Literal["rnn", "lstm", "gru"] = "lstm"
    """Cell of a recurrent model. rnn: Elman, 1990. lstm: Hochreiter and Schmidhuber, 1997. gru: Cho et al., 2014."""
    attention: Literal["none", "dot", "additive"] = "dot"
    """The way a recurrent decoder reads the source. none: as one vector (Sutskever et al., 2014). dot, additive: at
    every position, weighted by s · h (Luong et al., 2015) or by v · tanh(W s + U h) (Bahdanau et al., 2015)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.d_model % 2:
            raise ValueError(f"the two directions of the encoder share d_model, so it must be even, not {self.d_model}")
        return self


class GnmtConfig(MayHaveExperts):
    """GNMT (Wu et al., 2016): a deep LSTM whose attention is computed from the decoder's bottom layer.

    With experts it is the model of Shazeer et al., 2017: a mixture of experts after the encoder's second layer and
    after the decoder's first.
    """

    architecture: Literal["gnmt"] = "gnmt"
    encoder_layers: Annotated[int, Field(ge=2, le=256)] = 8
    """Number of encoder layers; the bottom one reads in both directions, and the second receives both."""
    decoder_layers: Layers = 8
    """Number of decoder layers."""
    d_ff: Annotated[int, Field(ge=1, le=1 << 20)] = 2048
    """Inner size of each expert."""

    @model_validator(mode="after")
    def _check_inner_size(self) -> Self:
        if not self.experts and self.d_ff != type(self).model_fields["d_ff"].default:
            raise ValueError("d_ff is the inner size of experts, and there are none; set experts or leave out d_ff")
        return self


class DeepAttentionConfig(AnyModel):
    """Deep-Att (Zhou et al., 2016): a deep LSTM with fast-forward connections."""

    architecture: Literal["deep-attention"] = "deep-attention"
    encoder_layers: Layers = 9
    """Number of layers of each of the encoder's two columns."""
    decoder_layers: Layers = 7
    """Number of decoder layers."""


class ConvolutionalConfig(AnyModel):
    """ConvS2S (Gehring et al., 2017). By default its positions are learned, as in its paper."""

    architecture: Literal["convolutional"] = "convolutional"
    kernel: Annotated[int, Field(ge=1, le=1024)] = 3
    """Number of neighbouring positions in a convolution, its own included; in the decoder its own is the last."""
    positions: Literal["learned", "none"] = "learned"
    """learned: a vector for each position, as in its paper. none: no positions."""
    max_length: Positions = 1024
    """Number of learned positions."""

    @property
    def position_limit(self) -> int | None:
        return self.max_length if self.positions == "learned" else None


class DilatedConfig(AnyModel):
    """ByteNet (Kalchbrenner et al., 2016)."""

    architecture: Literal["dilated"] = "dilated"
    kernel: Annotated[int, Field(ge=1, le=1024)] = 3
    """Number of neighbouring positions in a convolution, its own included; in the decoder its own is the last."""
    dilation: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    """Largest distance between those positions: it doubles from layer to layer up to this, then starts at 1 again
    (ByteNet's r)."""


class FeedForwardConfig(AnyModel):
    """Feed-forward layers only: no position sees another, which shows what context contributes."""

    architecture: Literal["feedforward"] = "feedforward"
    d_ff: Annotated[int, Field(ge=1, le=1 << 20)] = 2048
    """As in the Transformer."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    """As in the Transformer."""
    norm: Literal["post", "pre"] = "post"
    """As in the Transformer."""
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    """As in the Transformer."""
    max_length: Positions = 1024
    """Number of learned positions."""

    @property
    def position_limit(self) -> int | None:
        return self.max_length if self.positions == "learned" else None


AnyTransformerConfig = (
    TransformerConfig
    | LongformerConfig
    | LinformerConfig
    | PerformerConfig
    | StateSpaceConfig
    | MambaConfig
    | MixerConfig
    | MaskPredictConfig
    | DecoderOnlyConfig
    | EncoderOnlyConfig
)
EarlierConfig = (
    RecurrentConfig | GnmtConfig | DeepAttentionConfig | ConvolutionalConfig | DilatedConfig | FeedForwardConfig
)
MODEL_CONFIGS: dict[str, type[AnyModel]] = {
    "transformer": TransformerConfig,
    "longformer": LongformerConfig,
    "linformer": LinformerConfig,
    "performer": PerformerConfig,
    "state-space": StateSpaceConfig,
    "recurrent": RecurrentConfig,
    "gnmt": GnmtConfig,
    "deep-attention": DeepAttentionConfig,
    "convolutional": ConvolutionalConfig,
    "dilated": DilatedConfig,
    "feedforward": FeedForwardConfig,
    # What came after regard 0.1 is last: the first default of a setting is the one that 0.1 wrote into every model.
    "mamba": MambaConfig,
    "mixer": MixerConfig,
    "mask-predict": MaskPredictConfig,
    "decoder-only": DecoderOnlyConfig,
    "encoder-only": EncoderOnlyConfig,
}


def _kind(values: Any) -> str:
    """Return the key in MODEL_CONFIGS of a model configuration or of settings: its mixing or its architecture."""
    read = values.get if isinstance(values, Mapping) else partial(getattr, values)
    architecture, mixing = read("architecture", "transformer"), read("mixing", "attention")
    kind = mixing if architecture == "transformer" and mixing != "attention" else architecture
    return kind if isinstance(kind, str) else type(kind).__name__


def _own_settings(settings: Any) -> Any:
    """Drop the settings of other architectures that equal their defaults; reject those that do not.

    regard 0.1 wrote all settings of all architectures into each model and run.
    """
    if not isinstance(settings, Mapping):
        return settings
    kind = _kind(settings)
    if kind not in MODEL_CONFIGS:
        raise ValueError(
            f"there is no {kind[:40]!r} model; model.architecture and model.mixing name {', '.join(MODEL_CONFIGS)}"
        )
    own = {}
    for name, value in settings.items():
        defaults = [other.model_fields[name].default for other in MODEL_CONFIGS.values() if name in other.model_fields]
        if name in MODEL_CONFIGS[kind].model_fields or not defaults:
            own[name] = value
        elif value != defaults[0]:
            raise ValueError(f"a {kind} model has no {name}; leave it out")
    return own


ModelConfig = Annotated[
    Annotated[TransformerConfig, Tag("<transformer>")]
    | Annotated[LongformerConfig, Tag("<longformer>")]
    | Annotated[LinformerConfig, Tag("<linformer>")]
    | Annotated[PerformerConfig, Tag("<performer>")]
    | Annotated[StateSpaceConfig, Tag("<state-space>")]
    | Annotated[MambaConfig, Tag("<mamba>")]
    | Annotated[MixerConfig, Tag("<mixer>")]
    | Annotated[MaskPredictConfig, Tag("<mask-predict>")]
    | Annotated[DecoderOnlyConfig, Tag("<decoder-only>")]
    | Annotated[EncoderOnlyConfig, Tag("<encoder-only>")]
    | Annotated[RecurrentConfig, Tag("<recurrent>")]
    | Annotated[GnmtConfig, Tag("<gnmt>")]
    | Annotated[DeepAttentionConfig, Tag("<deep-attention>")]
    | Annotated[ConvolutionalConfig, Tag("<convolutional>")]
    | Annotated[DilatedConfig, Tag("<dilated>")]
    | Annotated[FeedForwardConfig, Tag("<feedforward>")],
    Discriminator(lambda values: f"<{_kind(values)}>"),
    BeforeValidator(_own_settings),
]
"""The configuration of any model."""


def model_config(**settings: Any) -> ModelConfig:
    """Return the configuration of a model from its settings; by default the paper's base model."""
    described: ModelConfig = TypeAdapter(ModelConfig).validate_python(settings)
    return described
