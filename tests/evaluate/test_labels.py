"""Labels: F1 by its definition, and naive Bayes by hand."""

import math

import pytest

from regard.evaluate.labels import NaiveBayes, score_labels


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    found = ["a", "a", "b", "b", None, "c"]
    right = ["a", "b", "b", "b", "a", "a"]
    scores = score_labels(found, right)
    a_precision, a_recall, b_precision, b_recall = 1 / 2, 1 / 3, 2 / 2, 2 / 3
    expected = {
        "a": 2 * a_precision * a_recall / (a_precision + a_recall),
        "b": 2 * b_precision * b_recall / (b_precision + b_recall),
    }
    assert scores.f1 == pytest.approx(expected) and scores.texts == 6
    assert scores.accuracy == 3 / 6 and scores.macro_f1 == pytest.approx(sum(expected.values()) / 2)
    assert score_labels([], []).macro_f1 == 0.0


def test_naive_bayes_counts_words() -> None:
    bayes = NaiveBayes(["좋아 좋아!", "나빠", "Schön 🙂"], ["pos", "neg", "pos"])
    assert bayes.classify("좋아") == "pos" and bayes.classify("나빠 나빠") == "neg"
    assert bayes.classify("שלום") == "pos", "the more frequent label"
    # log 2 + log((2 + 1) / (5 + 5 + 1)) for pos: 좋아 twice of 5 words, with 5 different words of all
    pos = math.log(2) + math.log(3 / 11)
    neg = math.log(1) + math.log(1 / 7)
    assert pos > neg
