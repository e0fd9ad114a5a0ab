"""Replacement of unknown words in an output by means of attention (PosUnk: Luong et al., 2015).

Shapes: T target positions, S source positions.
"""

from collections.abc import Sequence

from regard.config.special_tokens import UNK
from regard.saved.weights import Array
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words, join_words, split_words


def replace_unknown(
    text: str, source: Subwords, pieces: Sequence[str], ids: Sequence[int], attention_TS: Array
) -> tuple[tuple[str, ...], str]:
    """Return the tokens of an output and its text, each unknown token replaced.

    It becomes the dictionary's translation of the source token that it attends to most, or that token itself; in a
    model without attention over the source, of the token at the same place.
    """
    assert isinstance(source, Words)
    tokens = split_words(text)
    replaced = list(pieces)
    for place, number in enumerate(ids):
        if number == UNK and tokens:
            weights_S = attention_TS[place]
            at = int(weights_S.argmax()) if bool(weights_S.any()) else min(place, len(tokens) - 1)
            replaced[place] = source.replacement(tokens[at])
    return tuple(replaced), join_words(replaced)
