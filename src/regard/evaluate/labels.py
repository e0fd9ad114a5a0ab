"""Accuracy and F1 of labels, and a baseline: naive Bayes over the words of a text.

F1 of a label is 2·P·R / (P + R), with P the share of texts given the label that have it, and R the share of texts that
have it which are given it; macro F1 is the mean over the labels that occur.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class LabelScores:
    """Accuracy and F1 of predicted labels."""

    texts: int
    accuracy: float
    macro_f1: float
    f1: dict[str, float]
    """By label."""


def score_labels(found: Sequence[str | None], right: Sequence[str]) -> LabelScores:
    """Return the accuracy and F1 of labels; None is a text that was given none."""
    assert len(found) == len(right)
    hits = Counter(given for given, wanted in zip(found, right, strict=True) if given == wanted)
    given, wanted = Counter(found), Counter(right)
    f1 = {label: 2 * hits[label] / (given[label] + wanted[label]) for label in sorted(wanted)}
    accuracy = hits.total() / len(right) if right else 0.0
    return LabelScores(len(right), accuracy, math.fsum(f1.values()) / len(f1) if f1 else 0.0, f1)


class NaiveBayes:
    """P(label | words) ∝ P(label) Π P(word | label), each word counted once more than it occurs (Laplace)."""

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        words: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for text, label in zip(texts, labels, strict=True):
            words[label].update(_words(text))
        self._words = dict(words)
        self._labels = Counter(labels)
        self._size = len({word for counts in words.values() for word in counts})

    def classify(self, text: str) -> str:
        """Return the most probable label of a text, the first in alphabetical order if there are several."""
        read = _words(text)
        scores = {}
        for label, count in sorted(self._labels.items()):
            own = self._words.get(label, Counter())
            total = own.total() + self._size + 1
            scores[label] = math.log(count) + math.fsum(math.log((own[word] + 1) / total) for word in read)
        return max(scores, key=scores.__getitem__)


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())
