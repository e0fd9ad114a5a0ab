"""Validation and test pairs that are split off, and a vocabulary that is chosen."""

from collections import Counter
from pathlib import Path

import pytest
from tests.data.preparing import content, run, sentences, texts, write

from regard.config.data import CorpusConfig
from regard.data.held_out import sentence_hash, share
from regard.data.prepared import Prepared, held_out_texts, valid_texts
from regard.errors import UserError
from regard.text.vocabulary_size import vocabulary_size


def test_shares() -> None:
    assert [share(pairs, 500) for pairs in (0, 9, 500, 1000, 5_000, 50_000)] == [0, 0, 50, 50, 250, 500]
    assert share(500_000, 1000) == 1000


def test_all_translations_of_a_sentence_go_together_and_nothing_is_lost(tmp_path: Path) -> None:
    pairs = [(source, f"{target}{end}") for source, target in sentences(150) for end in ("", " !")]
    pairs += [
        ("Guten Tag", "안녕"),
        ("guten tag!", "안녕하세요"),
        ("한국", "Korea"),
        ("مرحبا", "hello"),
        ("👩‍👩‍👧", "가족"),
    ]
    run(write(tmp_path, pairs), tmp_path / "data", valid_pairs=None, test_pairs=20, vocabulary=None)
    data = Prepared.open(tmp_path / "data", contents=True)
    valid, test = valid_texts(tmp_path / "data"), held_out_texts(tmp_path / "data")
    assert data.valid is not None and len(data.valid) == len(valid) >= 30 and 20 <= len(test) <= 22
    trained = texts(data, data.train[0])
    assert Counter([*trained, *((pair.source, pair.target) for pair in [*valid, *test])]) == Counter(pairs)
    splits = [{sentence_hash(source) for source, _ in trained}]
    splits += [{sentence_hash(pair.source) for pair in some} for some in (valid, test)]
    assert not splits[0] & splits[1] and not splits[0] & splits[2] and not splits[1] & splits[2]
    report = data.report.train[0]
    assert report.read == report.kept + sum(report.dropped.values()) and report.dropped["split off"] == len(
        valid
    ) + len(test)


def test_the_split_does_not_depend_on_the_order_or_on_cores(tmp_path: Path) -> None:
    pairs = sentences(200)
    run(write(tmp_path / "a", pairs), tmp_path / "one", valid_pairs=None)
    run(write(tmp_path / "b", pairs[::-1]), tmp_path / "other", valid_pairs=None)
    assert set(valid_texts(tmp_path / "one")) == set(valid_texts(tmp_path / "other"))
    train = CorpusConfig(files=(str(tmp_path / "a/train.en"), str(tmp_path / "a/train.de")))
    run(train, tmp_path / "two", cores=2, valid_pairs=None)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_tags_and_duplicates(tmp_path: Path) -> None:
    """Each corpus's tag stays with its pairs; a repeated pair is dropped, not split off."""
    pairs = sentences(100)
    one, other = write(tmp_path / "a", pairs + pairs[:10]), write(tmp_path / "b", pairs)
    corpora = [one.model_copy(update={"tag": "<2de>"}), other.model_copy(update={"tag": "<2xx>"})]
    report = run(corpora, tmp_path / "data", valid_pairs=20)
    valid = valid_texts(tmp_path / "data")
    assert {pair.tag for pair in valid} == {"<2de>", "<2xx>"} and len(valid) % 2 == 0
    assert report.train[0].dropped["duplicate"] == 10 and report.train[0].kept == 100 - len(valid) // 2
    assert report.valid is not None and report.valid.kept == len(valid)


def test_too_few_pairs_and_a_validation_set_of_ones_own(tmp_path: Path) -> None:
    train, valid = write(tmp_path, sentences(30)), write(tmp_path, sentences(5, seed=9), "valid")
    with pytest.raises(UserError, match="20 of 30 pairs are to be split off"):
        run(train, tmp_path / "data", valid_pairs=20)
    run(train, tmp_path / "own", valid, valid_pairs=None)
    data = Prepared.open(tmp_path / "own")
    assert len(data.train[0]) == 30 and data.valid is not None and len(data.valid) == 5
    run(write(tmp_path / "few", sentences(9)), tmp_path / "none", valid_pairs=None, vocabulary=None)
    assert Prepared.open(tmp_path / "none").valid is None


def test_a_vocabulary_is_chosen_by_the_amount_of_text() -> None:
    letters = Counter("abcdefghijklmnopqrstuvwxyz")
    assert vocabulary_size(letters, 10_000) == 260 + 26 + round(1.5 * (26 * 10_000) ** 0.5)
    assert vocabulary_size(letters, 1e9) == 37_000
    rare = Counter({"a": 10_000, **{chr(0xAC00 + number): 1 for number in range(3)}})
    assert vocabulary_size(rare) == 260 + 1 + round(1.5 * 10_003**0.5), "rare letters are spelled in bytes"


@pytest.mark.parametrize("count", [1, 3, 300])
def test_a_chosen_vocabulary_always_fits(tmp_path: Path, count: int) -> None:
    report = run(write(tmp_path, sentences(count)), tmp_path / "data", vocabulary=None)
    data = Prepared.open(tmp_path / "data")
    assert report.source_vocabulary == data.source_subwords.size >= 260
