"""The subset of protobuf's wire format in a subword model's file: a key, then a number, four bytes or a length."""

from collections.abc import Iterator

_NUMBER, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  # wire types
_LONGEST = 10  # bytes of a number


def varint(value: int) -> bytes:
    """Encode a number in groups of seven bits, the lowest first."""
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | _NUMBER) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


def fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field's number and value; raise ValueError where the bytes are not a valid message."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        wire = key & 7
        if wire == _NUMBER:
            value, at = _varint(content, at)
            yield key >> 3, value
            continue
        size = {_EIGHT: 8, _FOUR: 4}.get(wire)
        if wire == _LENGTH:
            size, at = _varint(content, at)
        if size is None or at + size > len(content):
            raise ValueError("a field of unknown kind, or cut")
        yield key >> 3, content[at : at + size]
        at += size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(content[at : at + _LONGEST]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number without an end")
