import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.support.saving import save_built

from regard.config.run import Config
from regard.data.prepared import RawPair
from regard.errors import UserError
from regard.evaluate.calibration import _fitted, calibrate_model, spearman
from regard.files import check_manifest
from regard.saved.calibration import FEATURES, FILE, Calibration, read_calibration, write_calibration
from regard.saved.folder import LoadedModel
from regard.search.hypothesis import Hypothesis
from regard.translate.confidence import judge, repeats
from regard.translate.load import load
from regard.translate.translator import Options, Translator

LEVEL = Calibration(
    mean=(0.0,) * 6, scale=(1.0,) * 6, weights=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), bias=1.0, pairs=100, spearman=0.5
)


@pytest.fixture
def folder(saved: LoadedModel, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    save_built(
        place, saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords, languages=("en", "de")
    )
    return place


@pytest.mark.parametrize(
    ("tokens", "wanted"),
    [
        ([5, 6, 7, 8] * 3, True),
        ([1, 2, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9, 3], True),
        ([4] * 8, True),
        ([4] * 7, False),
        ([1, 2, 1, 2, 1, 2], False),
        (list(range(40)), False),
        ([*range(10), 99, *range(10), 98, *range(10), 97, *range(10)], True),
        ([], False),
    ],
)
def test_loops_are_recognised(tokens: list[int], wanted: bool) -> None:
    assert repeats(tokens) == wanted


def judged(source: str, text: str, tokens: list[int], count: int = 5) -> tuple[str, ...]:
    return judge(None, source, range(count), text, Hypothesis(tuple(tokens), -1.0, -1.0, ())).warnings


def test_copies_and_cut_translations_are_recognised() -> None:
    assert judged("the red house stands here", "the red house stands hier", [1, 2, 3]) == ("copied",)
    assert judged("Anna Schmidt", "Anna Schmidt", [1, 2]) == ()
    assert judged("집이 여기 있습니다", "집이 여기 있습니다 정말로 그렇습니다", [1]) == ()
    assert judged("x", "y", [1, 2], 12) == ("short",)
    assert judged("x", "y", [1, 2, 3], 12) == ()


def test_a_loop_is_told_unless_the_source_has_one() -> None:
    loop = Hypothesis((4,) * 8, -1.0, -1.0, ())
    assert judge(None, "x", range(5), "y", loop).warnings == ("repeats",)
    assert judge(None, "x", [7] * 8, "y", loop).warnings == ()


def test_confidence_is_a_logistic_function_of_the_features() -> None:
    hypothesis = Hypothesis((1, 2, 3), -1.0, -8.0, ())
    found = judge(LEVEL, "a", range(3), "b", hypothesis).confidence
    assert found == pytest.approx(1 / (1 + math.exp(1.0)), abs=1e-4)
    unscored = Hypothesis((1, 2, 3), math.nan, math.nan, ())
    assert judge(LEVEL, "a", range(3), "b", unscored).confidence is None


def test_a_fit_finds_the_weights_that_made_the_data() -> None:
    dice = np.random.default_rng(1)
    x = dice.normal(size=(5000, 6))
    y = 1 / (1 + np.exp(-(0.5 + x @ np.array([1.0, -0.5, 0.0, 0.0, 0.0, 0.2]))))
    found = _fitted(x, y)
    assert found.weights == pytest.approx((1.0, -0.5, 0.0, 0.0, 0.0, 0.2), abs=0.05)
    assert found.bias == pytest.approx(0.5, abs=0.05)


def test_spearman_is_the_correlation_of_ranks() -> None:
    assert spearman([1, 2, 3, 4], [1, 4, 9, 16]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486833)
    assert spearman([1, 1], [1, 2]) == 0.0


def test_a_calibration_is_stored_with_the_model(folder: Path) -> None:
    assert read_calibration(folder) is None
    assert load(folder).window(["a house"])[0].confidence is None
    for _ in range(2):
        write_calibration(folder, LEVEL)
        check_manifest(folder)
    translator = load(folder)
    assert translator.calibration == LEVEL
    (one,) = translator.window(["a house"])
    assert one.confidence is not None
    assert 0 <= one.confidence <= 1


def test_a_calibration_that_the_manifest_does_not_list_is_none(folder: Path) -> None:
    (folder / FILE).write_text(json.dumps(LEVEL.model_dump(mode="json")))
    assert read_calibration(folder) is None


def test_a_broken_calibration_is_told(folder: Path) -> None:
    write_calibration(folder, LEVEL)
    broken = {**LEVEL.model_dump(mode="json"), "weights": [1.0]}
    content = json.dumps(broken).encode()
    (folder / FILE).write_bytes(content)
    with pytest.raises(UserError, match=FILE):
        load(folder)


def test_calibrating_needs_pairs_and_says_how_good_it_is(folder: Path) -> None:
    pairs = [RawPair(f"text number {n}", f"Text {n}", None) for n in range(20)]
    with pytest.raises(UserError, match="too few to calibrate on; give at least 100"):
        calibrate_model(folder, pairs)
    found = calibrate_model(folder, [RawPair(f"text number {n}", f"Text {n}", None) for n in range(100)])
    assert found.pairs == 100
    assert -1 <= found.spearman <= 1
    assert read_calibration(folder) == found
    assert found.features == FEATURES


def test_unsure_sentences_stay_untranslated(translator: Translator) -> None:
    with pytest.raises(UserError, match="not calibrated"):
        translator.window(["a house"], Options(min_confidence=0.5))
    translator.calibration = LEVEL
    try:
        (one,) = translator.window(["A house. 집입니다."], Options(min_confidence=1.0))
        assert one.text == "A house. 집입니다."
        assert all(sentence.kept for sentence in one.sentences)
        (sure,) = translator.window(["A house. 집입니다."], Options(min_confidence=0.0))
        assert any(not sentence.kept for sentence in sure.sentences if not sentence.judgement.warnings)
    finally:
        translator.calibration = None
