from collections.abc import Sequence
from typing import Any

import pytest

from regard.errors import UserError
from regard.search.hypothesis import Hypothesis
from regard.translate.load import load
from regard.translate.next_words import next_words
from regard.translate.translator import Translator

TEXT = "The book is on the table. I like it. She speaks 한국어 e\u0301 🙂."


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load("en-de")


def test_each_word_follows_the_beginning_and_the_most_probable_comes_first(translator: Translator) -> None:
    best = translator.translate(TEXT)
    for place in range(3):
        beginning = " ".join(best.split()[:place])
        found = next_words(translator, TEXT, beginning)
        assert [one.text.split()[: place + 1] for one in found] == [[*best.split()[:place], one.word] for one in found]
        probabilities = [one.probability for one in found]
        assert probabilities == sorted(probabilities, reverse=True) and 0 < sum(probabilities) <= 1
        assert len({one.word for one in found}) == len(found) > 1
        assert best.split()[place] == found[0].word


def test_as_many_as_are_wanted(translator: Translator) -> None:
    assert len(next_words(translator, TEXT, "", most=2)) == 2
    assert next_words(translator, TEXT, "", most=2) == next_words(translator, TEXT, "", most=4)[:2]


def test_earlier_sentences_stay_as_they_are_shown(translator: Translator) -> None:
    """Whether the model wrote them, or a word of theirs was chosen."""
    sentences = translator.window([TEXT])[0].sentences
    first = sentences[0].outputs[0].text
    for head in (first, f"{first.split()[0]} anders."):
        for one in next_words(translator, TEXT, f"{head} "):
            assert one.text.startswith(f"{head} {one.word}")
            assert one.text.endswith(sentences[-1].outputs[0].text)


PROTECTED = [
    "Write to anna.müller@example.com about the old book 🙂 today.",
    "Open https://example.com/가/e\u0301 and read 12,450 pages.",
    "THE BOOK IS ON THE TABLE.",
    "My friend Xylothrax lives in this house.",
]


@pytest.mark.parametrize("text", PROTECTED)
def test_protected_spans_stay(translator: Translator, text: str) -> None:
    """Every choice at every place has the beginning as it is shown, and the spans."""
    shown = translator.window([text])[0]
    words = shown.text.split()
    for place in range(len(words)):
        for one in next_words(translator, text, " ".join(words[:place]), most=3):
            assert one.text.split()[:place] == words[:place]
            assert all(span.text in one.text for span in shown.sentences[0].outputs[0].spans if span.kind != "name")
    assert len(words) > 4


@pytest.mark.parametrize("text", PROTECTED[:3])
def test_the_model_reads_what_it_read_before(
    translator: Translator, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins and in ordinary case."""
    read: list[list[int]] = []
    search = translator.engine.search

    def recorded(sources: Sequence[Sequence[int]], *rest: Any) -> list[list[Hypothesis]]:
        read.extend(map(list, sources))
        return search(sources, *rest)

    monkeypatch.setattr(translator.engine, "search", recorded)
    translator.window([text])
    before = list(read)
    next_words(translator, text, "", most=2)
    assert len(read) == 2 * len(before) + 2
    assert all(source in before for source in read)


@pytest.mark.parametrize("text", ["", " \n ", "\u200b "])
def test_nothing_to_translate(translator: Translator, text: str) -> None:
    if not any(sentence.outputs for sentence in translator.window([text])[0].sentences):
        with pytest.raises(UserError, match="no word of it can be replaced"):
            next_words(translator, text, "")
