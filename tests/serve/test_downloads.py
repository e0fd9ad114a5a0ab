import pytest

from regard.serve.downloads import MOST, DownloadStore, safe_name
from regard.serve.refused import Refused


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_files_are_kept_for_a_while_and_within_a_size() -> None:
    clock = Clock()
    store = DownloadStore(10, 60, clock)
    first = store.put("a.de.txt", b"12345")
    clock.now = 30
    second = store.put("b.txt", b"12345")
    file = store.get(first)
    assert file is not None
    assert (file.content, file.name) == (b"12345", "a.de.txt")
    third = store.put("c.txt", b"1")
    assert store.get(first) is None
    assert store.get(second)
    clock.now = 90
    assert store.get(second) is None
    assert store.get(third) is None
    with pytest.raises(Refused) as refused:
        store.put("d.txt", b"x" * 11)
    assert refused.value.status == 413


def test_empty_files_take_room_too() -> None:
    store = DownloadStore(10, 60)
    tokens = [store.put("a.txt", b"") for _ in range(MOST + 1)]
    assert store.get(tokens[0]) is None
    assert all(map(store.get, tokens[1:]))


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
