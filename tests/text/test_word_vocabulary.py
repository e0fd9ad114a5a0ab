"""A vocabulary of words: splitting and joining, what is unknown, and damaged files."""

import json

import pytest

from regard.config.special_tokens import EOS, UNK
from regard.errors import UserError
from regard.text.subwords import Subwords
from regard.text.vocabularies import source_and_target, vocabulary, vocabulary_files
from regard.text.word_vocabulary import Words, join_words, split_words

TEXTS = [
    "Ein Haus, ein Garten (klein).",
    "사과를 3개 봅니다! 좋아요?",
    "e\u0301te\u0301 हिन्दी",
    "שלום עולם",
    "👩‍👧 ok…",
    "a_b <x> 'y'",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_split_text_joins_to_the_same(text: str) -> None:
    assert join_words(split_words(text)) == text


def test_words_are_whole_and_other_characters_single() -> None:
    assert split_words("Ein Haus, (e\u0301) 12.5") == ["▁Ein", "▁Haus", ",", "▁(", "e\u0301", ")", "▁12", ".", "5"]
    assert split_words("हिन्दी 사과를!") == ["▁हिन्दी", "▁사과를", "!"]


def test_the_most_frequent_are_known_and_the_rest_is_not() -> None:
    words = Words.learn(["a a a b b c", "a b d"], 4 + 1 + 2, tags=["<2de>"])
    assert words.size == 7 and words.tags == ("<2de>",) and words.tag("<2de>") == EOS + 1
    assert words.encode(["a b c d"]) == [[5, 6, UNK, UNK]]
    assert words.decode([5, UNK, 6, EOS]) == "a ⁇ b"
    assert words.pieces([5, UNK]) == ["▁a", "<unk>"]
    assert words.spelling[5] == b" a" and words.spelling[UNK] == b""
    with pytest.raises(UserError, match="no text to learn words from"):
        Words.learn([" "], 10)


def test_comes_back_from_its_file() -> None:
    words = Words.learn(["한 집", "집"], 300).with_dictionary({"집": "house"})
    files = vocabulary_files(words, words)
    source, target = source_and_target(files)
    assert source is target and isinstance(source, Words) and source.content == words.content
    assert source.replacement("▁집") == "▁house" and source.replacement("집") == "house"
    assert source.replacement("▁강") == "▁강", "what the dictionary lacks is copied"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"}, {"words": []}, {"words": ["a", "a"]}, {"words": ["a", 3]}, {"words": [""]},
        {"tags": ["de"]}, {"dictionary": {"a": 1}}, {"dictionary": []}, {"words": ["a\nb"]},
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(change: dict[str, object]) -> None:
    good = {"format": "regard words 1", "tags": [], "words": ["▁a"], "dictionary": {}}
    assert vocabulary(json.dumps(good).encode(), "x").size == 5
    with pytest.raises(UserError, match="^x: not a vocabulary of words"):
        vocabulary(json.dumps({**good, **change}).encode(), "x")


@pytest.mark.parametrize("content", [b"{", b"{}", b"[" * 100_000, b'{"words": 3}'])
def test_what_is_no_vocabulary_is_refused(content: bytes) -> None:
    with pytest.raises(UserError):
        vocabulary(content, "x")


def test_subwords_are_still_subwords() -> None:
    learned = Subwords.train(["one two three four five six seven"] * 5, 300)
    assert type(vocabulary(learned.content, "x")) is Subwords
