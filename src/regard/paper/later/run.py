"""Train and measure the models of the plan, each in the folder of an ordinary run; finished runs are skipped."""

import fcntl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from regard.code_version import MEASURING, code_version
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import Failed, Interrupted
from regard.evaluate.bleu import bleu
from regard.evaluate.labels import score_labels
from regard.evaluate.perplexity import perplexity, score_texts
from regard.files import read_json, write_json
from regard.model.cost import cost
from regard.paper.experiment import Sample, Warn, Watch, check_code, merged, progress, train_to_the_end
from regard.paper.later.listops import write_listops
from regard.paper.later.plan import (
    AnyRun,
    Later,
    ListOps,
    ListOpsRun,
    TranslationRun,
    Writing,
    configuration,
    runs_of,
)
from regard.saved.folder import load_model
from regard.train.fine_tuning import fine_tuned, starting_weights
from regard.train.interrupt import listening
from regard.train.run import MODEL, fingerprint, settle
from regard.translate.load import load, load_classifier
from regard.translate.translator import Options, Translator

FIGURES = "later.json"
Figures = dict[str, Any]


class LaterExperiment(NamedTuple):
    """The plan, data, test sample and folders that all runs of an experiment share."""

    plan: Later
    data: Prepared
    distilled: Prepared | None
    """The same sources with another model's translations, for the rows that ask for it."""
    sample: Sample
    out: Path
    watch: Watch
    warn: Warn


def run_later(experiment: LaterExperiment, runs: Sequence[AnyRun]) -> None:
    """Train and measure runs, one after the other, except those that have figures."""
    for number, run in enumerate(runs):
        needed = any(isinstance(one, TranslationRun) and one.start == run.name for one in runs[number + 1 :])
        try:
            if isinstance(run, ListOpsRun):
                _run_listops(experiment, run)
            elif run.row.distilled and experiment.distilled is None:
                experiment.warn(
                    f"{run.name}: needs --distilled, the data with another model's translations; it is left out"
                )
            else:
                _run_translation(experiment, run, needed=needed)
        except Failed as failure:
            experiment.warn(f"{run.name}: {failure}")


def finished(plan: Later, folder: Path) -> list[Figures]:
    """Return the figures of a plan's runs that a folder has, as FOLDER/RUN/later.json or as FOLDER/RUN.json."""
    paths = [path for run in runs_of(plan) for path in (folder / run.name / FIGURES, folder / f"{run.name}.json")]
    return [read_json(path) for path in paths if path.exists()]


def _known(path: Path, described: Figures, warn: Warn) -> bool:
    """Return whether there are figures of the same settings, data, sample and code."""
    if not path.exists():
        return False
    figures: Figures = read_json(path)
    same = all(figures.get(key) == value for key, value in described.items() if key != "code")
    if same and figures.get("code") != described["code"]:
        warn(f"{path}: figures of other code ({figures.get('code')}; this is {described['code']}) are passed over")
    return same and figures.get("code") == described["code"]


def _run_translation(experiment: LaterExperiment, run: TranslationRun, *, needed: bool) -> None:
    """Train and measure a row. If it is `needed`, its model must exist, too, and not only its figures."""
    row, folder = run.row, experiment.out / run.name
    data = experiment.distilled if row.distilled and experiment.distilled is not None else experiment.data
    config, weights = configuration(experiment.plan, row, run.seed, data), None
    if run.start is not None:
        start = experiment.out / run.start / MODEL
        saved = load_model(start)
        changes = merged(experiment.plan.set, row.set).get("model", {})
        config = settle(fine_tuned(config, saved, start, changes), data)
        weights = starting_weights(config, saved)
    described: Figures = {
        "row": row.name,
        "seed": run.seed,
        "sample": experiment.sample.checksum,
        "data": fingerprint(data.directory),
        "code": code_version(MEASURING),
        "config": config.model_dump(mode="json", exclude={"data"}),
    }
    if _known(folder / FIGURES, described, experiment.warn) and ((folder / MODEL).exists() or not needed):
        return
    (folder / FIGURES).unlink(missing_ok=True)  # they may be all that the folder has
    with experiment.watch(run.name, config.train.steps, folder) as observer:
        last = train_to_the_end(config, data, folder, observer, weights=weights)
    translator = load(folder / MODEL, engine="torch")
    figures: Figures = {
        "parameters": cost(config.model).parameters,
        "steps": last["step"],
        "tokens_per_cpu_second": round(last["tokens"] / last["cpu_seconds"], 1),
        "perplexity": _perplexity(translator, experiment.sample),
        "writings": [_written(translator, experiment.sample, writing) for writing in row.writings],
    }
    write_json(folder / FIGURES, {**described, **figures})


def _perplexity(translator: Translator, sample: Sample) -> float:
    sources, targets = [pair.source for pair in sample.pairs], [pair.target for pair in sample.pairs]
    return perplexity(score_texts(translator, sources, targets))


def _written(translator: Translator, sample: Sample, writing: Writing) -> Figures:
    """Translate the sample in one way; return BLEU, tokens per CPU-second, and sequential steps a sentence."""
    options = Options(beam=writing.beam, decoding=writing.decoding, iterations=writing.iterations, split=False)
    started = process_time()
    found = translator.window([pair.source for pair in sample.pairs], options)
    seconds = process_time() - started
    best = [sentence.outputs[0].hypothesis for one in found for sentence in one.sentences if sentence.outputs]
    tokens = sum(len(one.tokens) + 1 for one in best)
    steps = sum(max(one.steps) if one.steps else len(one.tokens) + 1 for one in best)
    score = bleu([one.text for one in found], [[pair.target for pair in sample.pairs]])
    return {
        "writing": writing.name,
        "bleu": score.value,
        "signature": score.signature,
        "tokens_per_cpu_second": round(tokens / seconds, 1),
        "steps_a_sentence": round(steps / max(1, len(best)), 3),
        "tokens_a_step": round(tokens / max(1, steps), 3),
    }


def _run_listops(experiment: LaterExperiment, run: ListOpsRun) -> None:
    """Train a model on expressions of a length, in a process of its own, whose memory is measured."""
    plan, folder = experiment.plan.listops, experiment.out / run.name
    assert plan is not None
    steps = plan.steps(run.length)
    train = {"steps": steps, "seed": run.seed, "batch_tokens": plan.batch_tokens(run.length)}
    own = merged(plan.set, {"model": plan.mixings[run.model], "train": train})
    # An expression has as many tokens as symbols, and EOS.
    least = {"model": {"max_length": 2 * run.length}}
    settings = [
        f"{section}.{key}={_toml(value)}"
        for section, values in merged(least, own).items()
        for key, value in values.items()
    ]
    described: Figures = {
        "model": run.model,
        "length": run.length,
        "seed": run.seed,
        "texts": [plan.train, plan.test],
        "settings": settings,
        "code": code_version(MEASURING),
    }
    if _known(folder / FIGURES, described, experiment.warn):
        return
    (folder / FIGURES).unlink(missing_ok=True)
    check_code(folder)
    data, test = _expressions(plan, run, experiment.out / run.data)
    command = [sys.executable, "-m", "regard", "train", "--preset", "tiny", "--data", str(data), "--out", str(folder)]
    command += [part for setting in settings for part in ("--set", setting)]
    with experiment.watch(run.name, steps, folder):
        _alone(command, folder)
    classifier = load_classifier(folder / MODEL)
    classifier.most_tokens = 4 * run.length  # read to the end
    texts, right = zip(*(line.split("\t") for line in test.read_text(encoding="utf-8").splitlines()), strict=True)
    scores = score_labels([one.label for one in classifier.classify(texts)], right)
    last = progress(folder)[-1]
    figures: Figures = {
        "parameters": cost(classifier.saved.config).parameters,
        "accuracy": scores.accuracy,
        "tokens_per_cpu_second": round(last["tokens"] / last["cpu_seconds"], 1),
        "memory_mb": last["memory_mb"],
    }
    write_json(folder / FIGURES, {**described, **figures})


def _expressions(plan: ListOps, run: ListOpsRun, folder: Path) -> tuple[Path, Path]:
    """Return prepared data and the test file, written by the first of the processes that need them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        train, test = write_listops(folder, run.seed, run.length, plan.train, plan.test)
        if not (folder / "data").exists():
            files = [CorpusConfig(files=(str(path),)) for path in (train, test)]
            prepare(files[:1], files[1:], folder / "data", PrepareConfig(task="labels"))
    return folder / "data", test


def _alone(command: Sequence[str], folder: Path) -> None:
    """Run a command in a process of its own; a signal to stop is passed on."""
    with listening() as asked, subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        while True:
            try:
                _, said = process.communicate(timeout=1)
                break
            except subprocess.TimeoutExpired:
                if asked:
                    process.terminate()
    if asked:
        raise Interrupted(f"{folder}: stopped with everything saved; run the same command again to go on", asked.code)
    if process.returncode:
        raise Failed(said.strip().splitlines()[-1] if said.strip() else f"exit code {process.returncode}")


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked_configs(plan: Later, data: Prepared) -> dict[str, Config]:
    """Return the settings of all rows but those that give heads, so that a mistake in the plan is found at once."""
    rows = (row for row in plan.rows if row.heads_for is None)
    return {row.name: configuration(plan, row, row.seeds[0], data) for row in rows}
