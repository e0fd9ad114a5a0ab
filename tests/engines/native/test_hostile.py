"""Sizes are checked before anything is allocated: a damaged or hostile model is refused, and never crashes."""

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engines.native.conftest import Pair
from tests.support.engines import SEARCHES, sources

from regard.engines.native.library import MESSAGE, Config, Progress, Rules, SearchOptions, Tensor, library
from regard.engines.native.native_engine import NativeEngine
from regard.engines.native.pack import packed_config, packed_tensors
from regard.errors import UserError

PairOf = Callable[..., Pair]
VALUES = (-(2**31), -1, 0, 1, 2, 3, 7, 16, 17, 255, 1 << 16, 1 << 24, 2**31 - 1)


def create(config: Config, tensors: list[Any], shapes: list[tuple[int, int]]) -> str:
    """What the library says to a model; nothing if it takes it."""
    given = (Tensor * len(tensors))(
        *(Tensor(tensor.ctypes.data, *shape) for tensor, shape in zip(tensors, shapes, strict=True))
    )
    message = ctypes.create_string_buffer(MESSAGE)
    isa = library().regard_native_isa(b"auto")
    engine = library().regard_native_create(config, given, len(tensors), isa, 1, message, MESSAGE)
    if engine:
        library().regard_native_free(engine)
    return message.value.decode()


def parts(pair: Pair) -> tuple[list[Any], list[tuple[int, int]]]:
    tensors = packed_tensors(pair.config, pair.weights)
    return tensors, [(1, *tensor.shape)[-2:] for tensor in tensors]


def test_a_changed_config_is_refused_or_fits(pair_of: PairOf) -> None:
    """Every field, and pairs of them, with values at and beyond every limit."""
    pair = pair_of()
    tensors, shapes = parts(pair)
    assert create(packed_config(pair.config, int8=True), tensors, shapes) == ""
    names = [name for name, *_ in Config._fields_ if name != "attention_scale"]
    generator = random.Random(0)
    changes = [{name: value} for name in names for value in VALUES]
    changes += [{name: generator.choice(VALUES) for name in generator.sample(names, 2)} for _ in range(100)]
    refused = 0
    for change in changes:
        config = packed_config(pair.config, int8=generator.random() < 0.5)
        for name, value in change.items():
            setattr(config, name, value)
        refused += create(config, tensors, shapes) != ""
    assert refused > len(changes) / 2


def test_changed_shapes_are_refused(pair_of: PairOf) -> None:
    pair = pair_of()
    tensors, shapes = parts(pair)
    config = packed_config(pair.config, int8=False)
    for number, (rows, columns) in enumerate(shapes):
        for changed in ((rows + 1, columns), (rows, columns - 1), (-rows, columns), (columns + 1, rows), (0, 0)):
            said = create(config, tensors, [*shapes[:number], changed, *shapes[number + 1 :]])
            assert said.startswith(f"tensor {number} is "), (shapes[number], changed)
    assert create(config, tensors[:-1], shapes[:-1]) == "there are too few tensors"
    assert create(config, [*tensors, tensors[0]], [*shapes, shapes[0]]) == "there are more tensors than the model has"


def test_missing_and_foreign_weights_are_named(pair_of: PairOf) -> None:
    pair = pair_of()
    without = {name: weight for name, weight in pair.weights.items() if name != "decoder.1.cross.key.bias"}
    with pytest.raises(UserError, match="decoder.1.cross.key.bias is missing"):
        NativeEngine(pair.config, without, int8=False)
    with pytest.raises(UserError, match="other has no place"):
        NativeEngine(pair.config, {**pair.weights, "other": np.zeros(1)}, int8=False)


def test_ids_out_of_the_vocabulary_are_refused(pair_of: PairOf) -> None:
    engine = pair_of().native()
    for token in (-1, 40, 2**31 - 1):
        with pytest.raises(UserError, match="an id is not in the vocabulary"):
            engine.search([*sources(4), [token]], SEARCHES[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"beam": 0}, "the beam is out of range"),
        ({"beam": 65, "n_best": 1}, "the beam is out of range"),
        ({"n_best": 0}, "n_best is out of range"),
        ({"n_best": 5}, "n_best is out of range"),
        ({"extra_length": -1}, "extra_length is out of range"),
        ({"alpha": float("nan")}, "alpha is out of range"),
        ({"alpha": -0.1}, "alpha is out of range"),
        ({"penalty": 2}, "the penalty is unknown"),
        ({"batch_tokens": 0}, "batch_tokens is out of range"),
        ({"prefix_length": -1}, "the prefix is too long"),
        ({"prefix_length": 1 << 20}, "the prefix is too long"),
        ({"required_length": -1}, "what is required is damaged"),
        ({"required": [0, 1, 5]}, "what is required is damaged"),
        ({"required": [-1, 1, 5]}, "what is required is damaged"),
        ({"required": [9, 1, 5]}, "what is required is damaged"),
        ({"required": [1]}, "what is required is damaged"),
        ({"required": [2, 1, 5]}, "what is required is cut off"),
        ({"required": [1, 0, 5]}, "what is required is damaged"),
        ({"required": [1, 2, 5]}, "what is required is damaged"),
        ({"required": [1, 1, 40]}, "an id is not in the vocabulary"),
        ({"required": [1, 2, 5, 3]}, "EOS can't be required"),
        ({"required": [1, 64, *[5] * 64]}, "too much is required"),
        ({"required": [1, 1, 5] * 64}, "too much is required"),
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(pair_of: PairOf, change: dict[str, Any], said: str) -> None:
    engine = pair_of().native()
    prefix, ids, lengths = np.zeros(1, np.int32), np.array([5, 3], np.int32), np.array([2], np.int64)
    options = SearchOptions(beam=4, n_best=1, batch_tokens=9, alpha=0.6)
    required = np.array(change.get("required", ()), np.int32)
    rules = Rules(prefix.ctypes.data, required.ctypes.data, 0, len(required))
    for name, value in change.items():
        if name != "required":
            setattr(rules if hasattr(rules, name) else options, name, value)
    message = ctypes.create_string_buffer(MESSAGE)
    found = library().regard_native_search(
        *(engine.engine, ids.ctypes.data, lengths.ctypes.data, 1, rules, options, Progress(), message, MESSAGE)
    )
    assert not found
    assert message.value.decode() == said


def test_attention_to_nothing_known_is_refused(pair_of: PairOf) -> None:
    engine = pair_of().native()
    for source, target in (([40], [5]), ([5], [40]), ([5], [-1])):
        with pytest.raises(UserError, match="an id is not in the vocabulary"):
            engine.cross_attention(source, target)
    with pytest.raises(UserError, match="the target is too long"):
        engine.cross_attention([5], [5] * (engine.positions + 1))


def test_wild_weights_end_in_words_or_an_error_of_ours(pair_of: PairOf) -> None:
    """Weights of any magnitude, in both kinds of arithmetic: the search ends, and nothing is written out of place."""
    pair = pair_of()
    generator = np.random.default_rng(0)
    for _ in range(20):
        wild = {
            name: (weight * np.float32(10.0 ** generator.integers(-20, 20))).astype(np.float32)
            for name, weight in pair.weights.items()
        }
        for int8 in (False, True):
            engine = NativeEngine(pair.config, wild, int8=int8, threads=1)
            for request in SEARCHES[:2]:
                try:
                    engine.search(sources(6), request)
                except Exception as error:
                    assert type(error).__name__ == "Failed", error
