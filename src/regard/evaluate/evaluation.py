"""Translation of a text with a model and scores of the result, for `regard evaluate` and `regard.evaluate`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.engines.engine import BATCH_TOKENS, Progress, quiet
from regard.errors import UserError
from regard.evaluate.bleu import References, Tokens, metric
from regard.evaluate.perplexity import perplexity, score_texts
from regard.evaluate.reliability import reliability as compared
from regard.evaluate.score_report import ScoreReport, score_report
from regard.translate.load import load
from regard.translate.sentences import one_line
from regard.translate.translation import Translation
from regard.translate.translator import DEFAULTS, Options, Translator, windows


@dataclass(frozen=True)
class Evaluation:
    """The translations of a text, and their scores."""

    translations: list[str]
    report: ScoreReport


def evaluate(
    model: Translator | Path | str,
    sources: Sequence[str],
    references: References | Sequence[str],
    options: Options = DEFAULTS,
    *,
    baseline: Sequence[str] | None = None,
    tokens: Tokens = "13a",
    reliability: bool = False,
    progress: Progress = quiet,
    warn: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Translate each source and score the translations by BLEU, chrF, TER and perplexity.

    `references` are one list of reference translations, or several. `baseline` are another system's translations, to
    compare with by paired bootstrap. `reliability` also compares the model's confidence with chrF. `warn` is called
    with the reason if there is no perplexity.
    """
    metric(tokens)  # so that an error is reported before the work is done
    right = _lists(references)
    if any(len(lines) != len(sources) for lines in right):
        raise UserError(f"{len(sources):,} sources, but {len(right[0]):,} references; give one for each source")
    translator = model if isinstance(model, Translator) else load(model)
    if reliability and translator.calibration is None:
        raise UserError("the model is not calibrated, so it has no confidence; run `regard calibrate` on it first")
    options = replace(options, token_scores=True) if reliability else options
    found = list(_translated(translator, sources, options, progress))
    lines = [one_line(one.text) for one in found]
    sure = compared([one.confidence for one in found], lines, right, tokens) if reliability else None
    ppl = _perplexity(translator, sources, right[0], options, warn) if translator.has_weights else None
    report = score_report(
        lines, right, sources=sources, baseline=baseline, perplexity=ppl, tokens=tokens, reliability=sure
    )
    return Evaluation(lines, report)


def _lists(references: References | Sequence[str]) -> list[list[str]]:
    """Return one list of lines for each set of references."""
    single = [line for line in references if isinstance(line, str)]
    return [single] if single else [list(lines) for lines in references if not isinstance(lines, str)]


def translate_lines(
    translator: Translator, sources: Sequence[str], options: Options, progress: Progress = quiet
) -> list[str]:
    """Return the lines that `regard translate` would print."""
    return [one_line(one.text) for one in _translated(translator, sources, options, progress)]


def _translated(
    translator: Translator, sources: Sequence[str], options: Options, progress: Progress
) -> Iterator[Translation]:
    return (one for window in windows(sources) for one in translator.window(window, options, progress))


def _perplexity(
    translator: Translator,
    sources: Sequence[str],
    reference: Sequence[str],
    options: Options,
    warn: Callable[[str], None],
) -> float | None:
    """Return the perplexity of the first reference; None where a line is longer than the model can read whole."""
    batch_tokens = options.batch_tokens or BATCH_TOKENS
    try:
        scored = score_texts(
            translator, list(sources), list(reference), target_language=options.target, batch_tokens=batch_tokens
        )
    except UserError as error:
        warn(f"no perplexity: {error}")
        return None
    return perplexity(scored)
