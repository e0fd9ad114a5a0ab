"""What a person is told of a validation."""

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress

from regard.cli.terminal.watch import Clock, Plain, Terminal

VALIDATION = {
    "step": 40, "event": "validation", "loss": 2.5, "nll": 2.0, "perplexity": 7.389, "best": True,
    "bleu": 31.4159, "bleu_signature": "nrefs:1|case:mixed",
}  # fmt: skip


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Plain(100, None).record(VALIDATION)
    said = capsys.readouterr().err
    assert said == "step 40/100: validation  loss 2.5  nll 2  perplexity 7.389  bleu 31.42\n"


def test_a_terminal_keeps_the_last_validation_in_sight() -> None:
    with Progress(console=Console(file=StringIO())) as progress:
        task = progress.add_task("", total=100)
        Terminal(progress, task, None, Clock(100, 10)).record(VALIDATION)
        assert progress.tasks[0].description.strip() == "validation 7.39 perplexity, 31.42 BLEU"
        assert progress.tasks[0].completed == 40


def test_the_time_left_includes_validations() -> None:
    """Steps of 2 seconds, a validation of 30 every 10 steps: at step 20 of 40 two are to come, and the mean's."""
    clock = [0.0]
    one = Clock(40, 10, lambda: clock[0])
    assert one.left(0) is None
    for step in range(1, 21):
        clock[0] += 2.0
        one.step()
        if step % 10 == 0:
            one.phase("validating")
            clock[0] += 20.0
            one.phase("saving")
            clock[0] += 10.0
            one.phase("training")
    assert one.left(20) == pytest.approx(20 * 2.0 + 3 * 30.0)


def test_time_left_of_a_run_that_ends_by_the_clock() -> None:
    clock = [100.0]
    one = Clock(1000, 500, lambda: clock[0], limit=60.0)
    for _ in range(3):
        clock[0] += 1.0
        one.step()
    assert one.left(3) == pytest.approx(57.0), "and not the 997 seconds that the steps would take"
    clock[0] = 300.0
    assert one.left(3) == 0.0
    assert Clock(5, 500, lambda: clock[0], limit=60.0).left(0) is None


def test_a_terminal_says_what_is_done_now() -> None:
    with Progress(console=Console(file=StringIO())) as progress:
        terminal = Terminal(progress, progress.add_task("", total=100, left=""), None, Clock(100, 10))
        terminal.phase("translating the validation set")
        assert progress.tasks[0].description.startswith("translating the validation set …")
        terminal.phase("training")
        assert "translating" not in progress.tasks[0].description
