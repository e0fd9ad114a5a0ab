"""One update of the weights from one group of batches."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.adam import adam

from regard.config.model import ModelConfig
from regard.config.special_tokens import BOS, EOS
from regard.config.train import TrainConfig
from regard.data.batches import Batch, Step
from regard.errors import UserError
from regard.model.build import build
from regard.model.kernels.linear import keep_little
from regard.model.seq2seq import Seq2Seq
from regard.train.distributed import World, distribute, fill, gathered, whole
from regard.train.objective.loss import smoothed_cross_entropy
from regard.train.objective.reward import draw_candidates
from regard.train.schedule import rate
from regard.train.threads import TwoThreads, seeded

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule

PART = 1 << 11  # tokens a side in a micro-batch on a CPU: enough to keep matrix products efficient, little memory

Losses = tuple[float, float]  # smoothed loss and negative log-likelihood
Work = tuple[int, Callable[[], Losses]]  # a seed, and the call to make after setting it


class Objective(nn.Module):
    """The training objective: smoothed cross-entropy of the targets, summed over tokens (section 5.4).

    For expected reward (objective/reward.py) the targets are samples, and the loss of each sentence is weighted.
    """

    def __init__(self, model: Seq2Seq, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, source_BS: Tensor, target_BT: Tensor, weight_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the smoothed loss with the model's penalty, and the negative log-likelihood without either.

        With a weight for each sentence the first is the weighted negative log-likelihood.
        """
        if weight_B is not None:
            features_BTD, _ = self.model.features_and_penalty(source_BS, target_BT[:, :-1])
            expected_BT = target_BT[:, 1:]
            weight_BT = weight_B[:, None].expand_as(expected_BT)
            loss = smoothed_cross_entropy(features_BTD, self.model.projection_VD, expected_BT, 0.0, weight=weight_BT)
            return loss.smoothed, loss.nll
        lesson = self.model.lesson(source_BS, target_BT)
        loss = smoothed_cross_entropy(lesson.features, self.model.projection_VD, lesson.expected, self.smoothing)
        smoothed = loss.smoothed if lesson.penalty is None else loss.smoothed + lesson.penalty * loss.tokens
        return (smoothed, loss.nll) if lesson.share == 1.0 else (smoothed * lesson.share, loss.nll * lesson.share)


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


@dataclass(frozen=True)
class _Part:
    """A micro-batch: a batch or a part of one."""

    source_BS: Tensor
    target_BT: Tensor
    share: float = 1.0
    """Weight in all sums: 0 for a pass that is made only because other processes need one."""
    factor: float = 1.0
    """Weight in the loss alone."""
    weight_B: Tensor | None = None
    """For samples, the weight of each sentence; the pass then counts only by its gradient."""
    reward: float = 0.0
    """The sum over sentences of the mean reward of their samples."""


class Trainer:
    """A model, Adam's moments and the moving average of the weights, on one of several processes."""

    def __init__(self, description: ModelConfig, config: TrainConfig, world: World) -> None:
        keep_little()
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
        self.moments = {
            kind: {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
            for kind in ("exp_avg", "exp_avg_sq")
        }
        self.average = None
        if config.moving_average is not None:
            self.average = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self.updates = self._counts(0)
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
        self, step: Step, number: int, asked: Callable[[], bool] = lambda: False, *, time: float = 0.0
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
            self._adam(learning_rate)
            if self.average is not None and self.config.moving_average is not None:
                averages, values = list(self.average.values()), list[Tensor](self.parameters.values())
                with torch.no_grad():
                    torch._foreach_lerp_(averages, values, 1.0 - self.config.moving_average)
        self._forget_gradients()
        mean_reward = reward / sentences if self.config.objective == "reward" else None
        return Update(loss, nll, norm, learning_rate, taken, stops > 0, mean_reward)

    @torch.no_grad()
    def _adam(self, learning_rate: float) -> None:
        """Apply Adam (Kingma and Ba, 2015, algorithm 1).

        The function is used because importing torch's class imports the compiler: a second and 70 MB.
        """
        given = {name: parameter.grad for name, parameter in self.parameters.items() if parameter.grad is not None}
        first, second, counts = self.moments["exp_avg"], self.moments["exp_avg_sq"], self.updates
        adam(
            [self.parameters[name] for name in given],
            list(given.values()),
            [first[name] for name in given],
            [second[name] for name in given],
            [],
            [counts[name] for name in given],
            fused=True,
            amsgrad=False,
            beta1=self.config.beta1,
            beta2=self.config.beta2,
            lr=learning_rate,
            weight_decay=0.0,
            eps=self.config.epsilon,
            maximize=False,
        )

    def _forget_gradients(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def _gradients(self, step: Step, number: int) -> tuple[float, float, float]:
        """Run backward through this process's batches, and return loss, negative log-likelihood and reward.

        Summed over the processes the gradient is that of the group.
        """
        # DDP and FSDP average over processes; undo that, so that the gradient is per token.
        scale = self.world.size / step.target_tokens
        parts = [
            # Random numbers depend on the batch's position alone, not on the process or on earlier draws.
            (_seed(self.config.seed, number, self.world.rank + index * self.world.size, place), part)
            for index, batch in enumerate(step.batches)
            for place, part in enumerate(self._parts(batch))
        ]
        if self.config.objective == "reward":
            parts = self._with_samples(parts)
        work = [
            (seed, partial(self._backward, part, scale, last=count == len(parts)))
            for count, (seed, part) in enumerate(parts, 1)
        ]
        losses = [seeded(*one) for one in work] if self.threads is None else self._two_by_two(self.threads, work)
        reward = sum(part.reward for _, part in parts)
        return sum(loss for loss, _ in losses) - reward, sum(nll for _, nll in losses), reward

    def _with_samples(self, parts: Sequence[tuple[int, _Part]]) -> list[tuple[int, _Part]]:
        """Add passes for samples to each micro-batch, drawn with the weights as they are and without dropout."""
        mixed: list[tuple[int, _Part]] = []
        limit = self.description.position_limit
        self.model.eval()
        for seed, part in parts:
            drawn = draw_candidates(
                self.model,
                part.source_BS.to(self.world.device),
                part.target_BT,
                self.config.samples,
                seed,
                None if limit is None else limit - 1,  # BOS is read, too
            )
            mixed.append((seed, replace(part, factor=self.config.likelihood_weight, reward=drawn.reward)))
            for k, (target_BT, weight_B) in enumerate(zip(drawn.targets, drawn.advantages, strict=True)):
                if weight_B.any():
                    mixed.append((_seed(seed, k), _Part(part.source_BS, target_BT, weight_B=weight_B)))
        self.model.train()
        return mixed

    def _parts(self, batch: Batch) -> list[_Part]:
        """Split a batch into micro-batches; on a GPU it stays whole."""
        if self.world.device.type != "cpu":
            return [_Part(batch.source_BS, batch.target_BT)]
        positions = max(batch.source_BS.numel(), batch.target_BT[:, 1:].numel())
        parts = [_Part(*tensors) for tensors in batch.parts(_passes(positions))]
        if self.divided:  # all processes must make equally many passes
            parts += [replace(parts[-1], share=0.0)] * (_passes(self.config.batch_tokens) - len(parts))
        return parts

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

    def _backward(self, part: _Part, scale: float, *, last: bool) -> Losses:
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

    def begin_with(self, weights: Mapping[str, Tensor]) -> None:
        """Start from an existing model's weights."""
        self.assign(weights)

    def assign(self, values: Mapping[str, Tensor]) -> None:
        """Set some parameters, by name."""
        for group in (self.parameters, self.average):
            if group is not None:
                fill({name: group[name] for name in values}, values)

    def evaluated_weights(self) -> Mapping[str, Tensor]:
        """Return the weights to evaluate: the moving average if there is one."""
        return self.parameters if self.average is None else self.average

    def evaluated(self) -> Seq2Seq:
        """Return an unsharded model with the weights to evaluate, in eval mode. A collective call."""
        if self.average is None and not self.divided:
            return self.model.eval()
        model = build(self.description).to(self.world.device).eval()
        fill(dict(model.named_parameters()), self.evaluated_weights())
        return model

    def scored(self, *, undivided: bool) -> Objective:
        """Return the objective with the weights to evaluate, in eval mode. A collective call.

        Unless the model has to be `undivided`, it stays sharded as in training if possible: the whole may not fit.
        """
        if self.divided and self.average is None and not undivided:
            return cast(Objective, self.objective.eval())
        return Objective(self.evaluated(), self.config.label_smoothing)

    def with_weights(self, weights: Mapping[str, Tensor]) -> Objective:
        """Return the objective of an unsharded model with other weights, in eval mode."""
        model = build(self.description).to(self.world.device).eval()
        fill(dict(model.named_parameters()), weights)
        return Objective(model, self.config.label_smoothing)

    def tensors(self) -> dict[str, Tensor]:
        """Return all state besides the weights that the next step needs, by name, in the first process. Collective."""
        groups = self._groups().items()
        every = {f"{kind}.{name}": tensor for kind, group in groups for name, tensor in group.items()}
        return gathered(every, self.world)

    def _groups(self) -> dict[str, dict[str, Tensor]]:
        """Return Adam's moments, and the moving average if there is one."""
        return {**self.moments, **({} if self.average is None else {"average": self.average})}

    def weights(self) -> dict[str, Tensor]:
        """Return the model's weights, by name, in the first process. A collective call."""
        return gathered({name: parameter.detach() for name, parameter in self.parameters.items()}, self.world)

    def mismatch(self, weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> str | None:
        """Describe the first tensor needed by `restore` that is missing or has another shape; None if there is none."""
        needed: list[tuple[str, Tensor | None, Tensor]] = [
            (name, weights.get(name), ours) for name, ours in self.parameters.items()
        ]
        for kind, group in self._groups().items():
            needed += [(f"{kind}.{name}", tensors.get(f"{kind}.{name}"), ours) for name, ours in group.items()]
        for name, theirs, ours in needed:
            if theirs is None or theirs.shape != ours.shape:
                return f"{name} is {_size(theirs)} there and {_size(ours)} here"
        return None

    def restore(self, weights: dict[str, Tensor], tensors: dict[str, Tensor], steps_taken: int) -> None:
        """Restore the state that an earlier process saved, whatever its number of processes was."""
        fill(self.parameters, weights)
        for kind, group in self._groups().items():
            fill(group, {name: tensors[f"{kind}.{name}"] for name in group})
        self.updates = self._counts(steps_taken)

    def _counts(self, steps_taken: int) -> dict[str, Tensor]:
        """Return the number of updates of each weight's moments, as Adam counts them."""
        return {name: torch.tensor(float(steps_taken), device=self.world.device) for name in self.parameters}


def knows_bf16(device: torch.device) -> bool:
    """Return whether a device supports matrix products in bfloat16 natively; otherwise they are far slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # type: ignore[no-untyped-call]


def _size(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "×".join(map(str, tensor.shape))


def _passes(tokens: int) -> int:
    """Return the number of micro-batches for a batch of so many tokens a side on a CPU."""
    return -(-tokens // PART)


def _seed(*place: int) -> int:
    """Return a seed that is a function of a position in the run."""
    return int.from_bytes(hashlib.blake2b(repr(place).encode(), digest_size=8).digest(), "little") >> 1
