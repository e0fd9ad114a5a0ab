"""Models and requests at random, straight into the library's C functions: each is computed or refused, never a crash.

`make test-native` runs this with AddressSanitizer; REGARD_FUZZ=5000 makes it longer.
"""

import ctypes
import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from regard.engines.native.library import MESSAGE, Config, Progress, Rules, SearchOptions, Tensor, library

ROUNDS = int(os.environ.get("REGARD_FUZZ", "90"))
WILD = (-(2**31), -1, 0, 1, 2, 3, 5, 16, 17, 64, 65, 1 << 16, 1 << 24, 2**31 - 1)
FLAGS = ("bounded", "additive", "rotary", "pre_norm", "share_embeddings", "tie_projection", "int8")


def random_config(generator: random.Random) -> Config:
    size = generator.randrange
    vocabulary = size(4, 70)
    config = Config(
        source_vocabulary=vocabulary,
        vocabulary=vocabulary,
        encoder_layers=size(1, 3),
        decoder_layers=size(1, 4),
        d_model=size(1, 40),
        d_ff=size(1, 70),
        heads=size(1, 5),
        d_k=size(1, 21),
        d_v=size(1, 40),
        positions=size(2, 40),
        activation=size(1, 4),
        attention_scale=generator.choice((1.0, 0.25)),
    )
    for flag in FLAGS:
        setattr(config, flag, size(2))
    if config.rotary and config.d_k % 2:
        config.d_k += 1
    if not config.share_embeddings:
        config.source_vocabulary = size(4, 70)
    return config


def shapes(config: Config) -> Iterator[tuple[int, int]]:
    """The tensors that a model has, in order: what pack.py gives, written down a second time."""
    D, K, V = config.d_model, config.heads * config.d_k, config.heads * config.d_v
    attention = [(K, D), (1, K), (K, D), (1, K), (V, D), (1, V), (D, V), (1, D), (1, D), (1, D)]
    feed_forward = [(config.d_ff, D), (1, config.d_ff), (D, config.d_ff), (1, D), (1, D), (1, D)]
    yield config.vocabulary, D
    if not config.share_embeddings:
        yield config.source_vocabulary, D
    if not config.tie_projection:
        yield config.vocabulary, D
    if config.additive:
        yield from [(config.positions, D)] * 2
    if config.rotary:
        yield config.positions, config.d_k
    yield from (attention + feed_forward) * config.encoder_layers
    if config.pre_norm:
        yield from [(1, D)] * 2
    yield from (attention * 2 + feed_forward) * config.decoder_layers
    if config.pre_norm:
        yield from [(1, D)] * 2


def weights(generator: random.Random, given: list[tuple[int, int]]) -> list[NDArray[np.float32]]:
    numbers = np.random.default_rng(generator.randrange(1 << 30))
    magnitude = generator.choice((0.3, 0.3, 0.3, 1e-20, 1e20, 3e37))
    tensors = [(numbers.standard_normal(shape) * magnitude).astype(np.float32) for shape in given]
    if generator.random() < 0.2:
        generator.choice(tensors).flat[0] = generator.choice((np.nan, np.inf, -np.inf))
    return tensors


def random_options(generator: random.Random) -> SearchOptions:
    beam = generator.choice((1, 1, 2, 4, 9, 64))
    return SearchOptions(
        beam=beam,
        n_best=generator.randint(1, beam),
        extra_length=generator.choice((0, 1, 7, 2**31 - 1)),
        penalty=generator.randrange(2),
        scored=generator.randrange(2),
        batch_tokens=generator.choice((1, 20, 512)),
        alpha=generator.choice((0.0, 0.6, 1.0)),
        no_repeat=generator.choice((0, 0, 3)),
    )


def random_rules(generator: random.Random, vocabulary: int) -> list[NDArray[np.int32]]:
    """Return a prefix and required sequences, which may be damaged."""

    def some(first: int, *counts: int) -> list[int]:
        return [generator.randrange(first, vocabulary) for _ in range(generator.choice(counts))]

    required: list[int] = []
    for _ in range(generator.choice((0, 0, 0, 1, 2, 9))):
        sequences = [some(min(4, vocabulary - 1), 1, 1, 2, 5) for _ in range(generator.choice((1, 2, 9)))]
        required += [len(sequences), *(number for one in sequences for number in (len(one), *one))]
    if required and generator.random() < 0.05:
        required[generator.randrange(len(required))] = generator.choice(WILD)
    return [np.array(some(0, 0, 0, 1, 3), np.int32), np.array(required, np.int32)]


def change(generator: random.Random, target: ctypes.Structure, names: list[str]) -> None:
    for name in generator.sample(names, generator.choice((1, 1, 2))):
        setattr(target, name, generator.choice(WILD))


def search(engine: int, generator: random.Random, config: Config) -> bool:
    """Return whether a search of some sources came to an end; the message says otherwise why not."""
    options = random_options(generator)
    if generator.random() < 0.3:
        change(generator, options, ["beam", "n_best", "extra_length", "penalty", "batch_tokens"])
    lengths = np.array([generator.randint(1, 9) for _ in range(generator.choice((1, 2, 12)))], np.int64)
    ids = np.array([generator.randrange(config.source_vocabulary) for _ in range(lengths.sum())], np.int32)
    if generator.random() < 0.2:
        ids[generator.randrange(len(ids))] = generator.choice(WILD)
    given = [random_rules(generator, config.vocabulary) for _ in lengths]
    rules = (Rules * len(given))(*(Rules(a.ctypes.data, b.ctypes.data, len(a), len(b)) for a, b in given))
    message = ctypes.create_string_buffer(MESSAGE)
    found = library().regard_native_search(
        *(engine, ids.ctypes.data, lengths.ctypes.data, len(lengths), generator.choice((None, rules)), options),
        *(Progress(), message, MESSAGE),
    )
    if not found:
        assert message.value
        return False
    counts = np.ctypeslib.as_array(found.contents.counts, (len(lengths),))
    assert found.contents.sources == len(lengths)
    assert found.contents.hypotheses == counts[counts > 0].sum()
    tokens = np.ctypeslib.as_array(found.contents.ids, (found.contents.tokens,)) if found.contents.tokens else ids[:0]
    assert ((tokens >= 0) & (tokens < config.vocabulary)).all() or not len(tokens)
    library().regard_native_free_found(found)
    return True


@pytest.mark.parametrize("part", range(3))
def test_random_models_are_computed_or_refused(part: int) -> None:
    done = refused = 0
    for number in range(part, ROUNDS, 3):
        generator = random.Random(number)
        config = random_config(generator)
        given = list(shapes(config))
        tensors = weights(generator, given)
        if generator.random() < 0.3:
            change(generator, config, [name for name, *_ in Config._fields_ if name != "attention_scale"])
        pointers = (Tensor * len(tensors))(
            *(Tensor(tensor.ctypes.data, *shape) for tensor, shape in zip(tensors, given, strict=True))
        )
        message = ctypes.create_string_buffer(MESSAGE)
        engine = library().regard_native_create(config, pointers, len(tensors), b"auto", 2, message, MESSAGE)
        if not engine:
            assert message.value, number
            refused += 1
            continue
        done += search(engine, generator, config)
        out = np.empty((3, 4), np.float32)
        few = np.array([generator.choice((0, 1, 3, -1, 69))] * 4, np.int32)
        library().regard_native_attention(
            *(engine, few.ctypes.data, 4, few.ctypes.data, 3, generator.choice((0, 1, 9, -1)), out.ctypes.data),
            *(message, MESSAGE),
        )
        library().regard_native_free(engine)
    assert done > ROUNDS / 12
    assert refused > ROUNDS / 40
