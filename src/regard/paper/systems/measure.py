"""Measure a trained system: BLEU with intervals, by length, and the operations of its training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from regard.code_version import MEASURING, code_version
from regard.config.checked import Frozen, check
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.evaluate.bleu import bleu, metric
from regard.evaluate.validator import translate_sources
from regard.files import read_json, write_bytes, write_json
from regard.model.cost import cost
from regard.paper.experiment import Sample, Warn, of_this_code
from regard.paper.table2 import mean_lengths
from regard.train.log import Record
from regard.train.run import fingerprint
from regard.translate.load import load

GROUPS, FEWEST = 4, 200  # groups of sentences by length, and the fewest sentences of one
SAMPLES = 1000  # of the bootstrap
Bounds = tuple[float, float]


class LengthGroup(Frozen):
    """The BLEU of the sentences of similar lengths."""

    words: str
    sentences: int
    bleu: float
    interval: Bounds


class Tested(Frozen):
    """The figures of one trained model, or of an ensemble."""

    rate: float
    step: int
    tokens: int
    """Source and target tokens seen in training, those of a refined model before it included."""
    cpu_seconds: float
    parameters: int
    flops: float
    """Operations of training."""
    bleu: float
    interval: Bounds
    """95 % interval of BLEU, by bootstrap over the sentences."""
    signature: str
    by_length: tuple[LengthGroup, ...]
    measured_on: str
    sample: str
    """Checksum of the sample."""
    settings: dict[str, Any]
    data: str
    """Checksum of the data's manifest."""
    code: str


def measured(models: Sequence[Path], sample: Sample) -> tuple[list[str], dict[str, Any]]:
    """Translate the sample with a model or an ensemble; return the lines and the figures of BLEU."""
    lines = translate_sources(load(*models), sample.pairs)
    references = [pair.target for pair in sample.pairs]
    score = bleu(lines, [references])
    figures = {
        "bleu": score.value,
        "interval": bleu_interval(lines, references),
        "signature": score.signature,
        "by_length": length_groups([pair.source for pair in sample.pairs], lines, references),
        "measured_on": sample.name,
        "sample": sample.checksum,
        "code": code_version(MEASURING),
    }
    return lines, figures


def bleu_interval(lines: Sequence[str], references: Sequence[str]) -> Bounds:
    """Return the 95 % interval of BLEU by bootstrap: sentences are drawn again, with replacement (Koehn, 2004)."""
    measure: BLEU = metric()
    statistics = np.array(measure._extract_corpus_statistics(lines, [references]))
    random = np.random.default_rng(0)
    scores = []
    for _ in range(SAMPLES):
        drawn = random.integers(len(statistics), size=len(statistics))
        scores.append(measure._compute_score_from_stats(statistics[drawn].sum(0).tolist()).score)
    low, high = np.percentile(scores, (2.5, 97.5)).tolist()
    return low, high


def length_groups(sources: Sequence[str], lines: Sequence[str], references: Sequence[str]) -> tuple[LengthGroup, ...]:
    """Return the BLEU of up to four groups of equally many sentences, by the words of the source."""
    words = [len(source.split()) for source in sources]
    order = sorted(range(len(words)), key=words.__getitem__)
    count = max(1, min(GROUPS, len(order) // FEWEST))
    groups = []
    for rows in (order[len(order) * i // count : len(order) * (i + 1) // count] for i in range(count)):
        some, wanted = ([texts[row] for row in rows] for texts in (lines, references))
        groups.append(
            LengthGroup(
                words=f"{words[rows[0]]}-{words[rows[-1]]}",
                sentences=len(rows),
                bleu=bleu(some, [wanted]).value,
                interval=bleu_interval(some, wanted),
            )
        )
    return tuple(groups)


def training_flops(config: Config, data: Prepared, tokens: int) -> float:
    """Return the operations of training: three forward passes over all tokens, for pairs of mean length.

    For the objective `reward` each sample is drawn in a forward pass, and then takes three more.
    """
    per_pair = cost(config.model, *mean_lengths(data))
    passes = 1.0 if config.train.objective == "likelihood" else 1.0 + config.train.samples * 4 / 3
    return passes * per_pair.training_flops * tokens / (per_pair.source_tokens + per_pair.target_tokens)


def known_tested(path: Path, config: Config, data: Prepared, sample: Sample, warn: Warn) -> Tested | None:
    """Return the figures at `path` if settings, data, sample and code version match."""
    if not path.exists():
        return None
    tested = check(Tested, read_json(path), str(path))
    same = tested.settings == run_settings(config) and tested.data == fingerprint(data.directory)
    if not same or tested.sample != sample.checksum:
        return None
    return tested if of_this_code(path, tested.code, warn) else None


def run_settings(config: Config) -> dict[str, Any]:
    """Return the settings that identify a run, without the folder of its data and its last step."""
    values = config.model_dump(mode="json", exclude={"data", "start"})
    values["train"].pop("steps")
    return values


def keep_tested(path: Path, tested: Tested, lines: Sequence[str]) -> None:
    """Write the figures, and the translations beside them."""
    write_bytes(path.with_suffix(".txt"), "".join(f"{line}\n" for line in lines).encode())
    write_json(path, tested.model_dump(mode="json"))


def kept_lines(path: Path) -> list[str]:
    """Return the translations beside figures."""
    return path.with_suffix(".txt").read_text(encoding="utf-8").split("\n")[:-1]


def tested_run(
    model: Path, config: Config, data: Prepared, sample: Sample, last: Record, before: Tested | None = None
) -> tuple[Tested, list[str]]:
    """Measure a run's model; `before` are the figures of the model that it refined."""
    lines, figures = measured([model], sample)
    tokens = last["tokens"]
    assert config.train.peak_rate is not None
    tested = Tested(
        rate=config.train.peak_rate,
        step=last["step"],
        tokens=tokens + (before.tokens if before else 0),
        cpu_seconds=last["cpu_seconds"] + (before.cpu_seconds if before else 0.0),
        parameters=cost(config.model).parameters,
        flops=training_flops(config, data, tokens) + (before.flops if before else 0.0),
        settings=run_settings(config),
        data=fingerprint(data.directory),
        **figures,
    )
    return tested, lines
