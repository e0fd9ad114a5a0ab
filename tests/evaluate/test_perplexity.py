import math

import pytest
import torch
from tests.decode.conftest import make, padded, saved, sentences, subwords, translator  # noqa: F401

from regard.config import BOS, EOS
from regard.decode.ensemble import Ensemble
from regard.decode.translator import Options, Translator
from regard.errors import Failed
from regard.evaluate import perplexity as module
from regard.evaluate.perplexity import perplexity, score_ids, score_texts
from regard.model.build import build
from regard.model.saved import Saved

# ruff: noqa: F811


def test_scores_are_sums_of_log_softmax(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, targets = sentences()[:20], sentences()[50:70]
    targets[3] = ""
    sources[4] = ""
    model, spell = translator.model, translator.source_subwords.encode
    wanted = []
    for source, target in zip(spell(sources), spell(targets), strict=True):
        logits = model.logits(model.features(padded([source]), torch.tensor([[BOS, *target]])))[0]
        logs = logits.double().log_softmax(-1)
        wanted.append([float(logs[at, token]) for at, token in enumerate([*target, EOS])])
    for tokens, held in ((2048, 1 << 22), (1, 1), (100, 1000)):
        monkeypatch.setattr(module, "SCORES", held)
        scored = score_texts(translator, sources, targets, batch_tokens=tokens)
        for one, logs in zip(scored, wanted, strict=True):
            assert one.token_scores == pytest.approx(logs, abs=1e-4)
            assert one.log_probability == pytest.approx(sum(logs), abs=1e-3)
            assert len(one.tokens) + 1 == len(one.token_scores)
            assert one.perplexity == pytest.approx(math.exp(-sum(logs) / len(logs)), rel=1e-3)
    total = sum(map(sum, wanted)) / sum(map(len, wanted))
    assert perplexity(scored) == pytest.approx(math.exp(-total), rel=1e-4)


def test_a_search_and_a_score_agree(translator: Translator) -> None:
    text = sentences()[7]
    (translation,) = translator.window([text], Options(split=False))
    found = translation.sentences[0].outputs[0].hypothesis
    (ids,) = translator.source_subwords.encode([text])
    (scores,) = score_ids(translator.model, [ids], [list(found.tokens)])
    assert scores == pytest.approx(found.token_scores, abs=1e-5)


def test_ensembles_are_scored(saved: Saved) -> None:
    ensemble = Ensemble([saved.model, saved.model])
    twice = Translator(saved, later=lambda: ensemble)
    alone = score_texts(Translator(saved), ["The man."], ["Der Mann."])[0]
    together = score_texts(twice, ["The man."], ["Der Mann."])[0]
    assert together.token_scores == pytest.approx(alone.token_scores, abs=1e-5)


def test_scores_that_are_not_numbers_are_told(saved: Saved) -> None:
    broken = build(saved.config).eval().requires_grad_(False)
    broken.projection_VD.fill_(math.nan)
    with pytest.raises(Failed, match="not numbers"):
        score_ids(broken, [[5, 6]], [[7]])


def test_nothing() -> None:
    assert perplexity([]) == 1.0
