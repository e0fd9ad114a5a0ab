"""Damaged copies of files, drawn at random but the same every time, for tests of whatever reads them."""

import random
from collections.abc import Iterator

WORDS = (
    b"\xff", b"\0", b"\x80", b"-1", b"9" * 8, b"9" * 5000, b"1e999", b"NaN", b"null", b"[" * 5000, b"{}", b'"',
    b"\\ud800", b"=", b"\n", b"../", b"/", b"x", b"L", b"S", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f",
)  # fmt: skip


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four mistakes: a byte changed, a word written over or put in, a part doubled or cut."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randrange(len(changed) + 1), draw.choice((1, 4, 20, 512))
        word = draw.choice(WORDS)
        match draw.randrange(6):
            case 0 | 1:
                changed[at : at + 1] = bytes([draw.randrange(256)])
            case 2:
                changed[at : at + len(word)] = word
            case 3:
                changed[at:at] = word if draw.random() < 0.5 else changed[at : at + size]
            case 4:
                del changed[at : at + size]
            case 5:
                del changed[at if draw.random() < 0.3 else len(changed) :]
    return bytes(changed)


def mutants(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """So many damaged copies."""
    draw = random.Random(seed)
    return (mutated(content, draw) for _ in range(count))
