"""What a run is: frozen, checked descriptions of data, model, training and decoding.

The defaults are the base model of "Attention Is All You Need" (Vaswani et al., 2017), trained and decoded as the paper
does. Only the first weights, of which it does not speak, are drawn smaller than by its authors' code: W^V, W^O, W1 and
W2 at half of Glorot's size, W^Q and W^K at 0.7 of it (model/embedding.py). A preset is a name for a few changed fields
(presets.toml); a run file is the same thing with a file's name.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from regard.checked import Frozen

# The ids that every vocabulary begins with.
PAD, UNK, BOS, EOS = 0, 1, 2, 3

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Task = Literal["translation", "parsing"]


# The settings that every model has; those that models other than the Transformer have besides; and those that the
# Transformer does not have. What is left is the Transformer's alone.
COMMON = {
    *("architecture", "vocabulary", "source_vocabulary", "share_embeddings", "tie_projection"),
    *("encoder_layers", "decoder_layers", "d_model", "dropout"),
}
BESIDES = {
    "recurrent": {"cell", "attention"},
    "convolutional": {"kernel", "positions", "max_length"},
    "dilated": {"kernel", "dilation"},
    "feedforward": {"d_ff", "activation", "norm", "positions", "max_length"},
}
FOREIGN = {"cell", "attention", "kernel", "dilation"}
# The settings that belong to one way of mixing the encoder's positions.
MIXING = {
    "attention": {"neighbours"},
    "longformer": {"window", "global_tokens"},
    "linformer": {"rank"},
    "performer": {"features"},
    "state-space": {"state_size"},
}
POSITIONS = {"convolutional": ("learned", "none"), "feedforward": ("sinusoidal", "learned", "none")}


class ModelConfig(Frozen):
    """A model; by default the Transformer. Sizes carry the paper's symbols; each choice says where it comes from.

    A setting that the architecture does not have is refused, unless it says what it says anyhow.
    """

    architecture: Literal["transformer", "recurrent", "convolutional", "dilated", "feedforward"] = "transformer"
    """transformer: the paper. What it is compared with: recurrent: Sutskever et al., 2014, with attention Bahdanau et
    al., 2015. convolutional: ConvS2S (Gehring et al., 2017). dilated: ByteNet (Kalchbrenner et al., 2016). feedforward:
    no position sees another, to show what context is worth."""

    vocabulary: Annotated[int, Field(ge=4, le=2**31 - 1)] = 37_000
    """Tokens of the target language, or of both when they share a vocabulary. `regard train` sets it from the data."""
    source_vocabulary: Annotated[int, Field(ge=4, le=2**31 - 1)] | None = None
    """Tokens of the source language when it has a vocabulary of its own."""

    encoder_layers: Annotated[int, Field(ge=1, le=256)] = 6
    decoder_layers: Annotated[int, Field(ge=1, le=256)] = 6
    d_model: Annotated[int, Field(ge=1, le=16_384)] = 512
    d_ff: Annotated[int, Field(ge=1, le=1 << 20)] = 2048
    heads: Annotated[int, Field(ge=1, le=1024)] = 8
    d_k: Annotated[int, Field(ge=1, le=16_384)] = 64
    """Size of a head's queries and keys; d_model / heads when not given."""
    d_v: Annotated[int, Field(ge=1, le=16_384)] = 64
    """Size of a head's values; d_model / heads when not given."""
    dropout: Rate = 0.1
    """On every sub-layer's output and on embeddings plus positions (section 5.4)."""
    attention_dropout: Rate = 0.0
    """On the weights of every softmax attention. 0 in the paper's translation models; its parsers had some (section
    6.3). The encoder's layers of a Performer or S4D hold no such weights: there it acts in the decoder alone."""

    positions: Literal["sinusoidal", "learned", "rotary", "relative", "none"] = "sinusoidal"
    """sinusoidal: section 3.5. learned: Table 3 row E. rotary: Su et al., 2021, on the queries and keys of
    self-attention. relative: Shaw et al., 2018, a learned key for each distance. none: to show that order is lost.
    ConvS2S learns them unless told otherwise, as its paper does."""
    max_length: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """How many learned positions there are, and how many Linformer can mix; the other kinds have no limit."""
    relative_distance: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    """Beyond this distance all relative positions are the same (Shaw et al.'s k)."""

    norm: Literal["post", "pre"] = "post"
    """post: LayerNorm(x + Sublayer(x)), the paper. pre: x + Sublayer(LayerNorm(x)) and one more at the end of each
    stack (Wang et al., 2019), easier to train when deep."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    """relu: equation 2. gelu: Hendrycks and Gimpel, 2016. silu: Ramachandran et al., 2017."""
    score: Literal["scaled", "unscaled", "additive"] = "scaled"
    """scaled: equation 1. unscaled: the same without 1/sqrt(d_k) (section 3.2.1). additive: Bahdanau et al., 2015."""
    next_word: bool = False
    """Show the decoder what the encoder made of the word whose turn it is: hard alignment (Aharoni and Goldberg, 2017),
    for parsers, whose output has a symbol for each word of the source."""
    neighbours: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Restrict self-attention to a neighbourhood of this size around each position (section 4); 0 for none."""

    mixing: Literal["attention", "longformer", "linformer", "performer", "state-space"] = "attention"
    """How the encoder's positions learn of each other. attention: the paper's, in O(n²). longformer: a sliding window
    and global tokens (Beltagy et al., 2020). linformer: keys and values of low rank (Wang et al., 2020). performer:
    random features (Choromanski et al., 2021). state-space: S4D (Gu et al., 2022). The decoder always has attention."""
    window: Annotated[int, Field(ge=1, le=1 << 20)] = 32
    """Longformer: the size of the neighbourhood that a position sees."""
    global_tokens: Annotated[int, Field(ge=0, le=1 << 16)] = 1
    """Longformer: so many first positions see all the others, and are seen by them."""
    rank: Annotated[int, Field(ge=1, le=1 << 16)] = 32
    """Linformer's k: how many mixtures of keys and values there are, however long the source."""
    features: Annotated[int, Field(ge=1, le=1 << 16)] = 128
    """Performer's m: random features that stand for the softmax; the error falls as 1/sqrt(m)."""
    state_size: Annotated[int, Field(ge=2, le=4096)] = 64
    """S4D's N: states of each channel, in conjugate pairs."""

    cell: Literal["rnn", "lstm", "gru"] = "lstm"
    """Of a recurrent model. rnn: Elman, 1990. lstm: Hochreiter and Schmidhuber, 1997. gru: Cho et al., 2014."""
    attention: Literal["none", "dot", "additive"] = "dot"
    """What a recurrent decoder sees of the source. none: one vector (Sutskever et al., 2014). dot, additive: every
    position, weighed by s · h (Luong et al., 2015) or by v · tanh(W s + U h) (Bahdanau et al., 2015)."""
    kernel: Annotated[int, Field(ge=1, le=1024)] = 3
    """Neighbouring positions that a convolution sees, its own included; in the decoder it is the last of them."""
    dilation: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    """Of dilated convolutions: the distance between those positions doubles from layer to layer up to this, then begins
    at 1 again (ByteNet's r)."""

    share_embeddings: bool = True
    """Source and target share one embedding matrix (section 3.4)."""
    tie_projection: bool = True
    """The projection before the softmax is the target's embedding matrix (section 3.4)."""

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        values = dict(values)
        d_model = values.get("d_model", cls.model_fields["d_model"].default)
        heads = values.get("heads", cls.model_fields["heads"].default)
        for size in ("d_k", "d_v"):
            if values.get(size) is None and values.get("architecture", "transformer") == "transformer":
                if not isinstance(d_model, int) or not isinstance(heads, int) or heads < 1 or d_model % heads:
                    raise ValueError(f"d_model {d_model} is not a multiple of heads {heads}; give {size} as well")
                values[size] = d_model // heads
        if values.get("source_vocabulary") is not None:
            values.setdefault("share_embeddings", False)
        if values.get("architecture") == "convolutional":
            values.setdefault("positions", "learned")
        return values

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(f"rotary positions turn pairs of dimensions, so d_k must be even, not {self.d_k}")
        if self.share_embeddings and self.source_vocabulary is not None:
            raise ValueError("two vocabularies can't share one embedding; leave out share_embeddings")
        self._check_architecture()
        self._check_mixing()
        return self

    @property
    def bounded(self) -> bool:
        """Whether texts have at most max_length tokens."""
        return self.positions == "learned" or self.mixing == "linformer"

    def _check_architecture(self) -> None:
        every = type(self).model_fields
        besides = BESIDES.get(self.architecture)
        foreign = FOREIGN if besides is None else every.keys() - COMMON - besides
        for name in every:
            if name in foreign and getattr(self, name) != every[name].default:
                raise ValueError(f"a {self.architecture} model has no {name}; leave it out")
        kinds = POSITIONS.get(self.architecture)
        if kinds is not None and self.positions not in kinds:
            raise ValueError(f"a {self.architecture} model's positions are {' or '.join(kinds)}, not {self.positions}")
        if self.architecture == "recurrent" and self.d_model % 2:
            raise ValueError(f"the two directions of the encoder share d_model, so it must be even, not {self.d_model}")

    def _check_mixing(self) -> None:
        fields = type(self).model_fields
        for name in sorted(set().union(*MIXING.values()) - MIXING[self.mixing]):
            if getattr(self, name) != fields[name].default:
                raise ValueError(f"mixing by {self.mixing} has no {name}; leave it out")
        if self.mixing in ("longformer", "linformer", "performer"):
            if self.score != "scaled":
                raise ValueError(f"mixing by {self.mixing} needs scaled scores, not {self.score}")
            if self.positions == "relative" or (self.positions == "rotary" and self.mixing == "linformer"):
                raise ValueError(f"mixing by {self.mixing} can't use {self.positions} positions; take sinusoidal ones")
        if self.mixing == "linformer" and self.rank > self.max_length:
            raise ValueError(f"a rank of {self.rank} is no less than full; max_length is {self.max_length}")
        if self.state_size % 2:
            raise ValueError(f"states come in conjugate pairs, so state_size must be even, not {self.state_size}")


class TrainConfig(Frozen):
    """How a model is trained (section 5)."""

    steps: Count = 100_000
    """Updates of the weights."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    batch_tokens: Count = 25_000
    """At most this many source and this many target tokens in a batch, padding included."""
    accumulate: Count = 1
    """Batches that make one update: 8 on one process equal one batch on each of 8 processes."""
    label_smoothing: Rate = 0.1
    """ε_ls of section 5.4."""
    beta1: Rate = 0.9
    beta2: Rate = 0.98
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    schedule: Literal["paper", "inverse-sqrt", "cosine", "constant"] = "paper"
    """paper: equation 3. The others rise to peak_rate over the warmup, then fall as 1/sqrt(step), as a half cosine to 0
    at the last step, or stay."""
    warmup: Annotated[int, Field(ge=0)] = 4000
    peak_rate: Annotated[float, Field(gt=0)] | None = None
    """The highest rate; the paper's schedule derives its own from d_model and warmup."""
    clip: Annotated[float, Field(gt=0)] | None = None
    """Clip gradients to this norm; the paper does not."""
    average_last: Count = 5
    """The model that is used is the mean of this many last checkpoints, unless `final` says otherwise."""
    moving_average: Rate | None = None
    """Also keep a moving average of the weights with this decay, such as 0.999; validate it, and use it instead: the
    model that is used is the moving average at the last checkpoint, or at the best."""

    checkpoint_every: Count = 1000
    """Steps between checkpoints; each begins with a validation."""
    bleu: bool = False
    """At every validation, translate the validation set and log BLEU as `regard evaluate` computes it."""
    best: Literal["loss", "bleu"] = "loss"
    """What tells the best checkpoint: the lowest loss (without smoothing) or the highest BLEU on the validation set."""
    final: Literal["mean", "best"] = "mean"
    """The model that is used in the end: the mean of the last checkpoints (section 6.1), or the best checkpoint."""
    keep_last: Count = 5
    """Checkpoints kept besides the best; at least average_last of them are."""
    log_every: Count = 50
    """Steps between lines of the log; figures are means over them."""
    patience: Count | None = None
    """Stop after this many validations in a row that were not the best so far."""
    bad_steps: Count = 10
    """Stop after this many steps in a row whose loss or gradient was not finite; each of them is skipped."""

    precision: Literal["float32", "bf16"] = "float32"
    """bf16: matrix products in bfloat16, for GPUs and for CPUs that know it; weights and sums stay in float32."""
    compile: bool = False
    """Let torch.compile make kernels for the model first; needs a compiler, and pays off on GPUs."""
    sharding: Literal["ddp", "fsdp"] = "ddp"
    """With several processes: ddp has the whole model in each; fsdp divides weights, gradients and moments among them
    (FSDP2). Only to translate at a validation, or to validate a moving average, each needs room for all weights."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.schedule == "paper") != (self.peak_rate is None):
            raise ValueError("peak_rate goes with every schedule but the paper's, which derives its own")
        if self.best == "bleu" and not self.bleu:
            raise ValueError("best = 'bleu' needs BLEU to be computed; set bleu = true as well")
        return self


class DecodeConfig(Frozen):
    """How a model is searched for its best output (section 6.1). These defaults travel with the model."""

    beam: Annotated[int, Field(ge=1, le=4096)] = 4
    alpha: Annotated[float, Field(ge=0.0, le=10.0)] = 0.6
    """Exponent of the length penalty. Far below 10 the longest output always wins; far above, numbers overflow."""
    penalty: Literal["paper", "average"] = "paper"
    """What a log probability is divided by. paper: ((5 + |Y|) / 6)^alpha (Wu et al., 2016). average: |Y|^alpha."""
    extra_length: Annotated[int, Field(ge=0, le=10_000)] = 50
    """The output has at most this many tokens more than the input."""


class Config(Frozen):
    """One run: a model, its training and its decoding."""

    data: str | None = None
    """The folder that `regard prepare` made."""
    task: Task = "translation"
    """What the model learns to do; `regard train` sets it from the data."""
    start: str | None = None
    """The model that is fine-tuned, by its folder's name and its checksum; `regard train --from` sets it."""
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()


class FilterConfig(Frozen):
    """Which pairs of a corpus are kept. Each filter is counted by its name."""

    max_characters: Count = 5000
    """Either side longer than this is dropped, before any work is done on it."""
    max_ratio: Annotated[float, Field(ge=1.0)] | None = 9.0
    """The longer side over the shorter, in characters, each lengthened by 10 so that short texts pass; None: any."""
    identical: bool = False
    """Keep pairs whose two sides are the same text."""
    duplicates: bool = False
    """Keep a pair that came before."""


class CorpusConfig(Frozen):
    """Where pairs come from: two files aligned by line, or one TSV, JSON-lines or tree file; `-` is standard input."""

    files: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    weight: Annotated[float, Field(gt=0)] = 1.0
    """How often an epoch passes over the corpus: 2 is twice, 0.5 a different half each time."""
    tag: str | None = None
    """A reserved token, such as <2de>, put before every source."""

    @field_validator("tag")
    @classmethod
    def _check_tag(cls, tag: str | None) -> str | None:
        if tag is not None and not re.fullmatch(r"<[^\s<>,\"▁]+>", tag):
            raise ValueError("a tag is written like <2de>, without spaces or commas")
        return tag


class PrepareConfig(Frozen):
    """How text becomes token ids."""

    task: Task = "translation"
    """What the data is for. parsing: each corpus is one file of trees, and their words are translated into them."""
    tree_tags: Literal["kept", "one"] = "kept"
    """How words stand in a linearised tree: kept, each by its own part-of-speech tag; or all by the same symbol."""
    vocabulary: Annotated[int, Field(ge=300, le=1_000_000)] = 37_000
    """Subwords, of both languages together or of each; 260 of them are the reserved tokens and the bytes."""
    subwords: Literal["bpe", "unigram"] = "bpe"
    """bpe: Sennrich et al., 2016, as in the paper. unigram: Kudo, 2018."""
    subwords_from: str | None = None
    """The folder of a model, or of prepared data, whose subwords are taken instead of learning new ones."""
    shared: bool = True
    """One vocabulary for both languages (the paper's English-German) or one each."""
    form: Literal["NFC", "NFKC"] = "NFC"
    """Unicode normal form. NFKC also unites characters that only look different, such as full-width letters."""
    tags: tuple[str, ...] = ()
    """Reserved tokens, such as <2de>, that text can't spell; the corpora's own tags are added to these."""
    source_language: str | None = None
    target_language: str | None = None
    filters: FilterConfig = FilterConfig()
    skip_invalid: bool = False
    """Count lines that can't be read and go on, instead of stopping at the first."""
    sample: Count = 500_000
    """How many pairs the subwords are learned from, at most."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
