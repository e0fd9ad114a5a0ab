"""Near-duplicates among pairs: both sides together differ in a word or two from a pair that came before.

Pairs are compared by the Jaccard similarity of their sets of four letters in a row. MinHash (Broder, 1997) in bands
finds the few earlier pairs that may be similar; the sets themselves decide. Memory: about a kilobyte a kept pair.
"""

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LETTERS = 4  # length of the letter n-grams that are compared
FEWEST = 12  # n-grams of a text that is compared: in shorter texts, one other word changes the meaning
BANDS, ROWS = 8, 3  # two pairs of similarity 0.7 share a band with probability 1 - (1 - 0.7^3)^8 = 0.97
SEED = 1

Hashes = NDArray[np.uint32]
_PRIME = np.uint64((1 << 31) - 1)


class NearDuplicates:
    """Finder of pairs that are similar to an earlier one."""

    def __init__(self, similarity: float) -> None:
        self.similarity = similarity
        random = np.random.default_rng(SEED)
        self._times, self._plus = random.integers(1, int(_PRIME), (2, BANDS * ROWS, 1)).astype(np.uint64)
        self._kept: list[Hashes] = []
        self._bands: dict[tuple[int, bytes], list[int]] = {}

    def repeats(self, source: str, target: str) -> bool:
        """Return whether a pair is similar to an earlier one that was not; if not, remember it."""
        hashes = _hashes(source, target)
        if len(hashes) < FEWEST:
            return False
        bands = list(self._signature(hashes))
        seen: set[int] = set()
        for band in bands:
            for number in self._bands.get(band, ()):
                if number not in seen and similarity(hashes, self._kept[number]) >= self.similarity:
                    return True
                seen.add(number)
        for band in bands:
            self._bands.setdefault(band, []).append(len(self._kept))
        self._kept.append(hashes)
        return False

    def _signature(self, hashes: Hashes) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the minima of each band."""
        values = (self._times * hashes.astype(np.uint64) + self._plus) % _PRIME
        minima = values.min(axis=1).astype(np.uint32)
        for band in range(BANDS):
            yield band, minima[band * ROWS : (band + 1) * ROWS].tobytes()


def similarity(one: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two sets."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


def _hashes(source: str, target: str) -> Hashes:
    """Return the set of a pair: every four letters in a row, of the source and of the target apart."""
    found = {
        zlib.crc32(text[at : at + LETTERS].encode("utf-8", "surrogatepass"), side)
        for side, text in enumerate((source.casefold(), target.casefold()))
        for at in range(len(text) - LETTERS + 1)
    }
    return np.fromiter(found, dtype=np.uint32, count=len(found)) >> np.uint32(1)
