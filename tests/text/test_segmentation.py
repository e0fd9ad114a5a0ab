"""Random segmentations: the same text, the probabilities of the papers, and nothing random without a draw."""

import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.texts import HOSTILE, any_text

from regard.errors import UserError
from regard.text.normalise import normalise
from regard.text.segmentation import Segmenter
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words

shared = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
NEVER = 1e-300  # no merge is left out


@given(text=any_text.map(normalise) | st.sampled_from([normalise(text) for text in HOSTILE]), seed=st.integers(0, 99))
@shared
def test_the_text_stays_the_same(subwords: Subwords, text: str, seed: int) -> None:
    ids = [subwords.tag(subwords.tags[0]), *subwords.encode([text])[0]]
    drawn = Segmenter(subwords, 0.5)(ids, random.Random(seed))
    assert drawn[0] == ids[0]
    assert subwords.decode(drawn) == text
    assert drawn == Segmenter(subwords, 0.5)(ids, random.Random(seed)), "a pure function of the dice"


def test_without_dropout_bpe_is_what_sentencepiece_makes(sentences: list[str]) -> None:
    subwords = Subwords.train(sentences, 420)
    segmenter = Segmenter(subwords, NEVER)
    for ids in subwords.encode(sentences):
        assert segmenter(ids, random.Random(1)) == ids


def test_segmentations_differ_and_are_longer(subwords: Subwords, sentences: list[str]) -> None:
    ids, dice = subwords.encode(sentences), random.Random(1)
    segmenter = Segmenter(subwords, 0.3 if subwords.kind == "bpe" else 0.01)
    drawn = [segmenter(one, dice) for one in ids]
    assert sum(map(len, drawn)) > 1.05 * sum(map(len, ids))
    assert drawn != [segmenter(one, dice) for one in ids]


def outcomes(pieces: list[str], scores: dict[str, float], rate: float) -> Counter[tuple[str, ...]]:
    """Every outcome of algorithm 1 with its probability, by going through all subsets of merges."""
    found: Counter[tuple[str, ...]] = Counter()
    places = [at for at in range(len(pieces) - 1) if pieces[at] + pieces[at + 1] in scores]
    for subset in range(1 << len(places)):
        kept = [at for bit, at in enumerate(places) if subset >> bit & 1]
        p = (1 - rate) ** len(kept) * rate ** (len(places) - len(kept))
        if not kept:
            found[tuple(pieces)] += p  # type: ignore[assignment]
            continue
        at = max(kept, key=lambda at: scores[pieces[at] + pieces[at + 1]])
        after = [*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2 :]]
        for outcome, share in outcomes(after, scores, rate).items():
            found[outcome] += p * share  # type: ignore[assignment]
    return found


def segmentations(letters: str, scores: dict[str, float]) -> Iterator[tuple[str, ...]]:
    if not letters:
        yield ()
    for end in range(1, len(letters) + 1):
        if letters[:end] in scores:
            yield from ((letters[:end], *rest) for rest in segmentations(letters[end:], scores))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_probabilities_are_those_of_the_papers(kind: str, sentences: list[str]) -> None:
    """Against every outcome, counted by brute force."""
    subwords = Subwords.train(sentences, 420, kind="bpe" if kind == "bpe" else "unigram")
    ids = max(
        (subwords.encode([word])[0] for word in ("books", "garden", "translator", "자전거")),
        key=lambda ids: len(list(segmentations("".join(subwords.pieces(ids)), subwords.scores))),
    )
    letters, rate = "".join(subwords.pieces(ids)), 0.4 if kind == "bpe" else 0.02
    if kind == "bpe":
        expected: dict[tuple[str, ...], float] = dict(outcomes(list(letters), subwords.scores, rate))
    else:
        weights = {
            some: math.exp(rate * sum(subwords.scores[piece] for piece in some))
            for some in segmentations(letters, subwords.scores)
        }
        expected = {some: weight / sum(weights.values()) for some, weight in weights.items()}
    assert len(expected) > 2 and math.isclose(sum(expected.values()), 1)
    dice, segmenter, draws = random.Random(3), Segmenter(subwords, rate), 20_000
    found = Counter(tuple(subwords.pieces(segmenter(ids, dice))) for _ in range(draws))
    assert set(found) <= set(expected)
    for outcome, p in expected.items():
        assert abs(found[outcome] - draws * p) <= 5 * math.sqrt(draws * p * (1 - p)) + 1


def test_what_can_not_be_divided_is_rejected(sentences: list[str]) -> None:
    with pytest.raises(UserError, match="has words"):
        Segmenter(Words.learn(sentences, 100), 0.1)
    with pytest.raises(UserError, match="below 1"):
        Segmenter(Subwords.train(sentences, 420), 1.0)
