"""Time and memory of what mixes an encoder's positions, over the length of the source, beside full attention.

    python benchmarks/mixing_cost.py [--json] [--lengths 512,1024,2048,4096,8192] [--rounds 3] [--threads 2]

A forward and a backward pass of one layer on one source, with its linear maps and without them. See README.md beside
this file.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from train_speed import processor

from regard.config.model import model_config
from regard.model.layers import EncoderLayer
from regard.paper.table1.complexity import exponent
from regard.paper.table1.dependence import peak_bytes

SIZES = {"d_model": 128, "heads": 2}
LAYERS = ("attention", "attention-as-written", "longformer", "linformer", "performer", "state-space", "mamba", "mixer")
PARTS = ("whole", "mixing")


class Resized(nn.Module):
    """Repeats or cuts the features to the size of a linear map's output, without a product."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        times = -(-self.size // x.shape[-1])
        return (torch.cat((x,) * times, dim=-1) if times > 1 else x)[..., : self.size]


def layer(name: str, part: str, longest: int) -> Any:
    """A layer as it is, or with nothing in the place of the linear maps that work on each position alone."""
    mixing: Any = "attention" if name == "attention-as-written" else name
    made = EncoderLayer(model_config(**SIZES, mixing=mixing, max_length=longest)).attention
    if part == "mixing":
        for inner, child in list(made.named_children()):
            if isinstance(child, nn.Linear):
                setattr(made, inner, Resized(child.out_features))
    return made


def work(name: str, part: str, length: int, longest: int) -> Callable[[], None]:
    """One pass there and back."""
    made = layer(name, part, longest)
    x_BSD = torch.randn(1, length, SIZES["d_model"], requires_grad=True)
    mask_BS = torch.ones(1, length, dtype=torch.bool)

    def once() -> None:
        output_BSD, _ = made.mix(x_BSD, mask_BS, weights=name == "attention-as-written")
        output_BSD.sum().backward()
        x_BSD.grad = None
        made.zero_grad()

    return once


def seconds(once: Callable[[], None], least: float = 0.2) -> float:
    """Of one pass: the median of as many as take a while."""
    passes: list[float] = []
    while sum(passes) < least:
        begin = time.perf_counter()
        once()
        passes.append(time.perf_counter() - begin)
    return statistics.median(passes)


def measure(lengths: list[int], rounds: int) -> dict[str, Any]:
    """All layers take turns, so that whatever else the machine does falls on all alike."""
    longest = max(lengths)
    kinds = list(product(LAYERS, PARTS, lengths))
    times: dict[tuple[str, str, int], list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            times[kind].append(seconds(work(*kind, longest)))
    report: dict[str, Any] = {name: {} for name in LAYERS}
    for name, part in product(LAYERS, PARTS):
        taken = [statistics.median(times[name, part, length]) for length in lengths]
        held = [peak_bytes(work(name, part, length, longest)) for length in lengths]
        report[name][part] = {
            "milliseconds": [round(1e3 * one, 2) for one in taken],
            "peak_MiB": [round(one / 2**20, 1) for one in held],
            "time_exponent": exponent(dict(zip(lengths, taken, strict=True))),
            "memory_exponent": exponent(dict(zip(lengths, held, strict=True))),
        }
    return report


def table(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['machine']}; torch {report['torch']}, {report['threads']} threads; ms, then peak MiB, by length"
    for part in PARTS:
        heads = "".join(f"{length:>9,}" for length in report["lengths"])
        yield f"{part:22}{heads}{'n^':>7} |{heads}{'n^':>7}"
        for name in LAYERS:
            row = report[name][part]
            taken = "".join(f"{one:>9,.1f}" for one in row["milliseconds"])
            held = "".join(f"{one:>9,.1f}" for one in row["peak_MiB"])
            yield f"{name:22}{taken}{row['time_exponent']:>7.2f} |{held}{row['memory_exponent']:>7.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192", help="of the source, in tokens")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each; the median is reported")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    lengths = [int(length) for length in arguments.lengths.split(",")]
    about = {"machine": f"{processor()}, {os.cpu_count()} cores", "torch": torch.__version__}
    report = {**measure(lengths, arguments.rounds), **about, "threads": torch.get_num_threads(), "lengths": lengths}
    print(json.dumps(report, indent=2) if arguments.json else "\n".join(table(report)))


if __name__ == "__main__":
    main()
