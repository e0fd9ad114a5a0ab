"""Everything besides the settings that determines a run's bits: recorded in checkpoints, compared on resuming."""

import platform
import resource
from collections.abc import Mapping
from pathlib import Path

import torch

from regard import __version__
from regard.train.distributed import World

CPU = Path("/proc/cpuinfo")


def environment(world: World) -> dict[str, str | int]:
    """Return the versions, machine, threads and processes of this run."""
    cuda = world.device.type == "cuda"
    return {
        "regard": __version__,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(world.device) if cuda else "cpu",
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "processes": world.size,
    }


def differences(
    before: Mapping[str, str | int], now: Mapping[str, str | int]
) -> dict[str, tuple[str | int, str | int]]:
    """Return the changed entries by name, as (before, now). Entries that were not recorded before are skipped."""
    return {name: (before[name], now[name]) for name in now if name in before and before[name] != now[name]}


def _processor() -> str:
    """Return the name of the CPU, as far as the system reports it."""
    try:
        lines = CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def peak_memory_mb(device: torch.device) -> float:
    """Return the peak memory of this process in MiB."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a process begins with that of the one that started it
        peak = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
        if peak is not None:
            return round(int(peak.split()[1]) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
