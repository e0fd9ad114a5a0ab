"""One update of the weights from one group of batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.config.model import ModelConfig
from regard.config.special_tokens import BOS, EOS
from regard.config.train import TrainConfig
from regard.data.batches import StepBatches
from regard.errors import UserError
from regard.model.build import build
from regard.model.kernels.linear import limit_onednn_cache
from regard.model.seq2seq import Seq2Seq
from regard.train.distributed import World, distribute, fill, gathered, whole
from regard.train.micro_batches import MicroBatch, micro_batches, step_seed, with_samples
from regard.train.objective.loss import Objective
from regard.train.optimizer.adam import Adam
from regard.train.optimizer.schedule import rate
from regard.train.threads import TwoThreads, seeded

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule

Losses = tuple[float, float]  # smoothed loss and negative log-likelihood
Work = tuple[int, Callable[[], Losses]]  # a seed, and the call to make after setting it


@dataclass(frozen=True)
class Update:
    """The result of one step. Sums are over all processes."""

    loss: float
    """Smoothed loss, summed over the tokens."""
    nll: float
    """Negative log-likelihood, summed over the tokens."""
    norm: float
    """Norm of the gradient, per token, before clipping."""
    rate: float
    taken: bool
    """False if the loss or the gradient was not finite, so that the weights were not updated."""
    stop: bool
    """True if any process was asked to stop."""
    reward: float | None = None
    """Mean reward of the samples, for the objective `reward`."""


class Trainer:
    """A model with its objective and optimizer, on one of several processes."""

    def __init__(self, description: ModelConfig, config: TrainConfig, world: World) -> None:
        limit_onednn_cache()
        self.description, self.config, self.world = description, config, world
        torch.manual_seed(config.seed)
        self.model = model = build(description)
        self._check_precision()
        if config.objective == "reward" and config.sharding == "fsdp" and world.size > 1:
            raise UserError("train.objective=reward can't draw samples from a sharded model; set train.sharding=ddp")
        objective: nn.Module = Objective(model, config.label_smoothing)
        if config.compile:
            objective.compile(dynamic=True)
        self.objective = distribute(objective, world, config)
        self.divided = world.size > 1 and config.sharding == "fsdp"
        self.parameters = dict(model.named_parameters())
        self.adam = Adam(self.parameters, config, world.device)
        self.threads = TwoThreads() if world.size == 1 and self._can_use_two_threads(model) else None
        if isinstance(self.objective, DistributedDataParallel) and world.size > 2 and world.device.type == "cpu":
            self._order_buckets(self.objective)

    def _order_buckets(self, objective: DistributedDataParallel) -> None:
        """Let DDP put its buckets into their final order, which it does after the first backward pass.

        In which order three or more gradients are summed depends on their place in a bucket. A run that resumes would
        otherwise sum those of its first step in another order than the run that was not interrupted.
        """
        source_BS, target_BT = torch.tensor([[EOS, EOS]]), torch.tensor([[BOS, EOS, EOS]])
        self.model.train()
        with torch.random.fork_rng(devices=()):
            loss, _ = objective(source_BS, target_BT)
        # Every weight takes part, also that of an expert which these tokens do not reach.
        (loss * 0.0 + sum(parameter.sum() * 0.0 for parameter in self.parameters.values())).backward()
        self._forget_gradients()

    def _check_precision(self) -> None:
        """Reject an LSTM in bf16 on a CPU without bfloat16, for which torch has no kernel."""
        rounded = self.config.precision == "bf16" and self.world.device.type == "cpu"
        if rounded and not knows_bf16(self.world.device) and any(isinstance(m, nn.LSTM) for m in self.model.modules()):
            raise UserError(
                "train.precision=bf16: this processor has no bfloat16 instructions, which an LSTM needs; "
                "leave it out, or take another model.cell"
            )

    def _can_use_two_threads(self, model: Seq2Seq) -> bool:
        """Return whether two threads can share the work: an odd number of cores would leave one idle."""
        if self.world.device.type != "cpu" or torch.get_num_threads() % 2 or self.config.compile:
            return False
        return model.deterministic_in_threads(self.config.precision)

    def update(
        self, step: StepBatches, number: int, asked: Callable[[], bool] = lambda: False, *, time: float = 0.0
    ) -> Update:
        """Compute the gradient of all batches of the group, per token, and apply Adam (section 5.3) if it is finite.

        `time` is the share of train.max_minutes that has passed.
        """
        self.objective.train()
        sentences = float(sum(len(batch.source_BS) for batch in step.batches))
        loss, nll, reward, sentences, stops = self.world.total(
            [*self._gradients(step, number), sentences, float(asked())]
        )
        gradients = [parameter.grad for parameter in self.parameters.values() if parameter.grad is not None]
        norm_tensor = whole(torch.nn.utils.get_total_norm(gradients, foreach=True))
        norm = norm_tensor.item()
        learning_rate = self.rate(number, time)
        taken = bool(torch.isfinite(norm_tensor)) and loss - loss == 0.0
        if taken:
            if self.config.clip is not None:
                torch.nn.utils.clip_grads_with_norm_(self.parameters.values(), self.config.clip, norm_tensor)
            self.adam.update(learning_rate)
        self._forget_gradients()
        mean_reward = reward / sentences if self.config.objective == "reward" else None
        return Update(loss, nll, norm, learning_rate, taken, stops > 0, mean_reward)

    def _forget_gradients(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def _gradients(self, step: StepBatches, number: int) -> tuple[float, float, float]:
        """Run backward through this process's batches, and return loss, negative log-likelihood and reward.

        Summed over the processes the gradient is that of the group.
        """
        # DDP and FSDP average over processes; undo that, so that the gradient is per token.
        scale = self.world.size / step.target_tokens
        equal_passes = self.config.batch_tokens if self.divided else None  # all processes must make equally many
        parts = [
            # Random numbers depend on the batch's position alone, not on the process or on earlier draws.
            (step_seed(self.config.seed, number, self.world.rank + index * self.world.size, place), part)
            for index, batch in enumerate(step.batches)
            for place, part in enumerate(micro_batches(batch, self.world.device, equal_passes))
        ]
        if self.config.objective == "reward":
            limit = self.description.position_limit
            parts = with_samples(parts, self.model, self.config, limit, self.world.device)
        work = [
            (seed, partial(self._backward, part, scale, last=count == len(parts)))
            for count, (seed, part) in enumerate(parts, 1)
        ]
        losses = [seeded(*one) for one in work] if self.threads is None else self._two_by_two(self.threads, work)
        reward = sum(part.reward for _, part in parts)
        return sum(loss for loss, _ in losses) - reward, sum(nll for _, nll in losses), reward

    def _two_by_two(self, threads: TwoThreads, work: Sequence[Work]) -> list[Losses]:
        """Run two micro-batches at a time: the sum of two gradients does not depend on the order; of three it does."""
        losses: list[Losses] = []
        for first in range(0, len(work), 2):
            earlier = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
            self._forget_gradients()
            both = work[first : first + 2]
            losses += threads.run(both) if len(both) == 2 else [seeded(*both[0])]
            for name, gradient in earlier.items():
                new = self.parameters[name].grad
                self.parameters[name].grad = gradient if new is None else gradient.add_(new)
        return losses

    def _backward(self, part: MicroBatch, scale: float, *, last: bool) -> Losses:
        """Add the gradient of a micro-batch, and return its losses."""
        device = self.world.device
        with self._exchange(last):
            with self._precision():  # not around backward, where it would round what forward kept in 32 bits
                weight_B = None if part.weight_B is None else part.weight_B.to(device)
                loss, nll = self.objective(part.source_BS.to(device), part.target_BT.to(device), weight_B)
            (loss * (scale * part.share * part.factor)).backward()
        if part.weight_B is not None:
            return 0.0, 0.0
        return loss.item() * part.share * part.factor, nll.item() * part.share

    @contextmanager
    def _exchange(self, last: bool) -> Iterator[None]:
        """Exchange gradients with the other processes after the last micro-batch only."""
        if isinstance(self.objective, DistributedDataParallel) and not last:
            with self.objective.no_sync():
                yield
            return
        if self.divided:
            cast("FSDPModule", self.objective).set_requires_gradient_sync(last)
        yield

    def _precision(self) -> torch.autocast:
        enabled = self.config.precision == "bf16"
        return torch.autocast(self.world.device.type, torch.bfloat16, enabled=enabled)

    def rate(self, number: int, time: float = 0.0) -> float:
        return rate(number, self.config, self.description.d_model, time)

    def check(self, weights: Mapping[str, Tensor]) -> None:
        """Reject weights whose names or shapes differ from the model's."""
        for name in sorted(weights.keys() | self.parameters.keys()):
            theirs, ours = weights.get(name), self.parameters.get(name)
            if theirs is None or ours is None or theirs.shape != ours.shape:
                raise UserError(
                    f"{name}: {_size(theirs)} in the model that is to be fine-tuned, {_size(ours)} in this run; "
                    "leave out the --set that changes the model's sizes"
                )

    def assign(self, values: Mapping[str, Tensor]) -> None:
        """Set some parameters, by name."""
        for group in (self.parameters, self.adam.average):
            if group is not None:
                fill({name: group[name] for name in values}, values)

    def evaluated_weights(self) -> Mapping[str, Tensor]:
        """Return the weights to evaluate: the moving average if there is one."""
        return self.parameters if self.adam.average is None else self.adam.average

    def evaluated(self) -> Seq2Seq:
        """Return an unsharded model with the weights to evaluate, in eval mode. A collective call."""
        if self.adam.average is None and not self.divided:
            return self.model.eval()
        model = build(self.description).to(self.world.device).eval()
        fill(dict(model.named_parameters()), self.evaluated_weights())
        return model

    def scored(self, *, undivided: bool) -> Objective:
        """Return the objective with the weights to evaluate, in eval mode. A collective call.

        Unless the model has to be `undivided`, it stays sharded as in training if possible: the whole may not fit.
        """
        if self.divided and self.adam.average is None and not undivided:
            return cast(Objective, self.objective.eval())
        return Objective(self.evaluated(), self.config.label_smoothing)

    def with_weights(self, weights: Mapping[str, Tensor]) -> Objective:
        """Return the objective of an unsharded model with other weights, in eval mode."""
        model = build(self.description).to(self.world.device).eval()
        fill(dict(model.named_parameters()), weights)
        return Objective(model, self.config.label_smoothing)

    def tensors(self) -> dict[str, Tensor]:
        """Return all state besides the weights that the next step needs, by name, in the first process. Collective."""
        return gathered(self.adam.tensors(), self.world)

    def weights(self) -> dict[str, Tensor]:
        """Return the model's weights, by name, in the first process. A collective call."""
        return gathered({name: parameter.detach() for name, parameter in self.parameters.items()}, self.world)

    def mismatch(self, weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> str | None:
        """Describe the first tensor needed by `restore` that is missing or has another shape; None if there is none."""
        needed: list[tuple[str, Tensor | None, Tensor]] = [
            (name, weights.get(name), ours) for name, ours in self.parameters.items()
        ]
        needed += [(name, tensors.get(name), ours) for name, ours in self.adam.tensors().items()]
        for name, theirs, ours in needed:
            if theirs is None or theirs.shape != ours.shape:
                return f"{name} is {_size(theirs)} there and {_size(ours)} here"
        return None

    def restore(self, weights: dict[str, Tensor], tensors: dict[str, Tensor], steps_taken: int) -> None:
        """Restore the state that an earlier process saved, whatever its number of processes was."""
        fill(self.parameters, weights)
        self.adam.restore(tensors, steps_taken)


def knows_bf16(device: torch.device) -> bool:
    """Return whether a device supports matrix products in bfloat16 natively; otherwise they are far slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # type: ignore[no-untyped-call]


def _size(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "×".join(map(str, tensor.shape))
