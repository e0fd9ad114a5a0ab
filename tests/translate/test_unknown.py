"""Replacement of unknown words: by the dictionary, by the source word, and without attention by place."""

import numpy as np

from regard.config.special_tokens import UNK
from regard.text.word_vocabulary import Words
from regard.translate.unknown import replace_unknown

SOURCE = Words.learn(["das ist ein"], 300).with_dictionary({"Apfel": "apple"})


def test_the_most_attended_word_is_translated_or_copied() -> None:
    attention = np.array([[0.1, 0.1, 0.7, 0.1], [0.2, 0.2, 0.2, 0.4], [0.9, 0.0, 0.1, 0.0]])
    pieces, ids = ["<unk>", "<unk>", "▁is"], [UNK, UNK, 9]
    tokens, text = replace_unknown("Zoë ist Apfel?", SOURCE, pieces, ids, attention)
    assert tokens == ("▁apple", "?", "▁is") and text == "apple? is"
    attention[0] = np.array([0.5, 0.1, 0.3, 0.1])
    assert replace_unknown("Zoë ist Apfel?", SOURCE, pieces, ids, attention)[1] == "Zoë? is"


def test_without_attention_the_place_decides() -> None:
    tokens, _ = replace_unknown("a 사과 c", SOURCE, ["▁x", "<unk>", "▁y", "<unk>"], [9, UNK, 9, UNK], np.zeros((4, 3)))
    assert tokens == ("▁x", "▁사과", "▁y", "▁c")
