"""Settings of a run by the amount of data, the time there is, and the speed of the machine."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from regard.data.prepare_report import PrepareReport
from regard.data.prepared import Prepared
from regard.recipe.durations import shown

Settings = dict[str, dict[str, Any]]
Speed = Callable[[str, Settings], float]
"""Return the source and target tokens per second that this machine trains with a preset and changes of it."""

RESERVE, SHARE = 10.0, 0.08  # seconds and share of the time, kept for choosing, writing and testing the model
STEPPING = 0.9  # share of the rest for steps; the remainder is for validations and checkpoints
STEPS = 8000  # updates that a run should have, if batches do not become too small
LEAST_STEPS = 60
SMALLEST_BATCH, LARGEST_BATCH = 512, 4096
VALIDATIONS, FEW_VALIDATIONS, SHORT = 10, 6, 600.0  # validations; fewer in runs shorter than SHORT seconds
PATIENCE = 4
ENOUGH_TO_SCORE = 100  # validation pairs; with fewer a score is noise, and the loss chooses the model
ENOUGH_PASSES = 5  # a size with time for fewer passes, and for fewer tokens than it needs, is too large


@dataclass(frozen=True)
class Amount:
    """The amount of data to train on."""

    pairs: int
    tokens: int
    """Tokens of both sides."""
    longest: int
    """Tokens of the longest text; a batch must have room for it."""
    valid: int

    @classmethod
    def of(cls, data: Prepared) -> "Amount":
        return cls.of_report(data.report)

    @classmethod
    def of_report(cls, report: PrepareReport) -> "Amount":
        sides = [side for split in report.train for side in (split.source, split.target)]
        tokens, longest = sum(side.tokens for side in sides), max(side.longest for side in sides)
        pairs = sum(split.kept for split in report.train)
        return cls(pairs, tokens, longest, report.valid.kept if report.valid else 0)


@dataclass(frozen=True)
class Size:
    """A size of model, for so many pairs or more."""

    pairs: int
    tokens: int
    """With fewer tokens in a run, of both sides, a smaller model learns more."""
    preset: str
    model: Mapping[str, Any]
    name: str


SIZES = (
    Size(0, 0, "tiny", {"encoder_layers": 2, "decoder_layers": 2}, "2 + 2 layers of 128"),
    Size(2_000, 2_000_000, "tiny", {"encoder_layers": 3, "decoder_layers": 3, "d_ff": 512}, "3 + 3 layers of 128"),
    Size(20_000, 10_000_000, "small", {}, "3 + 3 layers of 256"),
    Size(1_000_000, 300_000_000, "base", {}, "6 + 6 layers of 512"),
)
DROPOUT = ((2_000, 0.4), (20_000, 0.3), (200_000, 0.2), (math.inf, 0.1))  # by pairs
FEW_PASSES = ((5, 0.1), (15, 0.2))  # a run with fewer passes than this has no time to overfit: no more dropout
PEAK_RATE = 0.002  # at d_model 128; less for wider models
WIDTHS = {"tiny": 128, "small": 256, "base": 512}


@dataclass(frozen=True)
class Plan:
    """The settings chosen for a run, with their reasons."""

    preset: str
    settings: Settings
    reasons: dict[str, str]
    """A sentence for each choice, by its name."""
    seconds: float
    """The time that it was chosen for."""
    tokens_per_second: float


@dataclass(frozen=True)
class Fitting:
    """The size of model that was chosen."""

    size: Size
    tokens_per_second: float
    reason: str
    given: bool = False
    """True if it was requested."""


def fitting_size(amount: Amount, seconds: float, speed: Speed, *, given: str | None, changes: Settings) -> Fitting:
    """Choose the largest size that the data fill and the time allows; `given` is a preset that was asked for.

    The smallest is measured first. A larger one is slower: if the time does not even suffice for it at the speed of the
    one before, it is not measured, so that a machine with no time to spare soon knows.
    """
    if given is not None:
        return Fitting(Size(0, 0, given, {}, given), speed(given, changes), f"{given}, as asked for", given=True)
    smallest, *larger = [size for size in SIZES if size.pairs <= amount.pairs]
    chosen, rate, why = smallest, _measured(speed, smallest, changes), f"as large as {amount.pairs:,} pairs fill"
    for size in larger:
        enough = min(ENOUGH_PASSES * amount.tokens, size.tokens)
        needed = enough / (STEPPING * training_seconds(seconds))
        larger_rate = _measured(speed, size, changes) if rate >= needed else 0.0
        if larger_rate < needed:
            why = "a larger one needs more time than there is"
            break
        chosen, rate = size, larger_rate
    return Fitting(chosen, rate, f"{chosen.name}: {why}")


def _measured(speed: Speed, size: Size, changes: Settings) -> float:
    return speed(size.preset, {**changes, "model": {**size.model, **changes.get("model", {})}})


def plan(amount: Amount, seconds: float, fitting: Fitting, changes: Settings) -> Plan:
    """Choose the settings of a run with a model of the size that fits; `changes` are settings that stay."""
    size, rate = fitting.size, fitting.tokens_per_second
    pairs, tokens = amount.pairs, amount.tokens
    passes = most_passes(pairs)
    budget = STEPPING * training_seconds(seconds) * rate
    trained = min(budget, passes * tokens)
    dropout, dropout_reason = _dropout(pairs, trained / tokens)
    asked = changes.get("train", {})
    batch = asked.get("batch_tokens") or _batch(trained, amount)
    steps = asked.get("steps") or max(LEAST_STEPS, round(trained / (FILLED * 2 * batch)))
    every = max(1, math.ceil(steps / (FEW_VALIDATIONS if seconds < SHORT else VALIDATIONS)))
    warmup = max(20, min(4000, steps // 10))
    width = WIDTHS.get(size.preset, 512)
    model = {} if fitting.given else {**size.model, "dropout": dropout}
    train: dict[str, Any] = {
        "schedule": "cosine", "peak_rate": round(PEAK_RATE * 128 / width, 6), "warmup": warmup, "clip": 1.0,
        "batch_tokens": batch, "steps": steps, "checkpoint_every": every, "log_every": max(1, every // 4),
        "average_last": 4, "keep_last": 4, "max_minutes": round(training_seconds(seconds) / 60, 2), "final": "auto",
    }  # fmt: skip
    if amount.valid:
        enough = amount.valid >= ENOUGH_TO_SCORE
        best = asked.get("best", "chrf" if enough else "loss")
        train |= {"bleu": enough or best != "loss", "best": best, "patience": PATIENCE}
    if asked.get("schedule") == "paper":
        del train["peak_rate"]  # it derives its own
    if asked.get("bleu") is False:
        train["best"] = "loss"
    limit = "the time allows" if budget < passes * tokens else f"more than {passes:.0f} passes would only overfit"
    limit = "fewer would teach nothing; the time may end it before" if steps == LEAST_STEPS else limit
    reasons = {
        "model": f"{fitting.reason} ({rate:,.0f} tokens/s on this machine)",
        "dropout": dropout_reason,
        "steps": _steps_reason(steps, batch, tokens, "as asked for" if asked.get("steps") else limit),
        "learning rate": f"{train.get('peak_rate', 'equation 3')} at most, after {warmup:,} steps; then it falls",
        "validation": _validation_reason(train, seconds) if amount.valid else "none: too few pairs to split some off",
    }
    return Plan(size.preset, {"model": model, "train": train, "decode": {"beam": 4}}, reasons, seconds, rate)


def _dropout(pairs: int, passes: float) -> tuple[float, str]:
    """Return the dropout for this many pairs and passes, and the reason."""
    usual = next(value for most, value in DROPOUT if pairs < most)
    least = next((value for most, value in FEW_PASSES if passes < most), usual)
    if least < usual:
        return least, f"{least}: {passes:.1f} passes over the data are too few to overfit"
    return usual, f"{usual}: the fewer the pairs ({pairs:,}), the more of it"


def _steps_reason(steps: int, batch: int, tokens: int, limit: str) -> str:
    passes = steps * FILLED * 2 * batch / tokens
    return f"{steps:,} of {batch:,} tokens a side, {passes:.1f} passes over the data: {limit}"


def _validation_reason(train: Mapping[str, Any], seconds: float) -> str:
    better = next((f"better {name}" for name in ("BLEU", "chrF") if name.lower() == train["best"]), "lower loss")
    end = f"ends after {PATIENCE} in a row without a {better}, or after {shown(training_seconds(seconds))}"
    return f"every {train['checkpoint_every']:,} steps; {end}"


def training_seconds(seconds: float) -> float:
    """Return the seconds after which training must end, so that the whole run takes this many seconds."""
    return max(0.5 * seconds, (1 - SHARE) * seconds - RESERVE)


FILLED = 0.8  # of the tokens that a batch may have, those that are no padding


def most_passes(pairs: int) -> float:
    """Return the most passes of a run over this many pairs: a model soon overfits few pairs."""
    return max(10.0, min(40 + 60 * pairs / 5000, 100 * math.pow(5000 / max(pairs, 1), 0.4)))


def _batch(trained: float, amount: Amount) -> int:
    """Return a batch size that gives many updates, several of them in each pass, and has room for the longest text."""
    wanted = min(trained / (2 * FILLED * STEPS), amount.tokens / (2 * FILLED * 4))
    return int(min(LARGEST_BATCH, max(SMALLEST_BATCH, amount.longest + 1, 64 * round(wanted / 64))))
