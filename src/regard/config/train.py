"""How a model is trained. The defaults are the paper's (section 5)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.checked import Count, Frozen, Rate


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
