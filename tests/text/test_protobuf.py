"""What is written is read again, and what is no message is a ValueError, never a crash or a hang."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.protobuf import fields, message, number, varint

field = st.integers(1, 2**28)


@given(st.lists(st.tuples(field, st.one_of(st.integers(0, 2**63), st.binary(max_size=300))), max_size=8))
def test_fields_come_back(parts: list[tuple[int, int | bytes]]) -> None:
    content = b"".join(message(at, part) if isinstance(part, bytes) else number(at, part) for at, part in parts)
    assert list(fields(content)) == parts


@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_no_message(content: bytes) -> None:
    try:
        found = list(fields(content))
    except ValueError:
        return
    assert sum(len(part) for _, part in found if isinstance(part, bytes)) <= len(content)


def test_numbers_are_in_groups_of_seven_bits() -> None:
    assert varint(0) == b"\0" and varint(127) == b"\x7f" and varint(128) == b"\x80\x01" and varint(300) == b"\xac\x02"


def test_a_number_has_ten_bytes_at_most() -> None:
    assert list(fields(b"\x08" + b"\x80" * 9 + b"\x01")) == [(1, 1 << 63)]


@pytest.mark.parametrize(
    "content", [b"\x0a\x05ab", b"\x08", b"\x08" + b"\xff" * 11, b"\x08" + b"\x80" * 10 + b"\x01", b"\x0b", b"\x0d\x01"]
)
def test_what_is_cut_or_unknown_is_no_message(content: bytes) -> None:
    with pytest.raises(ValueError, match="a field|a number"):
        list(fields(content))
