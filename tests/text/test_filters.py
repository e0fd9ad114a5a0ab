import random
import tracemalloc
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.texts import any_text

from regard.config.data import FilterConfig
from regard.text import filters
from regard.text.filters import DIGEST_SIZE, Duplicates, digest, reason_after, reason_before
from regard.text.normalise import normalise

KEEP_ALL = FilterConfig(max_characters=10**9, max_ratio=None, identical=True, duplicates=True)


def test_too_long_is_one_character_more_on_either_side() -> None:
    config = FilterConfig(max_characters=5)
    for source, target in product((4, 5, 6), repeat=2):
        expected = filters.TOO_LONG if 6 in (source, target) else None
        assert reason_before("x" * source, "y" * target, config) == expected


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("a", "b"), None),
        (("", "b"), filters.EMPTY),
        (("a", normalise(" \u2028\0 ")), filters.EMPTY),
        (("", ""), filters.EMPTY),
        (("a", "a"), filters.IDENTICAL),
        (("a", "A"), None),
    ],
)
def test_empty_and_identical(pair: tuple[str, str], expected: str | None) -> None:
    assert reason_after(*pair, FilterConfig()) == expected


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([1.0, 1.5, 2.0, 4.0, 9.0]))
@example(1, 12, 2.0)  # 22 / 11
@example(13, 1, 2.0)
def test_length_ratio_is_the_formula(source: int, target: int, limit: float) -> None:
    ratio = (max(source, target) + 10) / (min(source, target) + 10)
    expected = filters.RATIO if ratio > limit else None
    assert reason_after("x" * source, "y" * target, FilterConfig(max_ratio=limit)) == expected


@settings(deadline=None)
@given(any_text.map(normalise), any_text.map(normalise))
def test_filters_that_are_off_keep_everything_but_blanks(source: str, target: str) -> None:
    assert reason_before(source, target, KEEP_ALL) is None
    assert reason_after(source, target, KEEP_ALL) == (None if source and target else filters.EMPTY)


def test_every_reason_has_a_name_of_its_own() -> None:
    assert len(set(filters.REASONS)) == len(filters.REASONS) == 8


def test_digests_tell_pairs_apart() -> None:
    texts = ["", "a", "b", "ab", "a b", "한", "\ud800"]
    pairs = list(product(texts, repeat=2))
    assert len({digest(*pair) for pair in pairs}) == len(pairs)
    assert all(len(digest(*pair)) == DIGEST_SIZE for pair in pairs)


def repeated_slowly(digests: list[bytes]) -> set[int]:
    return {number for number, value in enumerate(digests) if value in digests[:number]}


# Few different bytes, and mostly in few places: digests that share long beginnings and have to be split deep.
near_digests = st.builds(
    lambda place, byte: bytes(place) + byte + bytes(DIGEST_SIZE - place - 1),
    st.integers(0, DIGEST_SIZE - 1),
    st.sampled_from([b"\0", b"\1", b"\xff"]),
)


@settings(max_examples=60)
@given(
    digests=st.lists(st.one_of(near_digests, st.binary(min_size=DIGEST_SIZE, max_size=DIGEST_SIZE)), max_size=25),
    limit=st.integers(1, 4),
    chunk=st.integers(1, 7),
)
def test_repeated_equals_looking_back(digests: list[bytes], limit: int, chunk: int, tmp_path: Path) -> None:
    duplicates = Duplicates(tmp_path, limit=limit)
    for at in range(0, len(digests), chunk):
        duplicates.extend(b"".join(digests[at : at + chunk]))
    assert duplicates.count == len(digests)
    repeated = duplicates.repeated()
    expected = repeated_slowly(digests)
    assert {number for number in range(len(digests)) if number in repeated} == expected
    assert len(repeated) == len(expected)
    assert not list(tmp_path.iterdir())


def test_many_pairs_over_several_writes_and_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_PENDING", 50_000)
    monkeypatch.setattr(filters, "_READ", filters._RECORD.size * 10)
    rng = random.Random(1)
    digests = [
        bytes([rng.randrange(3), rng.randrange(9)]) + rng.randrange(200).to_bytes(14, "big") for _ in range(9000)
    ]
    duplicates = Duplicates(tmp_path, limit=500)
    duplicates.extend(b"".join(digests))
    seen: set[bytes] = set()
    first = {number for number, value in enumerate(digests) if not (value in seen or seen.add(value))}  # type: ignore[func-returns-value]
    repeated = duplicates.repeated()
    assert {number for number in range(len(digests)) if number not in repeated} == first


def test_one_pair_over_and_over_is_not_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_split", lambda *_: pytest.fail("split"))
    duplicates = Duplicates(tmp_path, limit=1)
    duplicates.extend(digest("yes", "ja") * 5000)
    assert len(duplicates.repeated()) == 4999


def test_what_a_killed_attempt_left_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_PENDING", 0)
    Duplicates(tmp_path).extend(digest("a", "b"))
    assert list(tmp_path.rglob("*"))
    again = Duplicates(tmp_path)
    again.extend(digest("a", "b"))
    assert len(again.repeated()) == 0


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_PENDING", 1 << 16)
    monkeypatch.setattr(filters, "_READ", filters._RECORD.size << 8)

    def peak(pairs: int) -> int:
        rng = random.Random(1)
        tracemalloc.start()
        duplicates = Duplicates(tmp_path, limit=2000)
        for _ in range(pairs // 100):
            duplicates.extend(b"".join(bytes([rng.randrange(2)]) + rng.randbytes(15) for _ in range(100)))
        duplicates.repeated()
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(6_000)  # what Python itself keeps for good, such as the names of paths
    assert peak(48_000) < 1.5 * peak(6_000)
