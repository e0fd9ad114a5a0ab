"""What a person is told of a validation."""

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress

from regard.cli.watch import Plain, Terminal

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
        Terminal(progress, task, None).record(VALIDATION)
        assert progress.tasks[0].description.strip() == "validation 7.39 perplexity, 31.42 BLEU"
        assert progress.tasks[0].completed == 40
