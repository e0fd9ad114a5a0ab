"""`regard demo`: a first look. Trains a small model from nothing on numbers as people write them, and tries it."""

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.data.prepared import Prepared
    from regard.model.seq2seq import Seq2Seq

ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
GERMAN = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
).split()
ZEHNER = "null zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
KOREAN = "영일이삼사오육칠팔구"
HELD_OUT = 500
SHOWN = (407, 1984, 2718, 5063, 9999)


def english(number: int) -> str:
    if number >= 1000:
        return f"{english(number // 1000)} thousand" + (f" {english(number % 1000)}" if number % 1000 else "")
    if number >= 100:
        return f"{ENGLISH[number // 100]} hundred" + (f" and {english(number % 100)}" if number % 100 else "")
    if number < 20:
        return ENGLISH[number]
    return TENS[number // 10] + (f"-{ENGLISH[number % 10]}" if number % 10 else "")


def german(number: int) -> str:
    if number >= 1000:
        return f"{german(number // 1000)}tausend" + (german(number % 1000) if number % 1000 else "")
    if number >= 100:
        return f"{GERMAN[number // 100]}hundert" + (german(number % 100) if number % 100 else "")
    if number < 20:
        return GERMAN[number]
    return (f"{GERMAN[number % 10]}und" if number % 10 else "") + ZEHNER[number // 10]


def korean(number: int) -> str:
    written = ""
    for unit, name in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
        digit = number // unit % 10
        if digit:
            written += (KOREAN[digit] if digit > 1 or not name else "") + name
    return written or KOREAN[0]


LANGUAGES: tuple[Callable[[int], str], ...] = (english, german, korean)


def demo(
    out: Annotated[Path | None, typer.Option(help="Keep data and run here; by default they are removed.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 1500,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a small model from nothing: numbers in words, in three languages, to figures. Takes a minute or two."""
    started = perf_counter()
    with tempfile.TemporaryDirectory(prefix="regard-demo-") as temporary:
        folder = Path(temporary) if out is None else out
        folder.mkdir(parents=True, exist_ok=True)
        figures = _demo(folder, steps)
    figures["seconds"] = round(perf_counter() - started, 1)
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    typer.echo("\nNumbers the model never saw in training:\n")
    for written, answer in figures["examples"].items():
        typer.echo(f"  {written:45} {answer}")
    share, count, seconds = figures["exact_match"], figures["held_out"], figures["seconds"]
    typer.echo(f"\n{share:.1%} of {count} held-out numbers exactly right, after {seconds:.0f} s.")
    typer.echo("\nYour own texts next:\n")
    typer.echo("  regard prepare --train train.en train.de --valid val.en val.de --vocabulary 8000 --out data/mine")
    typer.echo("  regard train --preset tiny --data data/mine --out runs/first")
    typer.echo("  regard model base")


def _demo(folder: Path, steps: int) -> dict[str, Any]:
    from regard.config import Config, CorpusConfig, ModelConfig, PrepareConfig, TrainConfig
    from regard.data.prepare import prepare
    from regard.data.prepared import Prepared

    held_out = _write(folder)
    corpora = {
        name: [CorpusConfig(files=(str(folder / f"{name}.words"), str(folder / f"{name}.figures")))]
        for name in ("train", "valid")
    }
    settings = PrepareConfig(vocabulary=400, source_language="words", target_language="figures")
    prepare(corpora["train"], corpora["valid"], folder / "data", settings, force=True)
    data = Prepared.open(folder / "data")

    import torch

    from regard.cli.watch import watch
    from regard.model.saved import load_model
    from regard.train.loop import train
    from regard.train.run import settle

    torch.set_num_threads(1)  # so small a model gains nothing from a second one
    every = max(1, steps // 6)
    config = Config(
        model=ModelConfig(encoder_layers=2, decoder_layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0),
        train=TrainConfig(
            steps=steps, batch_tokens=1200, schedule="cosine", peak_rate=0.004, warmup=max(1, steps // 10),
            label_smoothing=0.0, checkpoint_every=every, log_every=every, average_last=1, beta2=0.99,
        ),
    )  # fmt: skip
    some = held_out[:90]

    def validator(model: "Seq2Seq") -> dict[str, float]:
        return {"exact_match": _exact_match(model, data, some)}

    with watch(steps, folder / "run", tensorboard=False) as observer:
        path = train(settle(config, data), data, folder / "run", validator=validator, observer=observer, fresh=True)
    model = load_model(path).model
    shown = [language(number) for number in SHOWN for language in LANGUAGES]
    examples = dict(zip(shown, _answers(model, data, shown), strict=True))
    return {"exact_match": _exact_match(model, data, held_out), "held_out": len(held_out), "examples": examples}


def _write(folder: Path) -> list[tuple[str, str]]:
    """Numbers below 10,000 in words and in figures, but for some that are held out; returns those."""
    numbers = [number for number in range(10_000) if number not in SHOWN]
    random.Random(1).shuffle(numbers)  # noqa: S311 # nothing is secret here
    held_out = [(LANGUAGES[n % 3](number), str(number)) for n, number in enumerate(numbers[:HELD_OUT])]
    train = [(language(number), str(number)) for number in numbers[HELD_OUT:4000] for language in LANGUAGES]
    for name, pairs in (("train", train), ("valid", held_out)):
        (folder / f"{name}.words").write_text("".join(f"{words}\n" for words, _ in pairs), encoding="utf-8")
        (folder / f"{name}.figures").write_text("".join(f"{figures}\n" for _, figures in pairs), encoding="utf-8")
    return held_out


def _answers(model: "Seq2Seq", data: "Prepared", texts: list[str]) -> list[str]:
    import torch

    from regard.config import EOS, PAD, DecodeConfig
    from regard.decode.greedy import greedy_search

    rows = [[*ids, EOS] for ids in data.source_subwords.encode(texts)]
    longest = max(map(len, rows))
    source_BS = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    found = greedy_search(model, source_BS, DecodeConfig(extra_length=5))
    return [data.target_subwords.decode(hypothesis.tokens) for hypothesis in found]


def _exact_match(model: "Seq2Seq", data: "Prepared", pairs: list[tuple[str, str]]) -> float:
    answers = _answers(model, data, [words for words, _ in pairs])
    return sum(answer == figures for answer, (_, figures) in zip(answers, pairs, strict=True)) / len(pairs)
