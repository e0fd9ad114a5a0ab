"""The demo's training: train a small Transformer on dates from scratch, and test it on held-out ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.config.train import TrainConfig
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.demo.dates import LANGUAGES, DateExample, DateTask
from regard.errors import Interrupted, UserError
from regard.files import write_bytes
from regard.model.seq2seq import Seq2Seq
from regard.saved.saved_model import SavedModel
from regard.train.log import Observer, records
from regard.train.loop import train
from regard.train.run import LOG, settle, subword_files
from regard.translate.alignment import cross_attention
from regard.translate.load import live, load
from regard.translate.translator import Options, Translator
from regard.translate.words import MARK

VALIDATIONS = 20
MARK_OF_A_DEMO = ".regard-demo"  # only a folder with this file is overwritten
WHOLE = Options(beam=1, split=False)  # a full stop after the day does not end a sentence

Points = list[tuple[int, float]]


@dataclass(frozen=True)
class Answered:
    """An example and the model's output."""

    example: DateExample
    answer: str

    @property
    def right(self) -> bool:
        return self.answer == self.example.iso


def learn(task: DateTask, folder: Path, steps: int, observer: Observer) -> Translator:
    """Prepare the task's examples and train on them in `folder`, from scratch."""
    data = _prepared(task, folder)
    torch.set_num_threads(1)  # a second thread does not help so small a model
    every = max(10, steps // VALIDATIONS)
    config = settle(
        Config(
            model=model_config(encoder_layers=2, decoder_layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0),
            train=TrainConfig(
                steps=steps, batch_tokens=1500, schedule="cosine", peak_rate=0.004, warmup=max(1, steps // 10),
                label_smoothing=0.0, beta2=0.99, average_last=1, keep_last=1, checkpoint_every=every,
                log_every=every // 2,
            ),
            decode=DecodeConfig(extra_length=5),
        ),
        data,
    )  # fmt: skip

    def validator(model: Seq2Seq) -> dict[str, float]:
        saved = SavedModel.of_run(config, subword_files(data), data.languages, data.config.form).with_model(model)
        return {"exact_match": exact_match(answers(live(saved), task.dates))}

    try:
        return load(train(config, data, folder / "run", validator=validator, observer=observer, fresh=True))
    except Interrupted as stopped:
        raise Interrupted("the demo was stopped; it begins anew when it is run again", stopped.code) from None


def _prepared(task: DateTask, folder: Path) -> Prepared:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK_OF_A_DEMO).exists():
        raise UserError(f"{folder}: has files in it, and is no earlier demo; choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / MARK_OF_A_DEMO, b"")
    train, valid = (_written(folder, *named) for named in (("train", task.train), ("valid", task.dates)))
    settings = PrepareConfig(vocabulary=500, source_language="written", target_language="iso")
    prepare([train], [valid], folder / "data", settings, force=True)
    return Prepared.open(folder / "data")


def _written(folder: Path, name: str, examples: Sequence[DateExample]) -> CorpusConfig:
    path = folder / f"{name}.tsv"
    write_bytes(path, "".join(f"{example.text}\t{example.iso}\n" for example in examples).encode())
    return CorpusConfig(files=(str(path),))


def answers(translator: Translator, examples: Sequence[DateExample]) -> list[Answered]:
    texts = translator.translate([example.text for example in examples], WHOLE)
    return [Answered(example, text) for example, text in zip(examples, texts, strict=True)]


def exact_match(answered: Sequence[Answered]) -> float:
    """Return the share of exactly correct answers."""
    return sum(one.right for one in answered) / len(answered)


def by_language(answered: Sequence[Answered]) -> dict[str, float]:
    return {
        language: exact_match([one for one in answered if one.example.language == language]) for language in LANGUAGES
    }


def curves(folder: Path) -> tuple[Points, Points]:
    """Return training loss and exact match on held-out dates by step, from the run's log."""
    log = list(records(folder / "run" / LOG))
    loss = [(record["step"], record["loss"]) for record in log if record["event"] == "train"]
    return loss, [(record["step"], record["exact_match"]) for record in log if record["event"] == "validation"]


@dataclass(frozen=True)
class Drawn:
    """Attention from each token of an answer to the source tokens."""

    source: list[str]
    target: list[str]
    weights_TS: list[list[float]]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the source token with the largest weight for each target token."""
        return [(max(range(len(row)), key=row.__getitem__), number) for number, row in enumerate(self.weights_TS)]


def drawn(translator: Translator, text: str) -> Drawn:
    """Translate a text, and return its cross-attention."""
    source, target = translator.source_subwords, translator.target_subwords
    read = source.encode([text])[0]
    wrote = translator.window([text], WHOLE)[0].sentences[0].outputs[0].hypothesis.tokens
    weights_TS = cross_attention(translator.model, read, wrote)
    seen, written = source.pieces(read), target.pieces(wrote)
    before, above = int(seen[:1] == [MARK]), int(written[:1] == [MARK])  # drop the space that begins every text
    return Drawn(
        [*(piece.replace(MARK, "␣") for piece in seen[before:]), "end"],
        [piece.replace(MARK, "␣") for piece in written[above:]],
        weights_TS[above:, before:].tolist(),
    )
