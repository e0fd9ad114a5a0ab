"""Validation of the normalisation rules inside a third-party sentencepiece model, before C++ code reads them.

A charsmap is a size, a double-array trie of that many bytes (Yata's darts-clone) and the replacements, each ended by
NUL. Sentencepiece follows the trie's offsets without bounds checks, and accepts at most 32 matches at a position; with
a forged trie, both can lead to reads out of bounds.

    unit = value 31 bits, 1                              a leaf: where the replacement begins
         | label 8 bits, leaf 1, far 1, offset 21, 0     a node; bits are counted from the lowest
"""

import sys
from array import array

LARGEST = 4 << 20  # bytes; NFKC's is a quarter of a megabyte
MOST_MATCHES = 32  # and so the longest rule in bytes
LONGEST_REPLACEMENT = 128  # bytes


def sound(charsmap: bytes) -> bool:
    """Return whether every path through the trie stays inside it and ends at the beginning of a replacement."""
    size = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) > LARGEST or not 0 < size < len(charsmap) - 4 or size % 4:
        return False
    units = array("I", charsmap[4 : 4 + size])
    if sys.byteorder == "big":
        units.byteswap()
    replacements = charsmap[4 + size :]
    return _replacements_sound(replacements) and _trie_sound(units, replacements)


def _replacements_sound(replacements: bytes) -> bool:
    try:
        replacements.decode()
    except UnicodeDecodeError:
        return False
    return replacements.endswith(b"\0") and all(len(one) <= LONGEST_REPLACEMENT for one in replacements.split(b"\0"))


def _trie_sound(units: "array[int]", replacements: bytes) -> bool:
    below: dict[int, list[int]] = {}  # the child nodes of an offset: each is at the offset XOR its label
    for index, unit in enumerate(units):
        if index and not unit >> 31:
            below.setdefault(index ^ (unit & 0xFF), []).append(index)
    level = {0}
    for _ in range(MOST_MATCHES + 1):
        following: set[int] = set()
        for node in level:
            unit = units[node]
            place = node ^ (unit >> 10 << (8 if unit & 0x200 else 0))
            if unit >> 31 or place | 0xFF >= len(units):
                return False
            if unit & 0x100 and not _leaf_sound(units[place], replacements):
                return False
            following.update(below.get(place, ()))
        if not following:
            return True
        level = following
    return False


def _leaf_sound(leaf: int, replacements: bytes) -> bool:
    begin = leaf & 0x7FFFFFFF
    return leaf >> 31 == 1 and begin < len(replacements) and (begin == 0 or replacements[begin - 1] == 0)
