"""Cleaner pairs: each filter drops what it should, and counts it by name."""

import math
from pathlib import Path

import pytest
import torch

from regard.config.special_tokens import BOS, EOS
from regard.errors import UserError
from regard.pairs.clean import Cleaning, clean, dual_cross_entropy
from regard.translate.load import load

GOOD = [
    ("Where is the station?", "Wo ist der Bahnhof?"),
    ("I have no time today.", "Ich habe heute keine Zeit."),
    ("My sister works in a hospital.", "Meine Schwester arbeitet in einem Krankenhaus."),
    ("We ate too much yesterday.", "Wir haben gestern zu viel gegessen."),
    ("The dog is sleeping.", "Der Hund schläft."),
    ("OK", "OK 🙂"),
]


def write(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def kept(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def test_another_language_on_either_side(tmp_path: Path) -> None:
    bad = [
        ("이 문장은 한국어로 쓰였습니다.", "Wo ist der Bahnhof?"),
        ("Where is the station?", "Where is the next station, please?"),
        ("Where is the station?", "איפה תחנת הרכבת הקרובה?"),
        ("", "Der Hund schläft."),
    ]
    files = [write(tmp_path / "pairs.tsv", [*GOOD[:3], *bad, *GOOD[3:]])]
    report = clean(files, tmp_path / "out.tsv", Cleaning(languages=("en-US", "de")))
    assert kept(tmp_path / "out.tsv") == GOOD
    assert report.as_dict() == {
        "read": 10,
        "written": 6,
        "dropped": {"empty": 1, "source in another language": 1, "target in another language": 2},
    }


def test_near_duplicates_keep_the_first_and_other_translations(tmp_path: Path) -> None:
    first = ("If you migrate from version 4.7.1 to 4.7.2, read the following topics first.",
             "버전 4.7.1에서 4.7.2로 마이그레이션하려면 먼저 다음 항목을 읽으세요.")  # fmt: skip
    again = (first[0].replace("4.7.2", "4.8"), first[1].replace("4.7.2로", "4.8로"))
    other = (first[0], "새 판으로 옮기기 전에 아래 글부터 보십시오.")
    short = [("Red", "빨강"), ("Rex", "빨깡")]
    files = [write(tmp_path / "pairs.tsv", [first, again, other, *short])]
    report = clean(files, tmp_path / "out.tsv", Cleaning(near_duplicates=0.7))
    assert kept(tmp_path / "out.tsv") == [first, other, *short]
    assert report.dropped == {"near-duplicate": 1}


def test_pairs_that_are_no_translations_score_worst(tmp_path: Path) -> None:
    wrong = [
        ("We ate too much yesterday.", "Der Zug fährt morgen nach Berlin."),
        ("I like red apples.", "Der Hund bellt."),
    ]
    files = [write(tmp_path / "pairs.tsv", [wrong[0], *GOOD[:5], wrong[1], ("x " * 2000, "y")])]
    report = clean(files, tmp_path / "out.tsv", Cleaning(model="en-de", keep=5 / 7))
    assert kept(tmp_path / "out.tsv") == GOOD[:5]
    assert report.dropped == {"unlikely by both models": 2, "too long to score": 1}


def test_the_score_is_the_formula_of_the_paper() -> None:
    translator = load("en-de", engine="torch")
    [found] = dual_cross_entropy(translator, translator, GOOD[:1], ("de", "en"))
    entropies = []
    for (source, target), language in ((GOOD[0], "de"), (GOOD[0][::-1], "en")):
        ids = [*translator.tag(language), *translator.source_subwords.encode([source])[0], EOS]
        expected = [*translator.target_subwords.encode([target])[0], EOS]
        with torch.inference_mode():
            features = translator.model.features(torch.tensor([ids]), torch.tensor([[BOS, *expected[:-1]]]))
            log_p = translator.model.logits(features)[0].double().log_softmax(-1)
        entropies.append(-sum(float(log_p[at, token]) for at, token in enumerate(expected)) / len(expected))
    assert math.isclose(found, abs(entropies[0] - entropies[1]) + sum(entropies) / 2, rel_tol=1e-5)


def test_mistakes_leave_nothing_behind(tmp_path: Path) -> None:
    files = [write(tmp_path / "pairs.tsv", GOOD)]
    with pytest.raises(UserError, match="nothing to clean by"):
        clean(files, tmp_path / "out.tsv", Cleaning())
    with pytest.raises(UserError, match="no such file"):
        clean([str(tmp_path / "none.tsv")], tmp_path / "out.tsv", Cleaning(near_duplicates=0.7))
    (tmp_path / "bad.tsv").write_text("no tab here\n", encoding="utf-8")
    with pytest.raises(UserError, match="no tab"):
        clean([str(tmp_path / "bad.tsv")], tmp_path / "out.tsv", Cleaning(near_duplicates=0.7))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tsv", "pairs.tsv"]
    report = clean([str(tmp_path / "bad.tsv")], tmp_path / "out.tsv", Cleaning(near_duplicates=0.7, skip_invalid=True))
    assert (report.read, report.written, report.dropped) == (1, 0, {"no tab": 1})
