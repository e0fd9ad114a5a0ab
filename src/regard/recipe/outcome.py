"""The result of a run on pairs: the model, its scores, and advice."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.config.presets import read
from regard.data.prepared import Prepared, RawPair, held_out_texts
from regard.evaluate.bleu import Score, bleu, chrf
from regard.evaluate.validator import translate_sources
from regard.recipe.choices import Plan, most_passes
from regard.train.log import Record, records, written
from regard.train.run import LOG, RUN
from regard.translate.load import load

EXAMPLES = 10
GAP = 0.5  # nats between the losses of training and validation pairs above which a model has memorised
FALLING = 0.01  # share by which the validation loss must have fallen in the last third to be called falling
SHORT = 0.8  # share of the planned steps below which a run that the clock ended was cut short
FEW = 0.3  # share of the useful passes below which a run had too little time
MOST_TIMES = 20.0  # advise at most this many times the time of the run
UNCLEAN = 0.05  # share of dropped pairs above which the text should be looked at
FILTERS = ("length ratio", "identical", "too long", "empty", "not valid UTF-8", "no tab", "not JSON", "unpaired")
USABLE = 20.0  # chrF below which most translations are wrong
FEW_PAIRS = 100_000  # number of pairs below which a useless model may lack pairs


@dataclass(frozen=True)
class Example:
    """A sentence that training never saw, its translation by the model, and by a person."""

    source: str
    translation: str
    reference: str


@dataclass(frozen=True)
class Outcome:
    """The trained model, its scores on pairs that training never saw, and advice."""

    model: Path
    pairs: int
    """Number of pairs that it was trained on."""
    tested: int
    """Number of pairs that it was measured on; 0 if there were too few to split some off."""
    final: str
    """The model that was written: mean, best or last."""
    steps: tuple[int, ...]
    """The checkpoints that it is made of."""
    planned: int
    """Number of steps that were planned."""
    trained: int
    """Number of steps that were made."""
    bleu: Score | None
    chrf: Score | None
    examples: tuple[Example, ...]
    minutes: float
    """Time of training and validation."""
    advice: tuple[str, ...]
    """Advice, the most helpful first."""
    plan: Plan
    """The chosen settings, with their reasons."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        values = asdict(self) | {"model": str(self.model)}
        for name in ("bleu", "chrf"):
            score = getattr(self, name)
            values |= {name: score and score.value, f"{name}_signature": score and score.signature}
        return values


def measure(model: Path, run: Path, data: Prepared, plan: Plan) -> Outcome:
    """Translate the test pairs with the model of a run, and score them."""
    pairs = held_out_texts(data.directory)
    lines = translate_sources(load(model), pairs) if pairs else []
    references = [[pair.target for pair in pairs]]
    log = list(records(run / LOG))
    final, planned = written(run) or {}, read(run / RUN).train.steps
    score = chrf(lines, references) if pairs else None
    return Outcome(
        model=model,
        pairs=sum(map(len, data.train)),
        tested=len(pairs),
        final=str(final.get("final", "")),
        steps=tuple(final.get("mean_of", ())),
        planned=planned,
        trained=_made(log),
        bleu=bleu(lines, references) if pairs else None,
        chrf=score,
        examples=_examples(pairs, lines),
        minutes=round(_seconds(log) / 60, 2),
        advice=tuple(advice(log, data, plan, planned, None if score is None else score.value)),
        plan=plan,
    )


def _examples(pairs: Sequence[RawPair], lines: Sequence[str]) -> tuple[Example, ...]:
    """Return some test pairs, evenly spread, with their translations."""
    count = min(EXAMPLES, len(pairs))
    chosen = [number * len(pairs) // count for number in range(count)]
    return tuple(Example(pairs[at].source, lines[at], pairs[at].target) for at in chosen)


def _seconds(log: Sequence[Record]) -> float:
    """Return the time of training and validation that the log has."""
    trained = [record["seconds"] for record in log if record.get("event") == "train"]
    paused = [record["pauses"] for record in log if "pauses" in record]
    return float(max(trained, default=0.0)) + float(max(paused, default=0.0))


def _made(log: Sequence[Record]) -> int:
    """Return the number of steps that the log has."""
    made = ("train", "validation")
    return max((int(record.get("step", 0)) for record in log if record.get("event") in made), default=0)


def advice(log: Sequence[Record], data: Prepared, plan: Plan, planned: int, chrf: float | None = None) -> list[str]:
    """Return advice for a model with this chrF, the most helpful first, each with its evidence."""
    found: list[str] = []
    training = [record["nll"] for record in log if record.get("event") == "train" and "nll" in record]
    losses = [record["nll"] for record in log if record.get("event") == "validation" and record["nll"] is not None]
    pairs = sum(map(len, data.train))
    learnt = bool(losses and training) and losses[-1] - training[-1] > GAP
    if wanting := _more_time(log, losses, data, planned, by_heart=learnt):
        reason, times = wanting
        found.append(f"more time: {reason}; start over with --time {_longer(plan.seconds, times)} --fresh")
    if learnt:
        found.append(
            f"more pairs: the loss is {training[-1]:.2f} nats a token on the pairs it was trained on and "
            f"{losses[-1]:.2f} on others, so it knows its {pairs:,} pairs by heart better than the language"
        )
    few = chrf is not None and chrf < USABLE and pairs < FEW_PAIRS
    if few and not learnt:
        found.append(f"more pairs: {pairs:,} are few for a language")
    if few:
        found.append("text in one language, and more from the same pairs: docs/guides/low-resource.md")
    found += _cleaner(data)
    if not found:
        found.append(f"more pairs: {pairs:,} is few for a language; nothing else stands out")
    return found


def _more_time(
    log: Sequence[Record], losses: Sequence[float], data: Prepared, planned: int, *, by_heart: bool
) -> tuple[str, float] | None:
    """Return why more time would help, and how many times as much.

    It helps if the time was up long before the planned steps were made, if the loss still fell, or if few passes were
    made; of these, the first and the last only if the model does not overfit.
    """
    made = _made(log)
    if _time_was_up(log, made) and made < SHORT * planned and not by_heart:
        times = min(planned / max(made, 1), MOST_TIMES)
        return f"the time was up after {made:,} of {planned:,} planned steps, as the machine was slower or busy", times
    seen = [record["tokens"] for record in log if record.get("event") == "train"]
    total = sum(split.source.tokens + split.target.tokens for split in data.report.train)
    passes, most = (seen[-1] if seen else 0) / max(total, 1), most_passes(sum(map(len, data.train)))
    if not seen or passes >= 0.9 * most:
        return None
    times = max(2.0, min(FEW * most / max(passes, 0.01), MOST_TIMES))
    if len(losses) >= 3:
        third = max(1, len(losses) // 3)
        fall = (losses[-1 - third] - min(losses[-third:])) / losses[-1 - third]
        if fall > FALLING:
            return f"the loss on the validation pairs still fell by {fall:.0%} in the last third of the run", times
    if passes < FEW * most and not by_heart:
        return f"there was time for {passes:.1f} passes over the pairs, of {most:.0f} that may help", times
    return None


def _time_was_up(log: Sequence[Record], step: int) -> bool:
    """Return whether the clock ended the run, at this step."""
    return any(record.get("event") == "time is up" and record["step"] == step for record in log)


def _longer(seconds: float, times: float) -> str:
    """Return several times the time, as --time takes it."""
    return f"{times * seconds / 60:.0f}m" if times * seconds >= 120 else f"{times * seconds:.0f}s"


def _cleaner(data: Prepared) -> list[str]:
    """Return the advice to look at the text if many of its pairs were dropped."""
    read = sum(split.read for split in data.report.train)
    dropped = {
        reason: count
        for reason in FILTERS
        if (count := sum(split.dropped.get(reason, 0) for split in data.report.train))
    }
    share = sum(dropped.values()) / max(read, 1)
    if share <= UNCLEAN:
        return []
    told = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items(), key=lambda one: -one[1]))
    return [f"cleaner pairs: {share:.0%} of the lines were dropped ({told}); are the two sides aligned?"]
