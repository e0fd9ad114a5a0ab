"""What it takes to exchange the gradients of a preset between two hosts at 1 Gbit/s, by gloo.

    python benchmarks/hosts.py                 # as root: it makes two network namespaces with addresses of their own

The rate is that of `tc`, and a round trip takes 10 ms: by netem, or where the kernel has none, by a process that is
the cable between the two (tests/support/delay.py). Exchanging is timed alone. Beside it stands what computing an update
takes: 25,000 tokens a side at the tokens/s that are given (--tokens-per-second), as train_speed.py measures them.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PORT = 29410
TOKENS = 50_000  # of an update, both sides
SPEEDS = {"tiny": 14_588.0, "small": 6_285.0, "base": 780.0}  # benchmarks/README.md, two cores


def exchange(rank: int, address: str, sizes: list[int], rounds: int) -> None:
    """Time the sum of so many floats over both hosts; the first one prints."""
    import torch
    import torch.distributed as dist

    os.environ |= {"MASTER_ADDR": address, "MASTER_PORT": str(PORT)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for kind in (torch.float32, torch.bfloat16):
        for size in sizes:
            gradients = torch.ones(size, dtype=kind)
            dist.all_reduce(gradients)  # connections and buffers are made
            times = []
            for _ in range(rounds):
                dist.barrier()
                started = time.perf_counter()
                dist.all_reduce(gradients)
                times.append(time.perf_counter() - started)
            if rank == 0:
                print(json.dumps({"kind": str(kind), "size": size, "seconds": min(times), "all": times}), flush=True)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=["tiny", "small", "base"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens-per-second", type=float, nargs="+", help="of each preset, on one host")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        rank, address, rounds, *sizes = arguments.worker
        exchange(int(rank), address, list(map(int, sizes)), int(rounds))
        return
    sys.path.insert(0, str(REPOSITORY))
    from tests.support.hosts import hosts

    from regard.config.presets import preset
    from regard.model.cost import cost

    sizes = {name: cost(preset(name).model).parameters for name in arguments.presets}
    speeds = dict(zip(arguments.presets, arguments.tokens_per_second or [], strict=False)) or SPEEDS
    with hosts(2) as made, tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        worker = [sys.executable, __file__, "--worker"]
        rest = [made[0].address, str(arguments.rounds), *map(str, sizes.values())]
        running = [host.start([*worker, str(rank), *rest], log) for rank, host in enumerate(made)]
        assert [process.wait() for process in running] == [0, 0], log.read_text()
        print(log.read_text(), end="")
    for name, size in sizes.items():
        computing = {"computing_seconds": round(TOKENS / speeds[name], 2)} if name in speeds else {}
        print(json.dumps({"preset": name, "parameters": size, "bytes": 4 * size, **computing}))


if __name__ == "__main__":
    main()
