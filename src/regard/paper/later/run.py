"""Train and measure the models of the plan, each in the folder of an ordinary run; what is done is not done again."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from regard.config.checked import nearest
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import Failed, UserError
from regard.evaluate.bleu import bleu
from regard.evaluate.labels import score_labels
from regard.evaluate.perplexity import perplexity, score_texts
from regard.files import read_json, write_json
from regard.model.cost import cost
from regard.paper.experiment import Sample, Warn, Watch, merged, train_to_the_end
from regard.paper.later.listops import write_listops
from regard.paper.later.plan import Later, LaterRow, ListOps, Writing, configuration
from regard.saved.folder import load_model
from regard.train.fine_tuning import fine_tuned, starting_weights
from regard.train.log import records
from regard.train.run import LOG, MODEL, settle
from regard.translate.load import load, load_classifier
from regard.translate.translator import Options, Translator

FIGURES = "later.json"
Figures = dict[str, Any]


def chosen_rows(plan: Later, wanted: Sequence[str]) -> list[LaterRow]:
    """Return the wanted rows, or all if none is named, and those that they give heads to, in order."""
    names = [row.name for row in plan.rows]
    for name in wanted:
        if name not in names:
            raise UserError(f"no row here is called {name!r}{nearest(name, names)}; there are {', '.join(names)}")
    needed = set(wanted or names)
    needed |= {row.heads_for for row in plan.rows if row.name in needed and row.heads_for is not None}
    return [row for row in plan.rows if row.name in needed]


def run_translation(
    plan: Later,
    rows: Sequence[LaterRow],
    data: Prepared,
    distilled: Prepared | None,
    sample: Sample,
    out: Path,
    watch: Watch,
    warn: Warn,
) -> list[Figures]:
    """Return the figures of each row and seed."""
    found: list[Figures] = []
    for row in rows:
        if row.distilled and distilled is None:
            warn(f"{row.name}: needs --distilled, the data with another model's translations; it is left out")
            continue
        own = distilled if row.distilled and distilled is not None else data
        for seed in row.seeds:
            run = out / f"{row.name}-{seed}"
            try:
                found.append(_run_row(plan, row, seed, own, sample, run, out, watch))
            except Failed as failure:
                warn(f"{row.name}: {failure}")
    return found


def _run_row(
    plan: Later, row: LaterRow, seed: int, data: Prepared, sample: Sample, run: Path, out: Path, watch: Watch
) -> Figures:
    config, weights = configuration(plan, row, seed, data), None
    if row.heads_for is not None:
        start = out / f"{row.heads_for}-{seed}" / MODEL
        saved = load_model(start)
        changes = merged(plan.set, row.set).get("model", {})
        config = settle(fine_tuned(config, saved, start, changes), data)
        weights = starting_weights(config, saved)
    described = config.model_dump(mode="json", exclude={"data"})
    if (run / FIGURES).exists():
        known: Figures = read_json(run / FIGURES)
        if known.get("config") == described and known.get("sample") == sample.checksum:
            return known
    with watch(f"{row.name}, seed {seed}", config.train.steps, run) as observer:
        last = train_to_the_end(config, data, run, observer, weights=weights)
    translator = load(run / MODEL, engine="torch")
    figures: Figures = {
        "row": row.name,
        "seed": seed,
        "parameters": cost(config.model).parameters,
        "steps": last["step"],
        "tokens_per_second": round(last["tokens"] / last["seconds"], 1),
        "perplexity": _perplexity(translator, sample),
        "writings": [_written(translator, sample, writing) for writing in row.writings],
        "sample": sample.checksum,
        "config": described,
    }
    write_json(run / FIGURES, figures)
    return figures


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


def run_listops(plan: ListOps, out: Path, warn: Warn) -> list[Figures]:
    """Train every model on expressions of every length, each in a process of its own, whose memory is measured."""
    found: list[Figures] = []
    for most in plan.lengths:
        for seed in plan.seeds:
            folder = out / f"listops-{most}-{seed}"
            train, test = write_listops(folder, seed, most, plan.train, plan.test)
            data = folder / "data"
            if not data.exists():
                files = [CorpusConfig(files=(str(path),)) for path in (train, test)]
                prepare(files[:1], files[1:], data, PrepareConfig(task="labels"))
            for name, settings in plan.mixings.items():
                try:
                    found.append(_listops_row(plan, name, settings, most, seed, data, test, folder / name))
                except Failed as failure:
                    warn(f"{name} at {most} tokens: {failure}")
    return found


def _listops_row(
    plan: ListOps, name: str, settings: dict[str, Any], most: int, seed: int, data: Path, test: Path, run: Path
) -> Figures:
    if (run / FIGURES).exists():
        known: Figures = read_json(run / FIGURES)
        return known
    own = merged(plan.set, {"model": settings, "train": {"steps": plan.steps, "seed": seed}})
    # An expression has as many tokens as symbols, and EOS; a batch has at least 8 of the longest.
    own = merged({"model": {"max_length": 2 * most}, "train": {"batch_tokens": max(4096, 8 * most)}}, own)
    assignments = [
        f"{section}.{key}={_toml(value)}" for section, values in own.items() for key, value in values.items()
    ]
    command = [sys.executable, "-m", "regard", "train", "--preset", "tiny", "--data", str(data), "--out", str(run)]
    command += [part for assignment in assignments for part in ("--set", assignment)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  # our own words
    if done.returncode:
        raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    classifier = load_classifier(run / MODEL)
    lines = [line.split("\t") for line in test.read_text(encoding="utf-8").splitlines()]
    classifier.most_tokens = 4 * most  # read to the end
    scores = score_labels(
        [one.label for one in classifier.classify([text for text, _ in lines])], [x for _, x in lines]
    )
    last = [record for record in records(run / LOG) if record.get("event") == "train"][-1]
    figures: Figures = {
        "model": name,
        "length": most,
        "seed": seed,
        "parameters": cost(classifier.saved.config).parameters,
        "accuracy": scores.accuracy,
        "tokens_per_second": round(last["tokens"] / last["seconds"], 1),
        "memory_mb": last["memory_mb"],
    }
    write_json(run / FIGURES, figures)
    return figures


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked_configs(plan: Later, data: Prepared) -> dict[str, Config]:
    """Return the settings of all rows but those that give heads, so that a mistake in the plan is found at once."""
    rows = (row for row in plan.rows if row.heads_for is None)
    return {row.name: configuration(plan, row, row.seeds[0], data) for row in rows}
