"""Model configuration: one class per architecture, selected by `architecture` and, for Transformers, `mixing`.

The defaults of TransformerConfig are the base model of "Attention Is All You Need" (Vaswani et al., 2017). Only the
initial weights, which the paper does not specify, are smaller than in its authors' code: W^V, W^O, W1 and W2 at half of
Glorot's size, W^Q and W^K at 0.7 of it (model/embedding.py).
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter, model_validator

from regard.config.checked import Frozen, Rate

Layers = Annotated[int, Field(ge=1, le=256)]
Size = Annotated[int, Field(ge=1, le=16_384)]
Vocabulary = Annotated[int, Field(ge=4, le=2**31 - 1)]
Positions = Annotated[int, Field(ge=1, le=1 << 20)]


class _Model(Frozen):
    """The settings that every model has."""

    architecture: str

    vocabulary: Vocabulary = 37_000
    """Number of tokens of the target language, or of both languages if they share a vocabulary. `regard train` sets it
    from the data."""
    source_vocabulary: Vocabulary | None = None
    """Number of tokens of the source language if it has its own vocabulary."""

    encoder_layers: Layers = 6
    """Number of encoder layers (the paper's N)."""
    decoder_layers: Layers = 6
    """Number of decoder layers (the paper's N)."""
    d_model: Size = 512
    """Size of embeddings and of every layer's output (section 3.1)."""
    dropout: Rate = 0.1
    """Dropout rate on the output of every sub-layer and on the sum of embeddings and positions (section 5.4)."""

    share_embeddings: bool = True
    """Share one embedding matrix between source and target (section 3.4)."""
    tie_projection: bool = True
    """Use the target's embedding matrix as the projection before the softmax (section 3.4)."""

    @model_validator(mode="before")
    @classmethod
    def _separate_embeddings(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("source_vocabulary") is not None:
            return {"share_embeddings": False, **values}
        return values

    @model_validator(mode="after")
    def _check_vocabularies(self) -> Self:
        if self.share_embeddings and self.source_vocabulary is not None:
            raise ValueError("two vocabularies can't share one embedding; leave out share_embeddings")
        return self

    @property
    def position_limit(self) -> int | None:
        """Return the most tokens that the model can read; None if there is no limit."""
        return None


class _Mixture(_Model):
    """The settings of models that may have a mixture of experts."""

    experts: Annotated[int, Field(ge=0, le=65_536)] = 0
    """Number of experts in each mixture (Shazeer et al., 2017); 0: no mixture. In a Transformer a mixture takes the
    place of every feed-forward network."""
    active_experts: Annotated[int, Field(ge=1, le=1024)] = 4
    """Number of experts that a token uses (their k)."""

    @model_validator(mode="after")
    def _check_experts(self) -> Self:
        if not self.experts and self.active_experts != type(self).model_fields["active_experts"].default:
            raise ValueError("active_experts needs experts; set experts as well, or leave it out")
        if self.experts and self.active_experts > self.experts:
            raise ValueError(f"of {self.experts} experts a token can't use {self.active_experts}; lower active_experts")
        return self


class _Transformer(_Model):
    """The settings of every Transformer, whichever layer mixes the positions of its encoder."""

    architecture: Literal["transformer"] = "transformer"
    """transformer: the paper. The baselines: recurrent: Sutskever et al., 2014; with attention, Bahdanau et al., 2015.
    gnmt: Wu et al., 2016. deep-attention: Deep-Att (Zhou et al., 2016). convolutional: ConvS2S (Gehring et al., 2017).
    dilated: ByteNet (Kalchbrenner et al., 2016). feedforward: no position sees another, which shows what context
    contributes."""

    d_ff: Annotated[int, Field(ge=1, le=1 << 20)] = 2048
    """Inner size of the feed-forward network (section 3.3)."""
    heads: Annotated[int, Field(ge=1, le=1024)] = 8
    """Number of attention heads (the paper's h)."""
    d_k: Size = 64
    """Size of each head's queries and keys, whose products are divided by its square root (equation 1); d_model / heads
    if not given."""
    d_v: Size = 64
    """Size of each head's values, and so of its output (section 3.2.2); d_model / heads if not given."""
    attention_dropout: Rate = 0.0
    """Dropout rate on the weights of every softmax attention. 0 in the paper's translation models; its parsers had some
    (section 6.3). The encoder layers of a Performer or S4D have no such weights; there it applies to the decoder
    only."""

    positions: Literal["sinusoidal", "learned", "rotary", "relative", "none"] = "sinusoidal"
    """sinusoidal: section 3.5. learned: Table 3 row E. rotary: Su et al., 2021, on the queries and keys of
    self-attention. relative: Shaw et al., 2018, a learned key for each distance. none: no positions, which shows that
    order is lost."""
    max_length: Positions = 1024
    """Number of learned positions, and of positions that Linformer can mix; the other kinds have no limit."""
    relative_distance: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    """Distance beyond which all relative positions are the same (Shaw et al.'s k)."""

    norm: Literal["post", "pre"] = "post"
    """post: LayerNorm(x + Sublayer(x)), the paper. pre: x + Sublayer(LayerNorm(x)) and one more LayerNorm at the end of
    each stack (Wang et al., 2019), easier to train when deep."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    """relu: equation 2. gelu: Hendrycks and Gimpel, 2016. silu: Ramachandran et al., 2017."""
    score: Literal["scaled", "unscaled", "additive"] = "scaled"
    """scaled: equation 1. unscaled: equation 1 without 1/sqrt(d_k) (section 3.2.1). additive: Bahdanau et al., 2015."""
    next_word: bool = False
    """Add the encoder's output for the next source word to the decoder's input: hard monotonic alignment (Aharoni and
    Goldberg, 2017), for parsers, whose output has a symbol for each word of the source."""

    @model_validator(mode="before")
    @classmethod
    def _divide_heads(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        d_model = values.get("d_model", cls.model_fields["d_model"].default)
        heads = values.get("heads", cls.model_fields["heads"].default)
        values = dict(values)
        for size in ("d_k", "d_v"):
            if values.get(size) is None:
                if not isinstance(d_model, int) or not isinstance(heads, int) or heads < 1 or d_model % heads:
                    raise ValueError(f"d_model {d_model} is not a multiple of heads {heads}; give {size} as well")
                values[size] = d_model // heads
        return values

    @model_validator(mode="after")
    def _check_rotary(self) -> Self:
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(f"rotary positions turn pairs of dimensions, so d_k must be even, not {self.d_k}")
        return self

    @property
    def position_limit(self) -> int | None:
        return self.max_length if self.positions == "learned" else None

    def _needs_scaled_scores(self, mixing: str, *without: str) -> None:
        if self.score != "scaled":
            raise ValueError(f"mixing by {mixing} needs scaled scores, not {self.score}")
        if self.positions in without:
            raise ValueError(f"mixing by {mixing} can't use {self.positions} positions; take sinusoidal ones")


class TransformerConfig(_Transformer, _Mixture):
    """The Transformer. Sizes have the paper's symbols; each option names its source."""

    mixing: Literal["attention"] = "attention"
    """The mixing of positions in the encoder. attention: the paper's, in O(n²). longformer: a sliding window and global
    tokens (Beltagy et al., 2020). linformer: keys and values of low rank (Wang et al., 2020). performer: random
    features (Choromanski et al., 2021). state-space: S4D (Gu et al., 2022). The decoder always has attention."""
    neighbours: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Restrict self-attention to a neighbourhood of this size around each position (section 4); 0: unrestricted."""

    @model_validator(mode="after")
    def _check_mixture(self) -> Self:
        if self.experts and self.activation != "relu":
            raise ValueError(f"experts have relu, not {self.activation}; leave out activation")
        return self


class LongformerConfig(_Transformer):
    """A Transformer with Longformer's attention in the encoder."""

    mixing: Literal["longformer"] = "longformer"
    window: Positions = 32
    """Longformer: size of the neighbourhood that a position attends to."""
    global_tokens: Annotated[int, Field(ge=0, le=1 << 16)] = 1
    """Longformer: number of first positions that attend to all positions, and to which all positions attend."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._needs_scaled_scores("longformer", "relative")
        return self


class LinformerConfig(_Transformer):
    """A Transformer with Linformer's attention in the encoder."""

    mixing: Literal["linformer"] = "linformer"
    rank: Annotated[int, Field(ge=1, le=1 << 16)] = 32
    """Linformer's k: number of mixtures of keys and values, whatever the length of the source."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._needs_scaled_scores("linformer", "relative", "rotary")
        if self.rank > self.max_length:
            raise ValueError(f"a rank of {self.rank} is no less than full; max_length is {self.max_length}")
        return self

    @property
    def position_limit(self) -> int | None:
        return self.max_length


class PerformerConfig(_Transformer):
    """A Transformer with the Performer's attention in the encoder."""

    mixing: Literal["performer"] = "performer"
    features: Annotated[int, Field(ge=1, le=1 << 16)] = 128
    """Performer's m: number of random features that approximate the softmax; the error falls as 1/sqrt(m)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._needs_scaled_scores("performer", "relative")
        return self


class StateSpaceConfig(_Transformer):
    """A Transformer with state-space layers in the encoder."""

    mixing: Literal["state-space"] = "state-space"
    state_size: Annotated[int, Field(ge=2, le=4096)] = 64
    """S4D's N: number of states of each channel, in conjugate pairs."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.state_size % 2:
            raise ValueError(f"states come in conjugate pairs, so state_size must be even, not {self.state_size}")
        return self


class RecurrentConfig(_Model):
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


class GnmtConfig(_Mixture):
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


class DeepAttentionConfig(_Model):
    """Deep-Att (Zhou et al., 2016): a deep LSTM with fast-forward connections."""

    architecture: Literal["deep-attention"] = "deep-attention"
    encoder_layers: Layers = 9
    """Number of layers of each of the encoder's two columns."""
    decoder_layers: Layers = 7
    """Number of decoder layers."""


class ConvolutionalConfig(_Model):
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


class DilatedConfig(_Model):
    """ByteNet (Kalchbrenner et al., 2016)."""

    architecture: Literal["dilated"] = "dilated"
    kernel: Annotated[int, Field(ge=1, le=1024)] = 3
    """Number of neighbouring positions in a convolution, its own included; in the decoder its own is the last."""
    dilation: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    """Largest distance between those positions: it doubles from layer to layer up to this, then starts at 1 again
    (ByteNet's r)."""


class FeedForwardConfig(_Model):
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


AnyTransformerConfig = TransformerConfig | LongformerConfig | LinformerConfig | PerformerConfig | StateSpaceConfig
EarlierConfig = (
    RecurrentConfig | GnmtConfig | DeepAttentionConfig | ConvolutionalConfig | DilatedConfig | FeedForwardConfig
)
MODEL_CONFIGS: dict[str, type[_Model]] = {
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
