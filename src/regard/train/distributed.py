"""Distributed training: join the processes that torchrun started, and replicate or shard the model over them."""

import gc
import hashlib
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

from regard.config.train import TrainConfig
from regard.errors import Failed, UserError
from regard.model.seq2seq import Layer

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")
WAIT_MINUTES = 120.0  # how long a process waits for the others before it considers them lost


@dataclass(frozen=True)
class World:
    """This process's place among all processes of the run."""

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Return whether this process is the one that writes files."""
        return self.rank == 0

    def total(self, values: list[float]) -> list[float]:
        """Return the sum of each value over all processes."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def joined(self, values: list[int]) -> list[int]:
        """Return the concatenated values of all processes, in order of rank."""
        counts = [int(count) for count in self.total([len(values) * (rank == self.rank) for rank in range(self.size)])]
        before, after = sum(counts[: self.rank]), sum(counts[self.rank + 1 :])
        return [int(value) for value in self.total([*[0.0] * before, *map(float, values), *[0.0] * after])]

    def agrees(self, text: str) -> bool:
        """Return whether all processes have the same text. A collective call: all processes must make it."""
        number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")  # exact as a float
        found = self.joined([number])
        return len(set(found)) == 1

    def first_alone(self, work: Callable[[], T]) -> T | None:
        """Run `work` on the first process; if it fails, all processes stop, and only the first reports why.

        None in the other processes.
        """
        done: T | None = None
        rejected: Exception | None = None
        if self.first:
            try:
                done = work()
            except (UserError, OSError) as error:
                rejected = error
        if self.total([float(rejected is not None)])[0]:
            raise rejected or UserError("the first process rejected the run; its message says why")
        return done

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def join(wait_minutes: float = WAIT_MINUTES) -> Iterator[World]:
    """Join the processes that torchrun started, if any: gloo on CPUs, NCCL on GPUs."""
    try:
        rank, size, local = (int(os.environ.get(name, default)) for name, default in _PLACE.items())
    except ValueError:
        raise UserError("RANK, WORLD_SIZE and LOCAL_RANK must be numbers; let torchrun set them") from None
    device = torch.device("cpu")
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        if local >= count:
            raise UserError(f"process {local + 1} of this machine finds {count} GPUs; ask for --nproc-per-node {count}")
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    if size == 1:
        yield World(0, 1, device)
        return
    import_module("torch.distributed.fsdp")  # before there is a process group, to which it would keep a reference
    rank, size = _connect("nccl" if device.type == "cuda" else "gloo", timedelta(minutes=wait_minutes))
    try:
        yield World(rank, size, device)
    except BaseException as error:
        _clear_frames(error)
        raise
    finally:
        # The last reference to the process group joins its threads. If a model held it, joining them with the GIL held
        # would deadlock: they need the GIL to release their last tensors.
        gc.collect()
        dist.destroy_process_group()


def _connect(backend: str, timeout: timedelta) -> tuple[int, int]:
    """Make the process group, and return this process's rank and the number of processes."""
    try:
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            # When torchrun restarts all processes after a loss, none may find the addresses of the previous ones. A
            # store of the processes' own is new each time; and a host that joins has not counted the restarts.
            store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    except RuntimeError as error:  # torch's DistError, or one of gloo
        raise Failed(
            f"the processes of this run did not find each other ({str(error).splitlines()[0]}); check that the hosts "
            "reach each other, and name the network with GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME if there are several"
        ) from error
    return rank, size


def _clear_frames(error: BaseException | None) -> None:
    """Clear the frames of an exception, which still hold the model and other objects."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


_PLACE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}


@contextmanager
def reporting_lost_processes(world: World, lost: Callable[[], str]) -> Iterator[None]:
    """Convert an error of gloo or NCCL about a lost process to a one-sentence failure, which begins with `lost`."""
    try:
        yield
    except RuntimeError as error:
        words = ("gloo", "Connection", "NCCL", "peer")
        if isinstance(error, Failed) or world.size == 1 or not any(word in str(error) for word in words):
            raise
        raise Failed(
            f"{lost()} ({str(error).splitlines()[0]}); start the run again, and it goes on from its newest checkpoint"
        ) from error


def distribute(objective: nn.Module, world: World, config: TrainConfig) -> nn.Module:
    """Return the objective on the device, replicated or sharded over all processes, whose gradients are averaged."""
    if world.size == 1 or config.sharding == "ddp":
        objective.to(world.device)  # FSDP moves one layer after the other, since all together may not fit
    if world.size == 1:
        return objective
    if config.sharding == "ddp":
        return _replicated(objective, config)
    from torch.distributed.fsdp import (  # noqa: PLC0415  # takes half a second and 40 MB
        MixedPrecisionPolicy,
        fully_shard,
        register_fsdp_forward_method,
    )

    rounded = {"mp_policy": MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)}
    how: dict[str, Any] = rounded if config.communication == "bf16" else {}
    for module in objective.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                fully_shard(layer, **how)
                for name in layer.uses_weights if isinstance(layer, Layer) else ():
                    register_fsdp_forward_method(layer, name)
    fully_shard(objective, **how)  # changes the module in place
    return objective


def _replicated(objective: nn.Module, config: TrainConfig) -> nn.Module:
    wrapped = DistributedDataParallel(objective, gradient_as_bucket_view=True, bucket_cap_mb=config.bucket_mb)
    wrapped.broadcast_buffers = False  # buffers are constant tables, so they need not be sent every step
    if config.communication == "bf16":
        wrapped.register_comm_hook(None, _mean_in_bf16)
    return wrapped


def _mean_in_bf16(
    _: object,
    bucket: dist.GradBucket,  # type: ignore[name-defined]  # which DDP checks by this name
) -> torch.futures.Future[Tensor]:
    """Average the gradients of a bucket over all processes in bfloat16, for DDP; torch's own hook takes GPUs alone."""
    gradients: Tensor = bucket.buffer()
    rounded = gradients.to(torch.bfloat16).div_(dist.get_world_size())
    work = dist.all_reduce(rounded, async_op=True)
    assert work is not None

    def widened(sent: torch.futures.Future[list[Tensor]]) -> Tensor:
        return gradients.copy_(sent.value()[0])

    future: torch.futures.Future[list[Tensor]] = work.get_future()
    return future.then(widened)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor that may be sharded as a whole. A collective call: all processes must make it."""
    together: Tensor = tensor.full_tensor() if _divided(tensor) else tensor
    return together


def _divided(tensor: Any) -> TypeGuard["DTensor"]:
    """Return whether a tensor is sharded; torch.distributed.tensor has then been imported."""
    return hasattr(tensor, "full_tensor")


def gathered(tensors: Mapping[str, Tensor], world: World) -> dict[str, Tensor]:
    """Return whole tensors by name, on the CPU, in the first process, and an empty dict in the others.

    A collective call: all processes must make it. Tensors are gathered one after the other: all together may not fit on
    the device.
    """
    found = {}
    for name, tensor in tensors.items():
        together = whole(tensor)
        if world.first:
            found[name] = together.cpu()
    return found


def fill(parameters: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Copy values into tensors; either may be sharded. A collective call: all processes must make it."""
    with torch.no_grad():
        for name, tensor in parameters.items():
            value = whole(values[name]).to(tensor.device, tensor.dtype)
            if _divided(tensor):
                from torch.distributed.tensor import distribute_tensor  # noqa: PLC0415  # as above

                tensor.copy_(distribute_tensor(value, tensor.device_mesh, tensor.placements))
            else:
                tensor.copy_(value)
