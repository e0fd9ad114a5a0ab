"""The confidence of a translation: calibrated confidence, and warnings about loops, copies and cut translations."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regard.engines.engine import Request
from regard.saved.calibration import Calibration
from regard.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from regard.translate.translator import Translator

LONGEST_PERIOD = 24  # tokens of a repeated part
REPEATS = 3  # times in a row that a part occurs in a loop
REPEATED_TOKENS = 8  # least tokens of all repetitions together
LEAST_REPEATED = min(max((REPEATS - 1) * period, REPEATED_TOKENS - period) for period in range(1, LONGEST_PERIOD + 1))
"""A sequence that repeats itself has at least so many tokens that came before."""
NGRAM = 4
REPEATED_SHARE = 0.5  # share of repeated n-grams above which an output repeats itself
BLOCKED = 3  # length of the n-grams that may not be repeated when a looping sentence is searched again
COPIED_SHARE = 0.7  # share of source words among an output's words from which it is a copy
COPIED_WORDS = 4
SHORTEST_SHARE = 0.25  # share of the source's number of tokens below which an output is too short
SHORTEST_SOURCE = 12  # tokens of a source below which no output is too short
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Judgement:
    """The estimated quality of a sentence's translation."""

    confidence: float | None = None
    """Expected chrF, from 0 to 1; None without calibration."""
    warnings: tuple[str, ...] = ()
    """`repeats` itself, `copied` from the source, `short`: covers too little of the source."""


UNJUDGED = Judgement()


def judge(
    calibration: Calibration | None, source: str, ids: Sequence[int], text: str, hypothesis: Hypothesis
) -> Judgement:
    """Judge a translation of a source, of which the model has read the ids."""
    words, known = WORD.findall(text.lower()), set(WORD.findall(source.lower()))
    copied = 0 if known.isdisjoint(words) else sum(word in known for word in words)
    found = {
        "repeats": repeats(hypothesis.tokens) and not repeats(ids),  # what repeats itself may be translated so
        "copied": copied >= COPIED_WORDS and copied >= COPIED_SHARE * len(words),
        "short": len(ids) >= SHORTEST_SOURCE and len(hypothesis.tokens) < SHORTEST_SHARE * len(ids),
    }
    warnings = tuple([name for name, holds in found.items() if holds])
    if calibration is None or math.isnan(hypothesis.log_probability):
        return Judgement(None, warnings) if warnings else UNJUDGED
    values = features(len(ids), words, copied, hypothesis)
    return Judgement(round(calibration.confidence(values), 4), warnings)


def features(source_tokens: int, words: Sequence[str], copied: int, hypothesis: Hypothesis) -> tuple[float, ...]:
    """Return the features of a translation, in the order of `FEATURES`."""
    count = len(hypothesis.tokens) + 1
    ratio = math.log(count / (source_tokens + 1))
    some = max(1, len(words))
    return (
        max(-100.0, hypothesis.log_probability / count),
        ratio,
        abs(ratio),
        1 - len(set(words)) / some if words else 0.0,
        copied / some,
        math.log(source_tokens + 1),
    )


def repeats(tokens: Sequence[int]) -> bool:
    """Return whether a sequence repeats itself: a part several times in a row, or most of its n-grams."""
    if len(tokens) - len(set(tokens)) < LEAST_REPEATED:
        return False
    for period in range(1, min(LONGEST_PERIOD, len(tokens) // REPEATS) + 1):
        run = 0
        for at in range(period, len(tokens)):
            run = run + 1 if tokens[at] == tokens[at - period] else 0
            if run >= (REPEATS - 1) * period and run + period >= REPEATED_TOKENS:
                return True
    grams = [tuple(tokens[at : at + NGRAM]) for at in range(len(tokens) - NGRAM + 1)]
    return len(grams) >= 2 * REPEATED_TOKENS and len(set(grams)) < (1 - REPEATED_SHARE) * len(grams)


def search_loops_again(
    translator: "Translator", sources: Sequence[Sequence[int]], request: Request, found: list[list[Hypothesis]]
) -> None:
    """Search the sources whose best output repeats itself again, with repetition blocked; `found` is changed."""
    unblockable = request.sampling is not None or request.decoding == "mask-predict"
    if not translator.has_weights or request.no_repeat or unblockable:
        return
    looping = [n for n, source in enumerate(sources) if repeats(found[n][0].tokens) and not repeats(source)]
    if looping:
        blocked = replace(request, no_repeat=BLOCKED)
        again = translator.engine.search([sources[number] for number in looping], blocked)
        for number, hypotheses in zip(looping, again, strict=True):
            found[number] = hypotheses
