"""The dictionary against IBM model 1 in plain loops."""

import random
from collections import defaultdict

from regard.data.passes.lexicon import LEAST_CHANCE, ROUNDS, lexicon
from regard.text.word_vocabulary import split_words

WORDS = {"house": "집", "water": "물", "dog": "개", "tree": "나무", "red": "빨간", "river": "강"}


def pairs(count: int) -> list[tuple[str, str]]:
    chance = random.Random(3)
    chosen = [[chance.choice(list(WORDS)) for _ in range(chance.randint(2, 4))] for _ in range(count)]
    return [(" ".join(some), " ".join(WORDS[word] for word in reversed(some))) for some in chosen]


def slowly(given: list[tuple[str, str]]) -> dict[str, str]:
    split = [[["", *words] if side == 0 else words for side, words in enumerate(pair)] for pair in (
        [[token.lstrip("▁") for token in split_words(text)] for text in one] for one in given
    )]  # fmt: skip
    t: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(ROUNDS):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        for sources, targets in split:
            for e in targets:
                whole = sum(t[f, e] for f in sources)
                for f in sources:
                    counts[f, e] += t[f, e] / whole
                    totals[f] += t[f, e] / whole
        t = defaultdict(float, {(f, e): count / totals[f] for (f, e), count in counts.items()})
    best: dict[str, tuple[float, str]] = {}
    for (f, e), chance in t.items():
        if f and chance >= LEAST_CHANCE and chance > best.get(f, (0.0, ""))[0]:
            best[f] = chance, e
    return {f: e for f, (_, e) in best.items()}


def test_equals_the_plain_loops_and_finds_the_translations() -> None:
    given = pairs(60)
    assert lexicon(given) == slowly(given) == WORDS


def test_nothing_to_learn_from() -> None:
    assert lexicon([]) == {} and lexicon([("", "a")]) in ({}, {"": "a"})
