"""Configuration of training. The defaults are the paper's (section 5)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.checked import Count, Frozen, Rate


class TrainConfig(Frozen):
    """Settings of training (section 5)."""

    steps: Count = 100_000
    """Number of updates of the weights."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of the initial weights, of the order of batches and of dropout."""
    batch_tokens: Count = 25_000
    """Number of source tokens and of target tokens in a batch, at most, padding included."""
    subword_sampling: Annotated[float, Field(gt=0, le=10)] | None = None
    """Segment every text into subwords anew each time it is trained on: BPE leaves out each merge with this
    probability, such as 0.1 (BPE dropout); unigram draws a segmentation with probability P(x)^α, and this is α."""
    accumulate: Count = 1
    """Number of batches in one update: 8 on one process equal one batch on each of 8 processes."""
    update_batches: Count | None = None
    """Number of batches in one update over all processes, which share them evenly. The updates then stay the same when
    the number of hosts changes. It replaces `accumulate`."""
    objective: Literal["likelihood", "reward"] = "likelihood"
    """likelihood: of the references (the paper). reward: the expected GLEU of the model's own samples, mixed with the
    likelihood (Wu et al., 2016), to refine a model that likelihood has trained."""
    samples: Annotated[int, Field(ge=2, le=1000)] = 15
    """Number of samples of each sentence whose mean reward is the baseline, for the objective `reward`."""
    likelihood_weight: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.017
    """Weight of the likelihood in the objective `reward` (Wu et al.'s α)."""
    terminology: str | None = None
    """A glossary's file. Pairs that use its terms are trained on twice: as they are, and with the target terms written
    beside the source terms (Dinu et al., 2019). The model then uses, and inflects, the terms of any glossary."""
    label_smoothing: Rate = 0.1
    """ε_ls of section 5.4."""
    beta1: Rate = 0.9
    """Adam's β1 (section 5.3)."""
    beta2: Rate = 0.98
    """Adam's β2 (section 5.3)."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    """Adam's ε (section 5.3)."""
    schedule: Literal["paper", "inverse-sqrt", "cosine", "constant"] = "paper"
    """paper: equation 3. The others rise linearly to peak_rate over the warmup; then inverse-sqrt falls as
    1/sqrt(step), cosine falls as a half cosine to 0 at the last step (at max_minutes, if that comes first), constant
    stays."""
    warmup: Annotated[int, Field(ge=0)] = 4000
    """Number of steps over which the learning rate rises (section 5.3)."""
    peak_rate: Annotated[float, Field(gt=0)] | None = None
    """The highest learning rate; the paper's schedule derives its own from d_model and warmup."""
    clip: Annotated[float, Field(gt=0)] | None = None
    """Clip gradients to this norm; the paper does not."""
    average_last: Count = 5
    """Number of last checkpoints whose mean may be the final model; those of the first half of a run are left out."""
    moving_average: Rate | None = None
    """Also keep a moving average of the weights with this decay, such as 0.999. Validation then uses the moving
    average, and the final model is the moving average at the last checkpoint, or at the best."""

    checkpoint_every: Count = 1000
    """Number of steps between checkpoints; each begins with a validation."""
    bleu: bool = False
    """Translate the validation set at every validation, and log BLEU and chrF as `regard evaluate` computes them."""
    best: Literal["loss", "bleu", "chrf"] = "loss"
    """The measure of the best checkpoint on the validation set: the lowest loss (without smoothing), the highest BLEU
    or the highest chrF, which says more where pairs are few or words have many forms, as in Korean."""
    final: Literal["auto", "mean", "best", "last"] = "auto"
    """The model that is written at the end: the mean of the last checkpoints (section 6.1), the best checkpoint or the
    last. auto: of these three, the one that is the best on the validation set, by chrF if `best` is chrf, else
    by BLEU if `bleu` is set, else by loss; without a validation set, the mean."""
    keep_last: Count = 5
    """Number of checkpoints kept besides the best; at least average_last are kept."""
    log_every: Count = 50
    """Number of steps between lines of the log; its figures are means over them."""
    patience: Count | None = None
    """Stop after this many validations in a row without a new best."""
    max_minutes: Annotated[float, Field(gt=0)] | None = None
    """End the run, as early stopping does, when its steps, validations and checkpoints have taken so long. Only for one
    process. Where it ends then depends on the machine's speed, so two such runs are not the same to the bit."""
    bad_steps: Count = 10
    """Stop after this many steps in a row whose loss or gradient was not finite; each such step is skipped."""

    precision: Literal["float32", "bf16"] = "float32"
    """bf16: matrix products in bfloat16, for GPUs and for CPUs that support it; weights and sums stay in float32."""
    compile: bool = False
    """Compile the model with torch.compile first; needs a compiler, and pays off on GPUs."""
    sharding: Literal["ddp", "fsdp"] = "ddp"
    """The way several processes train one model. ddp: each has the whole model. fsdp: weights, gradients and Adam's
    moments are sharded among them (FSDP2); only to translate at a validation, or to validate a moving average, does
    each process need memory for all weights."""
    communication: Literal["float32", "bf16"] = "float32"
    """The precision in which processes exchange gradients. bf16 halves the bytes on the network, and rounds."""
    bucket_mb: Annotated[float, Field(gt=0)] | None = None
    """MiB of gradients that ddp sends at once, while the rest is computed; by default 25, and first 1."""
    wait_minutes: Annotated[float, Field(gt=0, le=60 * 24 * 7)] = 120.0
    """Minutes that a process waits for the others before it considers them lost and ends. The others wait while the
    first one validates, translates and saves, so it must be longer than that takes."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.schedule == "paper") != (self.peak_rate is None):
            raise ValueError("peak_rate goes with every schedule but the paper's, which derives its own")
        for name in ("samples", "likelihood_weight"):
            if self.objective != "reward" and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} goes with objective = 'reward'; leave it out, or set that as well")
        if self.update_batches is not None and self.accumulate != 1:
            raise ValueError("update_batches replaces accumulate; leave out one of the two")
        if self.bucket_mb is not None and self.sharding == "fsdp":
            raise ValueError("bucket_mb goes with sharding = 'ddp'; fsdp sends the gradients of one layer at once")
        if self.best != "loss" and not self.bleu:
            raise ValueError(f"best = {self.best!r} needs translations of the validation set; set bleu = true as well")
        return self
