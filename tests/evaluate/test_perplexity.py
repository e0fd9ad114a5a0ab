import math
from dataclasses import replace

import pytest
import torch
from tests.support.models import padded, sentences

from regard.config.special_tokens import BOS, EOS
from regard.errors import Failed, UserError
from regard.evaluate import perplexity as module
from regard.evaluate.perplexity import Scored, perplexity, score_ids, score_texts
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.search.ensemble import Ensemble
from regard.text.subwords import Subwords
from regard.translate.translator import Options, Translator


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
        for one, right in zip(scored, wanted, strict=True):
            assert one.token_scores == pytest.approx(right, abs=1e-4)
            assert one.log_probability == pytest.approx(sum(right), abs=1e-3)
            assert len(one.tokens) + 1 == len(one.token_scores)
            assert one.perplexity == pytest.approx(math.exp(-sum(right) / len(right)), rel=1e-3)
    total = sum(map(sum, wanted)) / sum(map(len, wanted))
    assert perplexity(scored) == pytest.approx(math.exp(-total), rel=1e-4)


def test_a_search_and_a_score_agree(translator: Translator) -> None:
    text = sentences()[7]
    (translation,) = translator.window([text], Options(split=False, protect=False, force=True))
    found = translation.sentences[0].outputs[0].hypothesis
    (ids,) = translator.source_subwords.encode([text])
    (scores,) = score_ids(translator.model, [ids], [list(found.tokens)])
    assert scores == pytest.approx(found.token_scores, abs=1e-5)


def test_ensembles_are_scored(saved: LoadedModel) -> None:
    ensemble = Ensemble([saved.model, saved.model])
    twice = Translator(saved, later=lambda: ensemble)
    alone = score_texts(Translator(saved), ["The man."], ["Der Mann."])[0]
    together = score_texts(twice, ["The man."], ["Der Mann."])[0]
    assert together.token_scores == pytest.approx(alone.token_scores, abs=1e-5)


def test_scores_that_are_not_numbers_are_told(saved: LoadedModel) -> None:
    broken = build(saved.config).eval().requires_grad_(False)
    broken.projection_VD.fill_(math.nan)
    with pytest.raises(Failed, match="not numbers"):
        score_ids(broken, [[5, 6]], [[7]])


def test_a_text_is_as_long_as_the_model_can_read_and_no_longer(saved: LoadedModel) -> None:
    config = saved.config.model_copy(update={"positions": "learned", "max_length": 12})
    limited = Translator(replace(saved, config=config, model=build(config).eval().requires_grad_(False)))
    fits, over = "1" * 10, "1" * 11  # a space before them is a token, too
    assert [len(ids) for ids in limited.source_subwords.encode([fits, over])] == [11, 12]
    assert len(score_texts(limited, ["1", fits], [fits, "1"])) == 2
    for pair in (("1", over), (over, "1")):
        with pytest.raises(UserError, match="line 2: 12 tokens, but the model can read no more than 11"):
            score_texts(limited, ["1", pair[0]], ["1", pair[1]])


def test_the_source_says_into_which_language(saved: LoadedModel) -> None:
    tagged = Subwords.train(sentences(), 400, tags=("<2de>", "<2ko>"))
    both = Translator(replace(saved, languages=(None, None), subwords={"subwords.model": tagged.content}))
    source, target = tagged.encode(["The man.", "Der Mann."])
    for language in ("de", "ko"):
        (found,) = score_texts(both, ["The man."], ["Der Mann."], target_language=language)
        assert found.token_scores == score_ids(saved.model, [[tagged.tag(f"<2{language}>"), *source]], [target])[0]


def test_what_is_next_to_impossible_is_infinitely_perplexing() -> None:
    assert Scored(("x",), (-1e6, 0.0)).perplexity == math.inf
    assert Scored((), (-2.0,)).perplexity == pytest.approx(math.exp(2))


def test_nothing() -> None:
    assert perplexity([]) == 1.0
