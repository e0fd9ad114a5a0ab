"""Mask-predict against the same with lists."""

import math

import pytest
import torch
from tests.support.models import padded

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS
from regard.errors import Failed
from regard.model.build import build
from regard.model.later.mask_predict import MaskPredict
from regard.search.mask_predict import likely_lengths, mask_predict

SOURCES = [[4, 5, 6, 7, 8], [6], [], [5, 5, 4, 6, 5, 4]]


def random_model(seed: int) -> MaskPredict:
    torch.manual_seed(seed)
    sizes = {"vocabulary": 12, "encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 16, "heads": 2}
    model = build(model_config(architecture="mask-predict", max_length=10, **sizes)).eval().requires_grad_(False)
    assert isinstance(model, MaskPredict)
    model.projection_VD.mul_(3.0)
    return model


def plain(
    model: MaskPredict, source: list[int], length: int, iterations: int
) -> tuple[list[int], list[float], list[int]]:
    """Tokens, log probabilities and iterations of one length, with lists."""
    memory = model.encode(padded([source]))
    tokens, scores, steps = [BOS] * length, [0.0] * length, [1] * length
    masked = list(range(length))
    for iteration in range(iterations):
        if iteration:
            count = (length - 1) * (iterations - iteration) // iterations
            masked = sorted(range(length - 1), key=lambda place: (scores[place], place))[:count]
        given = torch.tensor([[BOS if place in masked else token for place, token in enumerate(tokens)]])
        logs = model.fill(given, memory)[0].log_softmax(-1).tolist()
        for place in masked:
            allowed = [EOS] if place == length - 1 else range(4, 12)
            tokens[place] = max(allowed, key=lambda token: logs[place][token])
            scores[place], steps[place] = logs[place][tokens[place]], iteration + 1
    return tokens, scores, steps


@pytest.mark.parametrize("iterations", [1, 2, 4, 10])
@pytest.mark.parametrize("seed", range(3))
def test_it_masks_the_least_probable_again(seed: int, iterations: int) -> None:
    model = random_model(seed)
    config = DecodeConfig(beam=3, extra_length=5)
    together = mask_predict(model, padded(SOURCES), config, iterations, n_best=2, longest=9)
    for source, found in zip(SOURCES, together, strict=True):
        logits = model.length_logits(model.encode(padded([source])))[0].tolist()
        within = range(min(len(source) + 5, 9) + 1)
        lengths = sorted(within, key=lambda place: -logits[place])[:3]
        expected = []
        for length in (place + 1 for place in lengths):
            tokens, scores, steps = plain(model, source, length, iterations)
            expected.append((sum(scores) / length, tokens, scores, steps))
        expected.sort(key=lambda one: -one[0])
        assert len(found) == 2
        for hypothesis, (score, tokens, scores, steps) in zip(found, expected, strict=False):
            assert list(hypothesis.tokens) == tokens[:-1] and list(hypothesis.steps) == steps
            assert hypothesis.score == pytest.approx(score, abs=1e-5)
            assert hypothesis.token_scores == pytest.approx(scores, abs=1e-5)
            assert hypothesis.log_probability == pytest.approx(math.fsum(scores), abs=1e-4)


def test_lengths_stay_within_the_limit() -> None:
    logits = torch.tensor([[0.0, 1.0, 5.0, 9.0], [9.0, 1.0, 0.0, 2.0]])
    assert likely_lengths(logits, [2, 3], 2).tolist() == [[3, 2], [1, 4]]
    assert likely_lengths(logits, [0, 3], 4).tolist() == [[1], [1]]


def test_logits_that_are_no_numbers_are_a_failure() -> None:
    model = random_model(0)
    model.projection_VD[5] = torch.nan
    with pytest.raises(Failed, match="not numbers"):
        mask_predict(model, padded([[4]]), DecodeConfig(), 2)
