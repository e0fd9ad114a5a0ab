"""Hostile text, and a small subword model of each kind, trained once on lines of English, German and Korean."""

import random

import pytest
from tests.support.texts import SIZE, TAGS

from regard.text.subword_file import SubwordKind
from regard.text.subwords import Subwords

WHO = (
    ("old woman", "young man", "teacher", "girl with the red hat", "translator"),
    ("Die alte Frau", "Der junge Mann", "Die Lehrerin", "Das Mädchen mit dem roten Hut", "Der Übersetzer"),
    ("할머니가", "젊은 남자가", "선생님이", "빨간 모자를 쓴 소녀가", "번역가가"),
)
DOES = (
    ("sees", "buys", "finds", "counts", "is looking for"),
    ("sieht", "kauft", "findet", "zählt", "sucht"),
    ("봅니다", "샀어요", "찾았습니다", "세고 있다", "좋아해요"),
)
WHAT = (
    ("apples", "books", "trees", "bicycles", "words", "questions"),
    ("Äpfel", "Bücher", "Bäume", "Fahrräder", "Wörter", "große Fragen"),
    ("사과", "책", "나무", "자전거", "단어", "질문"),
)
WHERE = (
    ("garden", "market", "station", "snow", "street"),
    ("Garten", "Supermarkt", "Bahnhof", "Schnee", "Straßencafé"),
    ("정원", "시장", "역", "눈밭", "길"),
)


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Always the same."""
    choose = random.Random(1).choice
    lines = []
    for _ in range(120):
        number = str(choose(range(2, 2000)))
        lines += [
            f"The {choose(WHO[0])} {choose(DOES[0])} {number} {choose(WHAT[0])} in the {choose(WHERE[0])}.",
            f"{choose(WHO[1])} {choose(DOES[1])} {number} {choose(WHAT[1])} im {choose(WHERE[1])}.",
            f"{choose(WHO[2])} {choose(WHERE[2])}에서 {choose(WHAT[2])} {number}개를 {choose(DOES[2])}.",
        ]
    return lines


@pytest.fixture(scope="session", params=["bpe", "unigram"])
def subwords(request: pytest.FixtureRequest, sentences: list[str]) -> Subwords:
    kind: SubwordKind = request.param
    return Subwords.train(sentences, SIZE, kind=kind, tags=TAGS)
