"""Fine-tuning on corrections, mixed with other pairs so that the model forgets nothing; measured before and after."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from regard.api import train
from regard.config.checked import check
from regard.config.data import CorpusConfig, FilterConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.data.prepared import Prepared, RawPair
from regard.engines.engine import Progress, quiet
from regard.errors import Failed, UserError
from regard.evaluate.bleu import Score, bleu
from regard.evaluate.calibration import calibrate_model
from regard.evaluate.validator import translate_sources, validation_pairs
from regard.files import whole_directory, write_bytes
from regard.memory.pair import Pair, plain
from regard.memory.store import Memory
from regard.saved.saved_model import model_folder
from regard.text.subwords import Subwords
from regard.train import checkpoint
from regard.train.final import write_steps
from regard.train.log import Observer
from regard.train.run import CHECKPOINTS
from regard.translate.load import load
from regard.translate.recall import memory_languages
from regard.translate.sentences import one_line
from regard.translate.translator import Options, Translator

WORSE = 0.3  # BLEU points that a tuned model may lose
SHARE = 0.3  # share of corrections in the training data
MOMENTS = 5  # checkpoints of the training, of which the best is kept
MOST_OTHERS = 20_000  # other pairs that corrections are mixed with
MOST_TESTED = 2000  # validation pairs to measure BLEU on; with 500, chance alone moves it by over 0.3
BATCH_TOKENS = 1024
RATE = 5e-5
EPSILON = 1e-4  # Adam's ε; with a small one, noisy gradients make full steps, and the model forgets
TRIES = "tries"  # folder of the compared models
Say = Callable[[str], None]


@dataclass(frozen=True)
class Tuned:
    """The result of tuning: the share of corrections that are reproduced, and BLEU on a test text, before and after."""

    model: str
    corrections: int
    others: int
    """Pairs that the corrections were mixed with."""
    steps: int
    """Updates of the model that is kept: no more than are needed."""
    reproduced_before: float
    reproduced_after: float
    bleu_before: float
    bleu_after: float
    signature: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Try:
    """The model after some steps."""

    step: int
    model: Path
    reproduced: float


def tune(
    model: Path | str,
    memory: Memory,
    out: Path | str,
    *,
    data: Path | str | None = None,
    texts: Sequence[str] | None = None,
    test: Sequence[tuple[str, str]] | None = None,
    target: str | None = None,
    steps: int = 200,
    rate: float = RATE,
    worse: float = WORSE,
    say: Say = lambda _: None,
    progress: Progress = quiet,
    observer: Observer | None = None,
) -> Tuned:
    """Fine-tune a model on the corrections since the last tuning, and write it to `out`/model.

    The corrections are mixed with the pairs of `data`, prepared data that the model was trained on; or with the model's
    own translations of `texts`. `test` are pairs to measure BLEU on; by default the validation set of `data`. Of five
    moments of the training, the one that reproduces the most corrections is kept, of equals the earliest; a model that
    loses more than `worse` BLEU is not written, and the corrections stay to be learned.
    """
    out = Path(out)
    folder = model_folder(model)
    translator = load(folder)
    languages = memory_languages(translator, Options(target=target))
    corrections = memory.corrections(languages)
    if not corrections:
        raise UserError(f"{memory.path}: has no {'-'.join(languages)} corrections since the last tuning; correct first")
    tag = f"<2{languages[1]}>" if translator.source_subwords.language_tags else None
    prepared = None if data is None else Prepared.open(Path(data))
    tested = _tested(prepared, test, tag)
    others = _others(translator, prepared, texts, tag, progress)
    say(f"{len(corrections):,} corrections, mixed with {len(others):,} other pairs")
    before = _reproduced(translator, corrections, tag), _bleu(translator, tested).value
    mixed = _mix(out, folder, translator, corrections, others, tag, languages)
    train(_config(steps, rate), mixed, out / "run", start=folder, fresh=True, observer=observer)
    tries = list(_tries(out, corrections, tag))
    best, score = _best(tries, tested, before[1] - worse)
    lost = before[1] - score.value
    if lost > worse:
        raise Failed(
            f"{out}: the tuned model has {score.value:.2f} BLEU, {lost:.2f} less than before, and is not kept; train "
            f"more gently (--rate {rate / 3:.0e}), or allow it with --worse {lost + 1:.0f}"
        )
    with suppress(UserError):  # a short test text: no confidence is claimed
        calibrate_model(best.model, tested)
    with whole_directory(out / "model", replace=True) as temporary:
        shutil.copytree(best.model, temporary, dirs_exist_ok=True)
    shutil.rmtree(out / TRIES)
    memory.set_tuned(languages, max(pair.id for pair in corrections))
    return Tuned(
        model=str(out / "model"),
        corrections=len(corrections),
        others=len(others),
        steps=best.step,
        reproduced_before=before[0],
        reproduced_after=best.reproduced,
        bleu_before=before[1],
        bleu_after=score.value,
        signature=score.signature,
    )


def _tries(out: Path, corrections: Sequence[Pair], tag: str | None) -> Iterator[_Try]:
    """Yield the checkpoints of the training as models, with the share of the corrections that each reproduces."""
    shutil.rmtree(out / TRIES, ignore_errors=True)
    for step in checkpoint.steps(out / "run" / CHECKPOINTS):
        place = out / TRIES / str(step)
        place.parent.mkdir(exist_ok=True)
        write_steps(out / "run", place, [step], f"model tuned on {len(corrections):,} corrections", lambda _: None)
        yield _Try(step, place, _reproduced(load(place), corrections, tag))


def _best(tries: Sequence[_Try], tested: Sequence[RawPair], least: float) -> tuple[_Try, Score]:
    """Return the model that reproduces the most corrections, of equals the one trained least, and its BLEU.

    One with less than `least` BLEU is taken only if all have less: then it is the one with the most.
    """
    found = []
    for one in sorted(tries, key=lambda one: (-one.reproduced, one.step)):
        score = _bleu(load(one.model), tested)
        found.append((one, score))
        if score.value >= least:
            return found[-1]
    return max(found, key=lambda pair: pair[1].value)


def _config(steps: int, rate: float) -> Config:
    settings = {
        "steps": steps,
        "batch_tokens": BATCH_TOKENS,
        "schedule": "constant",
        "peak_rate": rate,
        "epsilon": EPSILON,
        "warmup": max(1, steps // 10),
        "average_last": 1,
        "keep_last": MOMENTS,
        "checkpoint_every": -(-steps // MOMENTS),
        "log_every": max(1, steps // 10),
    }
    return check(Config, {"train": settings}, "the settings of tuning")


def _tested(data: Prepared | None, test: Sequence[tuple[str, str]] | None, tag: str | None) -> list[RawPair]:
    """Return the pairs to measure BLEU on."""
    if test is not None:
        return [RawPair(source, target, tag) for source, target in test]
    if data is None or data.valid is None or not len(data.valid):
        raise UserError("there is no test text; give --source and --reference, or --data with a validation set")
    own = [pair for pair in validation_pairs(data) if pair.tag == tag]
    return own[:: max(1, -(-len(own) // MOST_TESTED))]


def _others(
    translator: Translator, data: Prepared | None, texts: Sequence[str] | None, tag: str | None, progress: Progress
) -> list[RawPair]:
    """Return other pairs: a sample of the training data, or the model's own translations."""
    if data is not None:
        return _sample(data)
    if not texts:
        raise UserError("corrections alone would make the model forget; give --data, or --text to translate by itself")
    some = [text for text in texts if text.strip()][:MOST_OTHERS]
    found = translator.window(some, Options(target=tag), progress)
    return [RawPair(one_line(one.source), one_line(one.text), tag) for one in found if not one.warnings]


def _sample(data: Prepared) -> list[RawPair]:
    """Return some pairs of the training data as text, spread evenly."""
    source, target = data.source_subwords, data.target_subwords
    assert isinstance(target, Subwords), "a model that translates has subwords"
    tags = {number: name for name in source.tags for number in [source.tag(name)]}
    total = sum(map(len, data.train))
    found = []
    for split in data.train:
        count = max(1, round(MOST_OTHERS * len(split) / total)) if total > MOST_OTHERS else len(split)
        for index in np.linspace(0, len(split) - 1, min(count, len(split))).astype(int).tolist():
            read, written = (ids.tolist() for ids in split.pair(index))
            tag = "".join(tags[number] for number in takewhile(tags.__contains__, read)) or None
            found.append(RawPair(source.decode(read), target.decode(written), tag))
    return found


def _reproduced(translator: Translator, corrections: Sequence[Pair], tag: str | None) -> float:
    """Return the share of corrections that a model gives as its translations."""
    made = translate_sources(translator, [RawPair(pair.source, pair.target, tag) for pair in corrections])
    same = [plain(one) == plain(pair.target) for one, pair in zip(made, corrections, strict=True)]
    return sum(same) / len(same)


def _bleu(translator: Translator, tested: Sequence[RawPair]) -> Score:
    return bleu(translate_sources(translator, tested), [[pair.target for pair in tested]])


def _mix(
    out: Path,
    folder: Path,
    translator: Translator,
    corrections: Sequence[Pair],
    others: Sequence[RawPair],
    tag: str | None,
    languages: tuple[str, str],
) -> Path:
    """Prepare corrections and other pairs as training data, and return its folder."""
    out.mkdir(parents=True, exist_ok=True)
    own = [RawPair(pair.source, pair.target, tag) for pair in corrections]
    weight = max(1.0, SHARE / (1 - SHARE) * len(others) / len(own))
    corpora = [_corpus(out / "corrections.tsv", own, tag, weight)]
    for number, one in enumerate(dict.fromkeys(pair.tag for pair in others)):
        some = [pair for pair in others if pair.tag == one]
        corpora.append(_corpus(out / f"others-{number}.tsv", some, one, 1.0))
    config = PrepareConfig(
        subwords_from=str(folder),
        form=translator.form,
        source_language=languages[0],
        target_language=languages[1],
        filters=FilterConfig(max_ratio=None, identical=True, duplicates=True),
    )
    shutil.rmtree(out / "data", ignore_errors=True)
    prepare(corpora, [], out / "data", config, cores=1)
    return out / "data"


def _corpus(path: Path, pairs: Sequence[RawPair], tag: str | None, weight: float) -> CorpusConfig:
    lines = (f"{_line(pair.source)}\t{_line(pair.target)}\n" for pair in pairs)
    write_bytes(path, "".join(lines).encode())
    return CorpusConfig(files=(str(path),), tag=tag, weight=weight)


def _line(text: str) -> str:
    return " ".join(text.split())
