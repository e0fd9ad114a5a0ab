from collections.abc import Callable

import pytest
import torch
from tests.support.models import padded

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.ensemble import Ensemble

Make = Callable[..., Seq2Seq]
SOURCES = [[4, 5, 6], [7], []]


def test_a_model_with_itself_is_the_model(make: Make) -> None:
    model, config = make(1, vocabulary=20), DecodeConfig(extra_length=5)
    alone = beam_search(model, padded(SOURCES), config, n_best=3)
    for parts in ([model], [model, model, model]):
        together = beam_search(Ensemble(parts).eval(), padded(SOURCES), config, n_best=3)
        for one, other in zip(alone, together, strict=True):
            assert [hypothesis.tokens for hypothesis in one] == [hypothesis.tokens for hypothesis in other]
            scores = [hypothesis.score for hypothesis in other]
            assert [hypothesis.score for hypothesis in one] == pytest.approx(scores, abs=1e-5)


def test_probabilities_are_averaged(make: Make) -> None:
    models = [make(seed, vocabulary=20) for seed in range(3)]
    ensemble = Ensemble(models)
    source, target = padded(SOURCES), torch.tensor([[BOS, 5, 6], [BOS, 7, 8], [BOS, 9, 9]])
    wanted = torch.stack([m.logits(m.features(source, target)).softmax(-1) for m in models]).mean(0)
    torch.testing.assert_close(ensemble.logits(ensemble.features(source, target)).exp(), wanted)
    logits, state = ensemble.advance(target, ensemble.start(ensemble.encode(source), 3))
    torch.testing.assert_close(logits.exp(), wanted)
    assert state.length == 3
    assert len(ensemble.attentions(source, target).cross) == 2


def test_it_trains_while_any_of_its_models_does(make: Make) -> None:
    resting, training = make(1), make(2).train()
    assert not Ensemble([resting]).training
    assert Ensemble([resting, training]).training and resting.training, "an engine stops dropout by this flag"


def test_vocabularies_must_agree(make: Make) -> None:
    with pytest.raises(UserError, match="must share one"):
        Ensemble([make(1, vocabulary=20), make(1, vocabulary=21)])
