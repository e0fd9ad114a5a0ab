"""Small models under the native engine and under the reference."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.support.engines import learn
from tests.support.models import like_trained

from regard.config.model import model_config
from regard.config.special_tokens import EOS
from regard.engines.native.choice import why_unavailable
from regard.engines.native.native_engine import NativeEngine
from regard.engines.torch_engine import TorchEngine
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.saved.folder import as_arrays

SMALL: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 32, "d_ff": 48, "heads": 2, "dropout": 0}
VOCABULARY = 40


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = why_unavailable()
    if reason is not None:
        for item in items:
            if "engines/native" in item.nodeid:
                item.add_marker(pytest.mark.skip(f"there is no native engine here: {reason}"))


class Pair:
    """One model under both engines, trained a little, so that its outputs end by themselves and its beams differ."""

    def __init__(self, steps: int, end: float, **changes: Any) -> None:
        torch.manual_seed(1)
        self.config = model_config(**{**SMALL, "vocabulary": VOCABULARY, **changes})
        self.model: Seq2Seq = build(self.config)
        like_trained(self.model)
        learn(self.model, steps)
        with torch.no_grad():  # as in like_trained, the logit's own bias
            self.model.projection_VD[EOS] += end / self.model.projection_VD.shape[1]
        self.weights = as_arrays(self.model.state_dict())
        longest = self.config.max_length - 1 if self.config.positions == "learned" else None
        # In float64, so that the reference's rounding decides between no two hypotheses.
        self.torch = TorchEngine(copy.deepcopy(self.model).double(), longest=longest)

    def native(self, *, int8: bool = False, threads: int = 2, isa: str | None = None) -> NativeEngine:
        return NativeEngine(
            self.config, self.weights, int8=int8, threads=threads, isa=isa, reference=lambda: self.torch
        )


@pytest.fixture(scope="session")
def pair_of() -> Callable[..., Pair]:
    made: dict[str, Pair] = {}

    def of(steps: int = 80, end: float = 0.0, **changes: Any) -> Pair:
        key = repr((steps, end, sorted(changes.items())))
        if key not in made:
            made[key] = Pair(steps, end, **changes)
        return made[key]

    return of
