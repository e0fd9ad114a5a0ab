"""Settings that several model configurations share.

Sizes have the paper's symbols; each option names its source.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.config.checked import Frozen, Rate
from regard.config.decode import Decoding

Layers = Annotated[int, Field(ge=1, le=256)]
Size = Annotated[int, Field(ge=1, le=16_384)]
Vocabulary = Annotated[int, Field(ge=4, le=2**31 - 1)]
Positions = Annotated[int, Field(ge=1, le=1 << 20)]


class AnyModel(Frozen):
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
    def decodings(self) -> tuple[Decoding, ...]:
        """Return the ways in which the model can write a text, its default first."""
        return ("search",)

    @property
    def position_limit(self) -> int | None:
        """Return the most tokens that the model can read; None if there is no limit."""
        return None


class MayHaveExperts(AnyModel):
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


class TransformerSettings(AnyModel):
    """The settings of every Transformer, whichever layer mixes the positions of its encoder."""

    architecture: Literal["transformer", "mask-predict", "decoder-only", "encoder-only"] = "transformer"
    """transformer: the paper. The baselines: recurrent: Sutskever et al., 2014; with attention, Bahdanau et al., 2015.
    gnmt: Wu et al., 2016. deep-attention: Deep-Att (Zhou et al., 2016). convolutional: ConvS2S (Gehring et al., 2017).
    dilated: ByteNet (Kalchbrenner et al., 2016). feedforward: no position sees another, which shows what context
    contributes. What came after: mask-predict: all tokens at once (Ghazvininejad et al., 2019). decoder-only: source
    and target as one sequence (GPT: Radford et al., 2018). encoder-only: BERT (Devlin et al., 2019)."""

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

    blocks: Annotated[int, Field(ge=1, le=16)] = 1
    """Number of tokens that a step of blockwise decoding can accept (Stern et al., 2018): the model's own, and others
    that further heads propose. `regard train --from MODEL --set model.blocks=4` gives a trained model such heads."""
    blocks_tuned: bool = False
    """Also train the model's own weights while its heads learn. By default they stay as they are, so that its
    translations do, too."""

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

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        if self.blocks_tuned and self.blocks == 1:
            raise ValueError("blocks_tuned needs blocks; set model.blocks as well, or leave it out")
        if self.next_word and self.blocks > 1:
            raise ValueError("a parser's decoder, which is shown the next word, has no blocks; leave out blocks")
        return self

    @property
    def position_limit(self) -> int | None:
        return self.max_length if self.positions == "learned" else None

    @property
    def decodings(self) -> tuple[Decoding, ...]:
        return ("search", "blockwise") if self.blocks > 1 else ("search",)

    def needs_scaled_scores(self, mixing: str, *without: str) -> None:
        if self.score != "scaled":
            raise ValueError(f"mixing by {mixing} needs scaled scores, not {self.score}")
        if self.positions in without:
            raise ValueError(f"mixing by {mixing} can't use {self.positions} positions; take sinusoidal ones")
