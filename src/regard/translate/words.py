"""Grouping of tokens into words, and the alignment of source and target words.

Shapes: T target tokens, S source tokens, M source words, N target words.
"""

from collections.abc import Sequence

import numpy as np

from regard.saved.weights import Array

Pairs = tuple[tuple[int, int], ...]
"""Numbers of aligned words, in the source and in the target."""
MARK = "▁"  # begins the first piece of a word


def word_numbers(pieces: Sequence[str]) -> list[int]:
    """Return the number of the word that each piece belongs to."""
    numbers: list[int] = []
    for piece in pieces:
        begins = piece.startswith(MARK) or not numbers
        numbers.append((numbers[-1] if numbers else -1) + begins)
    return numbers


def word_alignment(attention_TS: Array, source_pieces: Sequence[str], target_pieces: Sequence[str]) -> Pairs:
    """Return, for every target word, the source word its tokens attend to most, as (source, target) numbers from 0.

    A word whose tokens attend to none has no pair, as in a model without attention over the source.
    """
    if not source_pieces or not target_pieces:
        return ()
    source_S, target_T = word_numbers(source_pieces), word_numbers(target_pieces)
    attention_TM = np.zeros((len(target_T), source_S[-1] + 1), np.float32)
    np.add.at(attention_TM.T, source_S, attention_TS.T)
    attention_NM = np.zeros((target_T[-1] + 1, source_S[-1] + 1), np.float32)
    np.add.at(attention_NM, target_T, attention_TM)
    source_N = attention_NM.argmax(1)
    return tuple((int(source), target) for target, source in enumerate(source_N) if attention_NM[target, source] > 0)
