"""What large jobs would take: 10^9 sentences on CPUs, and the paper's training on 1, 8 and 64 GPUs.

    python benchmarks/cost.py --rate 356 --rate 117

Everything is computed from the rates that are given (sentences a CPU-second, as measured on one core), from the
operations of `regard.model.cost`, and from the cited figures below. Nothing here is measured.
"""

import argparse
from dataclasses import dataclass

from regard.config.presets import preset
from regard.model.cost import Cost, cost

SENTENCES = 10**9
HOUR = 3600.0
CORES = (2, 64, 1024)
PAIR = 25  # tokens a side of the pair whose operations are counted
BATCH = 25_000  # tokens a side of an update (section 5.1)
STEPS = {"base": 100_000, "big": 300_000}  # section 5.2
PAPER_FLOPS = {"base": 3.3e18, "big": 2.3e19}  # Table 2: GPUs × hours × 9.5e12, the authors' estimate for a P100


@dataclass(frozen=True)
class Gpu:
    """Peak operations of matrix products, and bytes a second that one GPU sends, by its data sheet."""

    name: str
    flops: float
    inside: float
    """To GPUs of the same host (NVLink, one direction)."""
    outside: float
    """To other hosts: one network adapter a GPU."""


GPUS = (Gpu("A100, bf16", 312e12, 300e9, 25e9), Gpu("H100, bf16", 989e12, 450e9, 50e9))
HOST = 8  # GPUs in a host


def bulk(rates: list[float]) -> None:
    print("| sentences/s a core | core-hours | " + " | ".join(f"on {cores:,} cores" for cores in CORES) + " |")
    print("|---|---|" + "---|" * len(CORES))
    for rate in rates:
        hours = SENTENCES / rate / HOUR
        print(f"| {rate:g} | {hours:,.0f} | " + " | ".join(duration(hours / cores) for cores in CORES) + " |")


def duration(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.1f} days"
    return f"{hours:,.1f} h" if hours >= 1 else f"{hours * 60:,.1f} min"


def step_seconds(found: Cost, gpu: Gpu, count: int, share: float) -> tuple[float, float]:
    """Seconds of computation and of communication of one update, with a share of the peak that is reached."""
    operations = found.training_flops * BATCH / PAIR
    # A ring all-reduce sends 2 (n - 1) / n of the gradients (float32) from each GPU.
    sent = 2 * (count - 1) / count * found.parameters * 4
    return operations / (count * gpu.flops * share), sent / (gpu.inside if count <= HOST else gpu.outside)


def training() -> None:
    print("| model | GPUs | " + " | ".join(f"{gpu.name}: computing, sending, in all" for gpu in GPUS) + " |")
    print("|---|---|" + "---|" * len(GPUS))
    for name, steps in STEPS.items():
        found = cost(preset(name).model, PAIR, PAIR)
        total = found.training_flops * BATCH / PAIR * steps
        share = total / PAPER_FLOPS[name]
        for count in (1, 8, 64):
            cells = []
            for gpu in GPUS:
                computing, sending = step_seconds(found, gpu, count, share)
                whole = duration((computing + sending) * steps / HOUR)
                cells.append(f"{computing * 1e3:.2f} + {sending * 1e3:.2f} ms, {whole}")
            print(f"| `{name}` ({total:.2g} FLOP, {share:.0%} of the peak) | {count} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, action="append", help="sentences a second on one core")
    arguments = parser.parse_args()
    bulk(arguments.rate or [356.0, 117.0, 55.0, 20.0])
    print()
    training()


if __name__ == "__main__":
    main()
