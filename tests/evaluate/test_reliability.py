from pathlib import Path

import pytest
import sacrebleu
from tests.support.models import sentences

from regard.errors import UserError
from regard.evaluate.evaluation import evaluate
from regard.evaluate.reliability import reliability
from regard.paper.reliability import draw
from regard.saved.calibration import Calibration
from regard.translate.translator import Translator

TEXTS = [f"고양이 {n} מים cafe\u0301 👩\u200d👧 one two three four" for n in range(40)]
CALIBRATION = Calibration(
    mean=(0.0,) * 6, scale=(1.0,) * 6, weights=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0), bias=0.5, pairs=100, spearman=0.5
)


def test_confidence_that_is_right_ranks_as_chrf_does() -> None:
    made = [text[: 5 + len(text) * n // 40] for n, text in enumerate(TEXTS)]
    quality = [sacrebleu.sentence_chrf(one, [text]).score / 100 for one, text in zip(made, TEXTS, strict=True)]
    found = reliability(quality, made, [TEXTS])
    assert found.spearman == pytest.approx(1.0)
    assert found.groups == [
        (pytest.approx(mean), pytest.approx(mean))
        for mean in (sum(sorted(quality)[at : at + 4]) / 4 for at in range(0, 40, 4))
    ]
    assert found.bleu == sacrebleu.corpus_bleu(made, [TEXTS]).score
    best = sorted(range(40), key=quality.__getitem__)[8:]
    surest = sacrebleu.corpus_bleu([made[n] for n in best], [[TEXTS[n] for n in best]]).score
    assert found.bleu_without_least_sure_fifth == pytest.approx(surest)
    assert surest > found.bleu
    turned = reliability([1 - one for one in quality], made, [TEXTS])
    assert turned.spearman == pytest.approx(-1.0)
    assert turned.bleu_without_least_sure_fifth < turned.bleu


def test_every_reference_counts_and_translations_without_a_confidence_do_not() -> None:
    wrong = ["x"] * 40
    sure: list[float | None] = [n / 40 for n in range(40)]
    both = reliability(sure, TEXTS, [wrong, TEXTS])
    assert (both.bleu, both.groups[0][1]) == (pytest.approx(100.0), pytest.approx(1.0))
    sure[:20] = [None] * 20
    assert reliability(sure, TEXTS, [TEXTS]).groups[0][0] == pytest.approx((20 + 21) / 2 / 40)
    sure[20] = None
    with pytest.raises(UserError, match="19 translations have a confidence, too few"):
        reliability(sure, TEXTS, [TEXTS])


def test_a_model_is_compared_if_it_is_calibrated(translator: Translator, tmp_path: Path) -> None:
    texts = sentences()[:25]
    with pytest.raises(UserError, match="not calibrated"):
        evaluate(translator, texts, texts, reliability=True)
    assert evaluate(translator, texts, texts).report.reliability is None
    translator.calibration = CALIBRATION
    try:
        report = evaluate(translator, texts, texts, reliability=True).report
    finally:
        translator.calibration = None
    assert report.reliability is not None
    assert report.as_dict()["reliability"]["spearman"] == report.reliability.spearman
    assert "Spearman's correlation with sentence chrF\nsurest 4/5" in report.as_text()
    for name in ("one.svg", "one.png"):
        draw(report.reliability, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert "mean confidence" in (tmp_path / "one.svg").read_text(encoding="utf-8")
