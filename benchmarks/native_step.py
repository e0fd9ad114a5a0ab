"""One step of the native engine's decoder on one core: how long it takes, and how near it comes to its matrix products.

    python benchmarks/native_step.py [--json] [--preset small] [--rows 64] [--beam 1]

Weights are random and EOS can't win, so every output has the length that is asked for. A step is the difference of two
searches that differ in their number of steps alone, best of several; so the encoder and Python are not part of it.
`bound_ms` is what the products of a step would take at the speed of a product that stays in the first cache.
"""

import argparse
import json
import math
import random
import time
from typing import Any

import numpy as np
import torch
from native_gemm import FIRST_CACHE, product_speed

from regard.config.decode import DecodeConfig
from regard.config.model import TransformerConfig
from regard.config.presets import preset
from regard.config.special_tokens import EOS
from regard.engines.engine import Request
from regard.engines.native.library import isa
from regard.engines.native.native_engine import NativeEngine
from regard.model.build import build
from regard.saved.folder import as_arrays

LENGTH, EXTRA = 14, 8  # tokens of a source, and steps between the two searches
REPEATS = 25


def engine_of(config: TransformerConfig, *, int8: bool) -> NativeEngine:
    torch.manual_seed(0)
    weights = {name: np.array(weight) for name, weight in as_arrays(build(config).eval().state_dict()).items()}
    away_D = np.ones(config.d_model, np.float32)
    weights["embedding_VD"][EOS] = -away_D
    weights[f"decoder.{config.decoder_layers - 1}.around_feed_forward.norm.bias"] += away_D
    return NativeEngine(config, weights, int8=int8, threads=1)


def step_seconds(engine: NativeEngine, rows: int, beam: int) -> float:
    """Return the time of a step with so many rows."""
    generator = random.Random(0)
    count, vocabulary = rows // beam, engine.config.vocabulary
    sources = [[generator.randrange(EOS + 1, vocabulary) for _ in range(LENGTH)] for _ in range(count)]
    best = [math.inf, math.inf]
    for _ in range(REPEATS):
        for number, extra in enumerate((0, EXTRA)):
            request = Request(DecodeConfig(beam=beam, extra_length=extra))
            started = time.perf_counter()
            found = engine.search(sources, request)
            best[number] = min(best[number], time.perf_counter() - started)
            assert all(len(one[0].tokens) == LENGTH + extra for one in found)
    return (best[1] - best[0]) / EXTRA


def operations(config: TransformerConfig) -> int:
    """Multiplications and additions of a row's matrix products in a step."""
    query, value = config.heads * config.d_k, config.heads * config.d_v
    attention = config.d_model * (3 * query + 3 * value)  # self: Q, K, V, O; cross: Q, O
    layer = attention + 2 * config.d_model * config.d_ff
    return 2 * (config.decoder_layers * layer + config.d_model * config.vocabulary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--rows", type=int, default=64, help="hypotheses in a step, at most 96")
    parser.add_argument("--beam", type=int, default=1)
    given = parser.parse_args()
    config = preset(given.preset).model
    assert isinstance(config, TransformerConfig)
    report: dict[str, Any] = {"preset": given.preset, "rows": given.rows, "beam": given.beam, "isa": isa()}
    for kind in ("int8", "float32"):
        taken = step_seconds(engine_of(config, int8=kind == "int8"), given.rows, given.beam)
        most = product_speed(isa(), *FIRST_CACHE, kind)
        bound = given.rows * operations(config) / most / 1e9
        report[kind] = {"step_ms": round(1000 * taken, 2), "bound_ms": round(1000 * bound, 2)}
        report[kind] |= {"share_of_bound": round(bound / taken, 2), "first_cache_gops": round(most, 1)}
    print(json.dumps(report, indent=2) if given.json else report)


if __name__ == "__main__":
    main()
