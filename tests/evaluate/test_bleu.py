import random
from importlib.util import find_spec

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import UserError
from regard.evaluate.bleu import (
    OTHERS,
    Tokens,
    bleu,
    bleu_compound,
    bleu_lowercase,
    by_length,
    chrf,
    compare,
    compounds,
    ter,
)
from regard.evaluate.score_report import score_report

WORDS = ["ein", "Hund", "läuft", "schnell", "über", "die", "Nord-Süd-Straße", ",", "und", "der", "Mann", "sagt", ":"]
WORDS += ["„", "Ja", "!", "“", "12,5", "%", "할머니가", "봅니다", "."]


def corpus(lines: int = 30, noise: float = 0.3, longest: int = 20) -> tuple[list[str], list[list[str]]]:
    """Hypotheses and two references, alike but for some words."""
    choose = random.Random(1)
    first = [" ".join(choose.choices(WORDS, k=choose.randint(1, longest))) for _ in range(lines)]

    def changed(line: str) -> str:
        return " ".join(choose.choice(WORDS) if choose.random() < noise else word for word in line.split())

    return [changed(line) for line in first], [first, [changed(line) for line in first]]


@pytest.mark.parametrize("count", [1, 2])
def test_figures_are_sacrebleus_own(count: int) -> None:
    hypotheses, references = corpus()
    references = references[:count]
    for ours, metric in (
        (bleu, BLEU()),
        (chrf, CHRF()),
        (ter, TER()),
        (bleu_lowercase, BLEU(lowercase=True, smooth_method="none")),
    ):
        found = ours(hypotheses, references)
        assert found.value == metric.corpus_score(hypotheses, references).score
        assert found.signature == str(metric.get_signature())
    assert bleu(hypotheses, references).value == sacrebleu.corpus_bleu(hypotheses, references).score
    assert f"nrefs:{count}" in bleu(hypotheses, references).signature
    assert "case:lc" in bleu_lowercase(hypotheses, references).signature


@pytest.mark.parametrize("tokens", ["13a", "intl", "zh", "char", "ko-mecab"])
def test_tokens_of_other_languages(tokens: Tokens) -> None:
    hypotheses, references = corpus()
    hypotheses, references = (
        [*hypotheses, "할머니가 학교에 갔다."],
        [[*lines, "할머니는 학교에 간다."] for lines in references],
    )
    found, wanted = bleu(hypotheses, references, tokens), BLEU(tokenize=tokens)
    assert found.value == wanted.corpus_score(hypotheses, references).score
    assert found.signature == str(wanted.get_signature()) and f"tok:{tokens}" in found.signature
    figures = score_report(hypotheses, references, baseline=references[0], tokens=tokens)
    assert figures.scores["bleu"] == found
    assert figures.comparisons is not None and f"tok:{tokens}" in figures.comparisons[0].signature
    if tokens == "ko-mecab":  # particles and endings count by themselves, so that more of a word may be right
        assert found.value > bleu(hypotheses, references).value


@pytest.mark.skipif(find_spec("MeCab") is not None, reason="what cuts Japanese into words is here")
def test_tokens_that_are_not_installed() -> None:
    with pytest.raises(UserError, match=r"pip install 'regard\[japanese\]'"):
        bleu(["犬"], [["犬"]], "ja-mecab")


def test_compounds_are_split_as_in_the_paper() -> None:
    assert compounds("Die Nord-Süd-Straße (1990-95).") == (
        "Die Nord ##AT##-##AT## Süd ##AT##-##AT## Straße ( 1990 - 95 ) ."
    )
    hypotheses, references = corpus()
    split = [[compounds(line) for line in lines] for lines in (hypotheses, *references)]
    plain = BLEU(tokenize="none", force=True, smooth_method="none").corpus_score(split[0], split[1:])
    found = bleu_compound(hypotheses, references)
    assert found.value == plain.score
    assert "tok:13a+compounds" in found.signature
    assert found.value != bleu(hypotheses, references).value


def test_groups_by_length() -> None:
    hypotheses, references = corpus(200, longest=60)
    buckets = by_length(references[0], hypotheses, references)
    assert [bucket.words for bucket in buckets] == ["0-10", "11-20", "21-30", "31-40", "41-50", "over 50"]
    assert sum(bucket.sentences for bucket in buckets) == 200
    chosen = [at for at, line in enumerate(references[0]) if 11 <= len(line.split()) <= 20]
    parts = [[lines[at] for at in chosen] for lines in (hypotheses, *references)]
    assert buckets[1].bleu == sacrebleu.corpus_bleu(parts[0], parts[1:]).score
    assert [bucket.words for bucket in by_length(["", "a b"], ["", "a b"], [["", "a b"]])] == ["0-10"]


def test_systems_are_compared() -> None:
    better, references = corpus(noise=0.1)
    worse, _ = corpus(noise=0.5)
    found = compare(worse, better, references)
    assert [one.metric for one in found] == ["BLEU", "chrF2"]
    for one in found:
        assert one.score > one.baseline
        assert one.p < 0.01
        assert "bs:1000" in one.signature
    assert found[0].score == bleu(better, references).value
    assert compare(better, better, references)[0].p == 1


def test_groups_are_by_the_sources_where_there_are_sources() -> None:
    hypotheses, references = corpus(12)
    sources = ["word " * (5 * number) for number in range(12)]
    for given, texts in ((sources, sources), (None, references[0])):
        wanted = by_length(texts, hypotheses, references)
        assert score_report(hypotheses, references, sources=given).by_length == wanted
    assert by_length(sources, hypotheses, references) != by_length(references[0], hypotheses, references)


def test_reports() -> None:
    hypotheses, references = corpus()
    whole = score_report(hypotheses, references, baseline=hypotheses, perplexity=4.5)
    figures = whole.as_dict()
    assert figures["bleu"] == bleu(hypotheses, references).value
    assert figures["signature"] == bleu(hypotheses, references).signature
    assert {*OTHERS, "perplexity", "segments", "by_length", "comparisons", "chrf_signature"} <= set(figures)
    text = whole.as_text()
    assert f"{figures['bleu']:.2f}   {figures['signature']}" in text
    assert "4.500" in text
    latex = whole.as_latex()
    assert f"BLEU & {figures['bleu']:.1f} \\\\" in latex
    assert latex.count("\\hline") == 2
    bare = score_report(hypotheses, references)
    assert "perplexity" not in bare.as_dict()
    assert "comparisons" not in bare.as_dict()
    assert "against" not in bare.as_text()


def test_nothing_to_measure() -> None:
    with pytest.raises(UserError, match="no lines to measure"):
        score_report([], [[]])
