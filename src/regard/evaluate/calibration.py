"""Calibration of confidence: fit a prediction of the chrF of a model's translations of a validation set."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF

from regard.data.prepared import RawPair
from regard.engines.engine import Progress, quiet
from regard.errors import UserError
from regard.saved.calibration import FEATURES, Calibration, write_calibration
from regard.translate.confidence import WORD, features
from regard.translate.load import load
from regard.translate.translator import Options, Translator

LEAST_PAIRS = 100
MOST_PAIRS = 2000
FOLDS = 5
RIDGE = 1e-3  # of the weights, a pair
Array = NDArray[np.float64]


def calibrate(
    model: Translator | Path | str,
    pairs: Sequence[RawPair],
    *,
    options: Options | None = None,
    progress: Progress = quiet,
) -> Calibration:
    """Return a calibration of a model, fitted on pairs that it was not trained on; texts of several sentences are
    left out. A tag names the target language of a pair.
    """
    translator = model if isinstance(model, Translator) else load(model)
    step = max(1, -(-len(pairs) // MOST_PAIRS))
    rows, scores = _measured(translator, pairs[::step], options or Options(), progress)
    if len(rows) < LEAST_PAIRS:
        raise UserError(f"{len(rows):,} sentences are too few to calibrate on; give at least {LEAST_PAIRS}")
    x, y = np.array(rows, np.float64), np.array(scores, np.float64)
    predicted = np.empty(len(y))
    for fold in range(FOLDS):
        own = np.arange(len(y)) % FOLDS == fold
        predicted[own] = [_fitted(x[~own], y[~own]).confidence(tuple(row)) for row in x[own].tolist()]
    return _fitted(x, y, spearman=spearman(predicted, y))


def calibrate_model(folder: Path, pairs: Sequence[RawPair], *, progress: Progress = quiet) -> Calibration:
    """Calibrate a saved model, and store that with it."""
    found = calibrate(folder, pairs, progress=progress)
    write_calibration(folder, found)
    return found


def _measured(
    translator: Translator, pairs: Sequence[RawPair], options: Options, progress: Progress
) -> tuple[list[tuple[float, ...]], list[float]]:
    """Return the features and the chrF, from 0 to 1, of each pair of one sentence."""
    chrf, rows, scores = CHRF(), [], []
    greedy = translator.saved.decode.beam == 1
    for tag, group in groupby(pairs, key=lambda pair: pair.tag):
        some = list(group)
        own = replace(options, target=tag, token_scores=greedy)
        found = translator.window([pair.source for pair in some], own, progress)
        for pair, one in zip(some, found, strict=True):
            if len(one.sentences) == 1 and one.sentences[0].outputs and pair.target.strip():
                (sentence,) = one.sentences
                output = sentence.outputs[0]
                words, known = WORD.findall(output.text.lower()), set(WORD.findall(sentence.source.lower()))
                copied = sum(word in known for word in words)
                rows.append(features(len(sentence.tokens), words, copied, output.hypothesis))
                scores.append(chrf.sentence_score(output.text, [pair.target]).score / 100)
    return rows, scores


def _fitted(x: Array, y: Array, spearman: float = 0.0) -> Calibration:
    """Fit a logistic regression to shares by Newton's method, with a little ridge."""
    mean, scale = x.mean(0), x.std(0) + 1e-6
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    weights, ridge = np.zeros(z.shape[1]), RIDGE * len(y) * np.array([0.0, *[1.0] * len(FEATURES)])
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(z @ weights, -50, 50)))
        hessian = (z * (p * (1 - p))[:, None]).T @ z + np.diag(ridge + 1e-9)
        change = np.linalg.solve(hessian, z.T @ (p - y) + ridge * weights)
        weights -= change
        if np.abs(change).max() < 1e-9:
            break
    return Calibration(
        mean=_rounded(mean),
        scale=_rounded(np.maximum(scale, 1e-6)),
        weights=_rounded(weights[1:]),
        bias=round(float(weights[0]), 6),
        pairs=len(y),
        spearman=round(spearman, 4),
    )


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)


def spearman(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """Return the rank correlation of two sequences; 0 if one of them is constant."""
    first, second = _ranks(np.asarray(a)), _ranks(np.asarray(b))
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[Any]) -> Array:
    """Return ranks; equal values have the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts).astype(np.float64)
    return (last - (counts - 1) / 2)[inverse]
