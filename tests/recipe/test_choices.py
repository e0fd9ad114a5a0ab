"""What is chosen for an amount of data and a time is sensible, and stays what was asked for."""

from typing import Any

import pytest

from regard.config.presets import preset
from regard.errors import UserError
from regard.recipe.choices import SIZES, Amount, Plan, Speed, fitting_size, most_passes, plan, training_seconds
from regard.recipe.durations import seconds, shown

TOKENS = 25  # of an everyday pair, both sides
SPEEDS = {"tiny": 12_000.0, "small": 5_000.0, "base": 600.0}  # two free cores


def chosen(pairs: int, minutes: float, faster: float = 1.0, **changes: Any) -> Plan:
    amount = Amount(pairs, pairs * TOKENS, 60, min(500, pairs // 10))
    return planned(amount, 60 * minutes, lambda name, _: faster * SPEEDS[name], **changes)


def planned(amount: Amount, seconds: float, speed: Speed, given: str | None = None, **changes: Any) -> Plan:
    return plan(amount, seconds, fitting_size(amount, seconds, speed, given=given, changes=changes), changes)


@pytest.mark.parametrize("pairs", [500, 5_000, 50_000, 500_000, 5_000_000])
@pytest.mark.parametrize("minutes", [5, 30, 600])
def test_every_amount_gives_a_run_that_fits(pairs: int, minutes: float) -> None:
    made = chosen(pairs, minutes)
    train = preset(made.preset, **made.settings).train
    tokens = train.steps * 2 * train.batch_tokens * 0.8
    training = training_seconds(60 * minutes)
    assert tokens <= 1.05 * SPEEDS[made.preset] * 0.9 * training or train.steps == 60, "the steps fit into the time"
    assert tokens / (pairs * TOKENS) <= 105, "no more passes than help"
    assert train.steps >= 60 and train.warmup < train.steps and 512 <= train.batch_tokens <= 4096
    assert 5 <= train.steps / train.checkpoint_every <= 12
    assert (train.bleu, train.best) == ((True, "chrf") if pairs > 500 else (False, "loss")), "of 50 pairs it is noise"
    assert train.max_minutes == round(training / 60, 2) and 0.75 * minutes < train.max_minutes < minutes
    assert set(made.reasons) == {"model", "dropout", "steps", "learning rate", "validation"}


def test_more_data_gets_larger_models_and_less_dropout() -> None:
    plans = [chosen(pairs, 600) for pairs in (500, 5_000, 50_000, 500_000)]
    models = [preset(one.preset, **one.settings).model for one in plans]
    assert [model.d_model for model in models] == [128, 128, 256, 256]
    assert [model.encoder_layers for model in models] == [2, 3, 3, 3]
    assert [model.dropout for model in models] == [0.4, 0.3, 0.2, 0.1]
    assert chosen(5_000_000, 60 * 24 * 30, faster=100).preset == "base"
    assert chosen(5_000_000, 600).preset == "small", "in ten hours on two cores base would see 18 million tokens"


@pytest.mark.parametrize(("rate", "measured"), [(1e9, 4), (21_000.0, 3), (6_000.0, 2), (2.0, 1)])
def test_no_size_is_measured_that_cannot_fit(rate: float, measured: int) -> None:
    """In 600 s, of which 488 are for steps, a rate of 2 suffices for none of the 2, 10 and 250 million tokens."""
    asked: list[str] = []

    def speed(name: str, settings: Any) -> float:
        asked.append(name)
        return rate

    amount = Amount(2_000_000, 2_000_000 * TOKENS, 60, 500)
    found = fitting_size(amount, 600, speed, given=None, changes={})
    assert asked == [size.preset for size in SIZES[:measured]]
    assert (found.size, found.tokens_per_second) == (SIZES[measured - 1], rate)


def test_a_size_that_is_measured_and_too_slow() -> None:
    """In 20 minutes the 10 million tokens that `small` needs take 10,160 a second, which `tiny` has and `small` not."""
    made = chosen(500_000, 20)
    assert made.preset == "tiny" and made.tokens_per_second == SPEEDS["tiny"]
    assert "a larger one needs more time than there is" in made.reasons["model"]


def test_most_passes() -> None:
    assert [round(most_passes(pairs)) for pairs in (0, 500, 5_000, 50_000, 500_000, 10**8)] == [40, 46, 100, 40, 16, 10]


@pytest.mark.parametrize(("minutes", "expected"), [(1, 0.1), (3, 0.2), (30, 0.3)])
def test_few_passes_need_little_dropout(minutes: float, expected: float) -> None:
    """5,000 pairs of 25 tokens at 12,000 tokens a second: time for 3.9, 13.4 and 142 passes, of which 100 are made."""
    made = chosen(5_000, minutes)
    assert made.settings["model"]["dropout"] == expected
    assert ("too few to overfit" in made.reasons["dropout"]) == (expected < 0.3)


def test_little_time_gets_a_smaller_model_and_says_so() -> None:
    made = chosen(500_000, 5)
    assert made.preset == "tiny" and "needs more time" in made.reasons["model"]
    assert "the time allows" in made.reasons["steps"]
    assert "overfit" in chosen(500, 60).reasons["steps"]


def test_a_preset_that_was_asked_for_keeps_its_model() -> None:
    amount = Amount(5_000, 125_000, 60, 250)
    made = planned(amount, 600, lambda *_: 5000.0, given="small")
    assert made.preset == "small" and made.settings["model"] == {} and "asked for" in made.reasons["model"]


def test_a_choice_that_needs_bleu_gets_it() -> None:
    made = chosen(500, 5, train={"best": "bleu"})
    assert made.settings["train"]["bleu"] and "better BLEU" in made.reasons["validation"]
    assert "lower loss" in chosen(500, 5).reasons["validation"]
    assert "better chrF" in chosen(5000, 5).reasons["validation"]
    by_loss = chosen(5000, 5, train={"best": "loss"})
    assert by_loss.settings["train"]["bleu"] and "lower loss" in by_loss.reasons["validation"], "BLEU is still shown"


def test_the_batch_has_room_for_the_longest_text() -> None:
    amount = Amount(500, 500_000, 3000, 50)
    made = planned(amount, 600, lambda *_: 5000.0)
    assert made.settings["train"]["batch_tokens"] > 3000


def test_without_a_validation_set_nothing_asks_for_one() -> None:
    made = planned(Amount(10, 250, 60, 0), 60, lambda *_: 5000.0)
    train = preset(made.preset, **made.settings).train
    assert not train.bleu and train.patience is None and train.best == "loss"


@pytest.mark.parametrize(("seconds", "expected"), [(10, 5), (60, 45.2), (1800, 1646), (36_000, 33_110)])
def test_the_time_of_training_leaves_room_for_the_test(seconds: float, expected: float) -> None:
    assert training_seconds(seconds) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", 90), ("30m", 1800), ("1.5h", 5400), ("1h 30m", 5400), ("2 days", 172_800), ("5 min", 300)],
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "30", "m", "30x", "half an hour", "-5m", "1s", "5m or so"])
def test_no_durations(text: str) -> None:
    with pytest.raises(UserError, match="90s, 30m|at least 10s"):
        seconds(text)


def test_shown() -> None:
    assert [shown(value) for value in (45, 720, 12_600)] == ["45 s", "12 min", "3.5 h"]
