"""Near-duplicates, against a comparison with every earlier pair."""

import random

import pytest

from regard.pairs.near_duplicates import FEWEST, LETTERS, NearDuplicates

WORDS = [
    "the",
    "old",
    "dog",
    "sees",
    "a",
    "house",
    "near",
    "river",
    "and",
    "station",
    "개가",
    "집을",
    "봅니다",
    "할머니가",
    "강에서",
    "עיר",
    "גדולה",
    "café",
    "🙂",
]


def jaccard(one: tuple[str, str], other: tuple[str, str]) -> float:
    sets = [
        {
            (side, text.casefold()[at : at + LETTERS])
            for side, text in enumerate(pair)
            for at in range(len(text) - LETTERS + 1)
        }
        for pair in (one, other)
    ]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def changed(text: str, dice: random.Random) -> str:
    words = text.split()
    words[dice.randrange(len(words))] = dice.choice(WORDS)
    return " ".join(words)


@pytest.mark.parametrize("similarity", [0.7, 0.9])
def test_what_is_dropped_is_similar_and_little_is_missed(similarity: float) -> None:
    dice = random.Random(1)
    pairs: list[tuple[str, str]] = []
    for _ in range(300):
        if pairs and dice.random() < 0.4:
            source, target = dice.choice(pairs)
            pairs.append((changed(source, dice), target))
        else:
            pairs.append((" ".join(dice.choices(WORDS, k=10)), " ".join(dice.choices(WORDS, k=8))))
    finder, kept, missed, dropped = NearDuplicates(similarity), list[tuple[str, str]](), 0, 0
    for pair in pairs:
        similar = any(jaccard(pair, other) >= similarity for other in kept)
        repeats = finder.repeats(*pair)
        assert similar or not repeats
        missed += similar and not repeats
        dropped += repeats
        if not repeats:
            kept.append(pair)
    assert dropped > 20 and missed <= 0.05 * dropped


def test_short_texts_are_left_to_the_filter_of_equal_ones() -> None:
    finder = NearDuplicates(0.1)
    assert not finder.repeats("Red", "빨강") and not finder.repeats("Red", "빨강")
    long = "x" * 2 + "".join(chr(0xAC00 + number) for number in range(FEWEST + LETTERS))
    assert not finder.repeats(long, "") and finder.repeats(long, "")
