"""A dictionary learned from pairs: IBM model 1 (Brown et al., 1993), by expectation maximisation.

t(e | f), the chance that source word f is translated by target word e, starts uniform. Each round counts, for every
target word of every pair, the share of each source word f in it, t(e | f) / Σ_f' t(e | f'), with an empty word among
the f', and then normalises the counts of each f.
"""

from collections.abc import Iterable

import numpy as np

from regard.text.subword_file import MARK
from regard.text.word_vocabulary import split_words

ROUNDS = 5
MOST_CELLS = 20_000_000  # pairs of words in memory together; further pairs are left out
LEAST_CHANCE = 0.1  # of a translation that is taken into the dictionary
EMPTY = ""


def lexicon(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the likeliest translation of each source word, if one is likely enough."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({EMPTY: 0}, {})
    blocks, places, cells, place = [], [], 0, 0
    for source, target in pairs:
        sides = [[token.removeprefix(MARK) for token in split_words(text)] for text in (source, target)]
        f, e = (
            [known.setdefault(word, len(known)) for word in side] for known, side in zip(numbers, sides, strict=True)
        )
        cells += (len(f) + 1) * len(e)
        if cells > MOST_CELLS:
            break
        blocks.append(np.stack([np.repeat([[0, *f]], len(e), 0), np.repeat([e], len(f) + 1, 0).T]).reshape(2, -1))
        places.append(np.repeat(np.arange(place, place + len(e)), len(f) + 1))
        place += len(e)
    if not blocks:
        return {}
    f_C, e_C = np.concatenate(blocks, axis=1).astype(np.int64)
    return _likeliest(f_C, e_C, np.concatenate(places), list(numbers[0]), list(numbers[1]))


def _likeliest(
    f_C: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    e_C: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    place_C: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    sources: list[str],
    targets: list[str],
) -> dict[str, str]:
    """Return the dictionary from co-occurrences: source word, target word and target place of each."""
    kinds, kind_C = np.unique(f_C * len(targets) + e_C, return_inverse=True)
    f_K, e_K = kinds // len(targets), kinds % len(targets)
    t_K = np.ones(len(kinds))
    for _ in range(ROUNDS):
        share_C = t_K[kind_C]
        share_C /= np.bincount(place_C, weights=share_C)[place_C]
        count_K = np.bincount(kind_C, weights=share_C, minlength=len(kinds))
        t_K = count_K / np.bincount(f_K, weights=count_K)[f_K]
    order_K = np.lexsort((e_K, -t_K, f_K))
    first_K = order_K[np.unique(f_K[order_K], return_index=True)[1]]
    chosen = [k for k in first_K.tolist() if f_K[k] != 0 and t_K[k] >= LEAST_CHANCE]
    return {sources[f_K[k]]: targets[e_K[k]] for k in chosen}
