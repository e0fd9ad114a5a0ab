"""Denoising: spans are left out and can be put back; a model learns it, and is then fine-tuned to translate."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.digits import write_pairs

from regard.api import train
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.batches import evaluation_batches
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.data.redraw import Redraw
from regard.data.spans import DENSITY, SENTINELS, SpanCorruption
from regard.errors import UserError
from regard.files import sha256
from regard.text.subwords import Subwords
from regard.translate.load import load

LINES = ["the old dog sleeps", "오래된 개가 잔다", "the dog 🙂 sleeps", "כלב ישן", "cafe\u0301 is open", ""] * 30


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(LINES, 340, tags=("<2ko>", *SENTINELS))


@given(length=st.integers(1, 1000), seed=st.integers(0, 1 << 20), tagged=st.booleans())
@settings(deadline=None, max_examples=80)
def test_what_is_left_out_can_be_put_back(subwords: Subwords, length: int, seed: int, tagged: bool) -> None:
    corrupt = SpanCorruption(subwords)
    tag = [subwords.tag("<2ko>")] if tagged else []
    ids = [random.Random(seed).randrange(300, 340) for _ in range(length)]
    source, target = corrupt([*tag, *ids], random.Random(seed))
    assert source[: len(tag)] == tag
    spans: dict[int, list[int]] = {}
    for number in target:
        if number in corrupt.sentinels:
            spans[number] = last = []
        else:
            last.append(number)
    restored = [one for number in source[len(tag) :] for one in spans.get(number, [number])]
    assert restored == ids
    assert list(spans) == corrupt.sentinels[: len(spans)], "each sentinel once, in order"
    assert all(spans.values())
    assert sum(map(len, spans.values())) == max(1, round(DENSITY * length))
    assert (source, target) == corrupt([*tag, *ids], random.Random(seed))


def test_spans_are_of_three_tokens_and_anywhere(subwords: Subwords) -> None:
    corrupt, dice = SpanCorruption(subwords), random.Random(1)
    drawn = [corrupt(list(range(300, 340)), dice) for _ in range(400)]
    spans = sum(number in corrupt.sentinels for _, target in drawn for number in target)
    assert 400 * 6 / spans == 3
    assert {source[0] in corrupt.sentinels for source, _ in drawn} == {True, False}
    assert {source[-1] in corrupt.sentinels for source, _ in drawn} == {True, False}
    left_out = Counter(number for _, target in drawn for number in target if number not in corrupt.sentinels)
    assert len(left_out) == 40 and max(left_out.values()) < 3 * min(left_out.values())


@pytest.fixture
def mono(tmp_path: Path) -> Path:
    (tmp_path / "mono.txt").write_text("\n".join(LINES), encoding="utf-8")
    write_pairs(tmp_path, "numbers", 300, 1)
    corpora = [CorpusConfig(files=(str(tmp_path / name),)) for name in ("mono.txt", "numbers.num", "numbers.txt")]
    config = PrepareConfig(task="denoise", vocabulary=380, valid_pairs=20)
    report = prepare(corpora, [], tmp_path / "mono", config, cores=1)
    dropped = report.train[0].dropped
    assert (dropped["duplicate"], dropped["empty"]) == (145, 29) and "identical" not in dropped
    return tmp_path / "mono"


def test_denoise_then_translate(mono: Path, config: Config, tmp_path: Path) -> None:
    data = Prepared.open(mono)
    run = train(config, data, tmp_path / "run")
    assert sha256(run / "model.safetensors") == sha256(train(config, data, tmp_path / "again") / "model.safetensors")
    with pytest.raises(UserError, match=r"fills in text, and can't translate yet; train it on pairs"):
        load(run)
    pairs = [CorpusConfig(files=(str(tmp_path / "numbers.num"), str(tmp_path / "numbers.txt")))]
    prepare(pairs, [], tmp_path / "pairs", PrepareConfig(subwords_from=str(mono)), cores=1)
    tuned = train(config, tmp_path / "pairs", tmp_path / "tuned", start=run)
    translator = load(tuned)
    assert isinstance(translator.translate("en 12"), str)
    assert translator.tag(None) == [], "the reserved tokens of spans are no languages"


def test_validation_is_denoised_alike_each_time(mono: Path) -> None:
    data = Prepared.open(mono)
    assert data.valid is not None
    first, second = (
        [batch.target_BT.tolist() for batch in evaluation_batches(data.valid, 200, redraw=Redraw.of(data, 0))]
        for _ in range(2)
    )
    sentinel = data.source_subwords.tag("<span:0>")
    assert first == second and all(row[1] == sentinel for batch in first for row in batch)


def test_what_denoising_can_not_have(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one line\n", encoding="utf-8")
    one, two = CorpusConfig(files=(str(tmp_path / "a.txt"),)), CorpusConfig(files=(str(tmp_path / "a.txt"),) * 2)
    with pytest.raises(UserError, match="leave out --separate"):
        prepare([one], [], tmp_path / "x", PrepareConfig(task="denoise", shared=False))
    with pytest.raises(UserError, match="is one file"):
        prepare([two], [], tmp_path / "x", PrepareConfig(task="denoise"))
