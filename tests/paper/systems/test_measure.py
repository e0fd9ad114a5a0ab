"""Intervals of BLEU, groups by length and the cost of training."""

import random
from itertools import pairwise

import pytest

from regard.config.presets import preset
from regard.data.prepared import Prepared
from regard.evaluate.bleu import bleu
from regard.model.cost import cost
from regard.paper.systems.measure import bleu_interval, length_groups, training_flops
from regard.paper.table2 import mean_lengths
from regard.train.run import settle


def texts(count: int) -> tuple[list[str], list[str], list[str]]:
    chance = random.Random(1)
    references = [" ".join(chance.choice("abcdefgh") for _ in range(chance.randint(4, 20))) for _ in range(count)]
    lines = [" ".join(w if chance.random() < 0.8 else "x" for w in line.split()) for line in references]
    return references, lines, references


def test_the_interval_holds_the_score_and_narrows_with_more_sentences() -> None:
    widths = []
    for count in (50, 800):
        _, lines, references = texts(count)
        low, high = bleu_interval(lines, references)
        assert low < bleu(lines, [references]).value < high
        widths.append(high - low)
    assert widths[1] < 0.5 * widths[0]
    assert bleu_interval(references, references) == pytest.approx((100.0, 100.0))


def test_groups_have_equally_many_sentences_and_at_least_200() -> None:
    for count, groups in ((1000, 4), (650, 3), (399, 1), (10, 1)):
        sources, lines, references = texts(count)
        found = length_groups(sources, lines, references)
        assert len(found) == groups and sum(group.sentences for group in found) == count
        assert max(g.sentences for g in found) - min(g.sentences for g in found) <= 1
        bounds = [tuple(map(int, group.words.split("-"))) for group in found]
        assert all(one[1] <= other[0] for one, other in pairwise(bounds))
        assert all(group.interval[0] <= group.bleu <= group.interval[1] for group in found)


def test_operations_of_reward_include_the_samples(data: Prepared) -> None:
    config = settle(preset("gnmt"), data)
    source, target = mean_lengths(data)
    forward = cost(config.model, source, target).forward_flops / (source + target)
    assert training_flops(config, data, 1000) == pytest.approx(3 * forward * 1000)
    reward = config.model_copy(update={"train": config.train.model_copy(update={"objective": "reward", "samples": 5})})
    assert training_flops(reward, data, 1000) == pytest.approx((3 + 5 * (1 + 3)) * forward * 1000)
