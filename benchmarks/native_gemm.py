"""How fast one core multiplies in the native engine, beside torch's float32.

    python benchmarks/native_gemm.py [--json]

The best of many repetitions, in 10^9 operations a second: rows × columns × depth × 2. The native figures include
dequantisation, bias and storing; the weights are packed before.
"""

import argparse
import ctypes
import json
import time

import numpy as np
import torch

from regard.engines.native.library import ISAS, library

SHAPES = {  # rows, columns, depth: the matrices of `small`, and one row alone
    "query": (64, 256, 256),
    "inner": (64, 1024, 256),
    "outer": (64, 256, 1024),
    "vocabulary": (64, 8000, 256),
    "encoder inner": (512, 1024, 256),
    "one row, vocabulary": (1, 8000, 256),
}
FIRST_CACHE = (30, 64, 256)  # small enough for the first cache: what is reached here is the bound of the others
SHAPES["in the first cache"] = FIRST_CACHE
REPEATS = 200
KINDS = ("float32", "int8", "int8 after ReLU")


def product_speed(isa: str, rows: int, columns: int, depth: int, kind: str) -> float:
    generator = np.random.default_rng(0)
    left = np.abs(generator.standard_normal((rows, depth), np.float32))
    right = generator.standard_normal((columns, depth), np.float32)
    bias = np.zeros(columns, np.float32)
    out, seconds = np.empty((rows, columns), np.float32), ctypes.c_double()
    done = library().regard_native_product(
        *(
            isa.encode(),
            left.ctypes.data,
            rows,
            right.ctypes.data,
            bias.ctypes.data,
            columns,
            depth,
            KINDS.index(kind),
            REPEATS,
        ),
        *(out.ctypes.data, seconds),
    )
    assert done
    return 2 * rows * columns * depth / seconds.value / 1e9


def with_torch(rows: int, columns: int, depth: int) -> float:
    left, right = torch.randn(rows, depth), torch.randn(columns, depth)
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        torch.mm(left, right.T)
        best = min(best, time.perf_counter() - started)
    return 2 * rows * columns * depth / best / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    as_json = parser.parse_args().json
    torch.set_num_threads(1)
    isas = [isa for isa in ISAS[1:-1] if library().regard_native_isa(isa.encode())]
    report = {}
    for name, shape in SHAPES.items():
        kinds = {f"{isa} {kind}": product_speed(isa, *shape, kind) for isa in isas for kind in KINDS}
        report[name] = {key: round(value, 1) for key, value in {**kinds, "torch float32": with_torch(*shape)}.items()}
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        for name, kinds in report.items():
            print(f"{name:20} {SHAPES[name]!s:18} " + "  ".join(f"{kind} {value}" for kind, value in kinds.items()))


if __name__ == "__main__":
    main()
