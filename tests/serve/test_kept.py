import pytest

from regard.serve.kept import MOST, Kept, safe_name
from regard.serve.refused import Refused


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_files_are_kept_for_a_while_and_within_a_size() -> None:
    clock = Clock()
    kept = Kept(10, 60, clock)
    first = kept.put("a.de.txt", b"12345")
    clock.now = 30
    second = kept.put("b.txt", b"12345")
    file = kept.get(first)
    assert file is not None
    assert (file.content, file.name) == (b"12345", "a.de.txt")
    third = kept.put("c.txt", b"1")
    assert kept.get(first) is None
    assert kept.get(second)
    clock.now = 90
    assert kept.get(second) is None
    assert kept.get(third) is None
    with pytest.raises(Refused) as refused:
        kept.put("d.txt", b"x" * 11)
    assert refused.value.status == 413


def test_empty_files_take_room_too() -> None:
    kept = Kept(10, 60)
    tokens = [kept.put("a.txt", b"") for _ in range(MOST + 1)]
    assert kept.get(tokens[0]) is None
    assert all(map(kept.get, tokens[1:]))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\x\\문서.md", "문서.md"),
        ("a\r\nSet-Cookie: b.txt", "aSet-Cookie b.txt"),
        ("\ud800.txt", "txt"),
        ("..", ""),
        ("x" * 300 + ".srt", "x" * 96 + ".srt"),
    ],
)
def test_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe
