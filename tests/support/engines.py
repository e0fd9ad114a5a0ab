"""An engine that answers with what it is asked, and searches whose results engines must share."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from tests.support.models import padded
from torch.nn.functional import cross_entropy

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, PAD
from regard.engines.engine import Progress, Request, quiet
from regard.model.seq2seq import Seq2Seq
from regard.search.hypothesis import Hypothesis


class Echo:
    """An engine that answers with what it is asked, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[Sequence[int]] = []
        self.calls = 0

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        self.calls += 1
        self.asked += sources
        return [
            [Hypothesis(tuple(source), -1.0 - n, -1.0 - n, (-0.1,) * (len(source) + 1)) for n in range(request.n_best)]
            for source in sources
        ]


def learn(model: Seq2Seq, steps: int) -> None:
    """Teach a model a little copying, so that its outputs end by themselves and its beams differ."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(2)
    for _ in range(steps):
        rows = [
            torch.randint(4, 24, (length,), generator=generator).tolist()
            for length in torch.randint(1, 12, (32,), generator=generator).tolist()
        ]
        expected_BT = padded(rows)
        before_BT = torch.cat((torch.full_like(expected_BT[:, :1], BOS), expected_BT[:, :-1]), dim=1)
        logits_BTV = model.logits(model.features(expected_BT, before_BT))
        cross_entropy(logits_BTV.flatten(0, 1), expected_BT.flatten(), ignore_index=PAD).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().requires_grad_(False)


def sources(count: int = 24, longest: int = 11) -> list[list[int]]:
    """Of very different lengths, in no order."""
    generator = torch.Generator().manual_seed(5)
    lengths = [1, longest, *torch.randint(1, longest, (count - 2,), generator=generator).tolist()]
    return [torch.randint(4, 24, (length,), generator=generator).tolist() for length in lengths]


def same(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]], *, tokens: bool = True) -> None:
    assert [[one.tokens for one in some] for some in found] == [[one.tokens for one in some] for some in wanted]
    for one, other in zip(itertools.chain(*found), itertools.chain(*wanted), strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-4, abs=1e-4, nan_ok=True)
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-4, abs=1e-4, nan_ok=True)
        if tokens:
            assert one.token_scores == pytest.approx(other.token_scores, abs=1e-4)
            assert sum(one.token_scores) == pytest.approx(one.log_probability)


SEARCHES = [
    Request(DecodeConfig(beam=1, extra_length=20)),
    Request(DecodeConfig(beam=4, extra_length=20)),
    Request(DecodeConfig(beam=4, extra_length=20, alpha=1.0, penalty="average"), n_best=4),
    Request(DecodeConfig(beam=3, extra_length=20, alpha=0.0), n_best=2),
    Request(DecodeConfig(beam=5, extra_length=20, alpha=1.5), n_best=3),
]
