"""One update of the weights from one group of batches, with everything it leaves behind as a value."""

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
from regard.config.train import TrainConfig
from regard.data.batches import Batch, Step
from regard.errors import UserError
from regard.model.build import build
from regard.model.kernels.linear import keep_little
from regard.model.seq2seq import Seq2Seq
from regard.train.distributed import World, fill, gathered, spread, whole
from regard.train.loss import smoothed_cross_entropy
from regard.train.schedule import rate
from regard.train.threads import TwoThreads, seeded

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule

PART = 1 << 11  # tokens a side that a CPU computes at once: enough to keep the products busy, little to hold

Losses = tuple[float, float]  # smoothed, and the negative log-likelihood
Work = tuple[int, Callable[[], Losses]]  # a seed, and what is to be done after it


class Objective(nn.Module):
    """What training makes small: the smoothed cross-entropy of the targets, summed over tokens (section 5.4)."""

    def __init__(self, model: Seq2Seq, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> tuple[Tensor, Tensor]:
        """The smoothed loss, and the negative log-likelihood without smoothing."""
        features_BTD = self.model.features(source_BS, target_BT[:, :-1])
        loss = smoothed_cross_entropy(features_BTD, self.model.projection_VD, target_BT[:, 1:], self.smoothing)
        return loss.smoothed, loss.nll


@dataclass(frozen=True)
class Update:
    """What one step did. Sums are over all processes."""

    loss: float
    """Smoothed, summed over the tokens."""
    nll: float
    """Negative log-likelihood, summed over the tokens."""
    norm: float
    """Of the gradient, per token, before clipping."""
    rate: float
    taken: bool
    """False when the loss or the gradient was not finite, and the weights were left as they were."""
    stop: bool
    """Whether any process was asked to stop."""


@dataclass(frozen=True)
class _Part:
    """What goes through the model at once: a batch, or a part of one."""

    source_BS: Tensor
    target_BT: Tensor
    share: float = 1.0
    """0 if it is passed for the sake of other processes alone."""


class Trainer:
    """A model, Adam's moments and its moving average, on one process of several."""

    def __init__(self, description: ModelConfig, config: TrainConfig, world: World) -> None:
        keep_little()
        self.description, self.config, self.world = description, config, world
        torch.manual_seed(config.seed)
        self.model = model = build(description)
        self._check_precision()
        objective: nn.Module = Objective(model, config.label_smoothing)
        if config.compile:
            objective.compile(dynamic=True)
        self.objective = spread(objective, world, config.sharding)
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

    def _check_precision(self) -> None:
        """Refuse what would end in the first step with an error of torch's: it has no such LSTM for such a CPU."""
        rounded = self.config.precision == "bf16" and self.world.device.type == "cpu"
        if rounded and not knows_bf16(self.world.device) and any(isinstance(m, nn.LSTM) for m in self.model.modules()):
            raise UserError(
                "train.precision=bf16: this processor has no bfloat16 instructions, which an LSTM needs; "
                "leave it out, or take another model.cell"
            )

    def _can_use_two_threads(self, model: Seq2Seq) -> bool:
        """Whether two threads can share the work: an odd number of cores would leave one idle."""
        if self.world.device.type != "cpu" or torch.get_num_threads() % 2 or self.config.compile:
            return False
        return model.deterministic_in_threads(self.config.precision)

    def update(self, step: Step, number: int, asked: Callable[[], bool] = lambda: False) -> Update:
        """Gradients of all batches of the group, per token; then Adam (section 5.3). A bad gradient changes nothing."""
        self.objective.train()
        loss, nll = self._gradients(step, number)
        loss, nll, stops = self.world.total([loss, nll, float(asked())])
        gradients = [parameter.grad for parameter in self.parameters.values() if parameter.grad is not None]
        norm_tensor = whole(torch.nn.utils.get_total_norm(gradients, foreach=True))
        norm = norm_tensor.item()
        learning_rate = self.rate(number)
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
        return Update(loss, nll, norm, learning_rate, taken, stops > 0)

    @torch.no_grad()
    def _adam(self, learning_rate: float) -> None:
        """Kingma and Ba, 2015, algorithm 1. As a function: the class imports the compiler, a second and 70 MB."""
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

    def _gradients(self, step: Step, number: int) -> tuple[float, float]:
        """Backward through this process's batches. Summed over the processes the gradient is that of the group."""
        # The mean over processes that both wrappers take is undone, so that the gradient is per token.
        scale = self.world.size / step.target_tokens
        parts = [
            # What is random depends on the place alone: not on who has it, nor on what went before.
            (_seed(self.config.seed, number, self.world.rank + index * self.world.size, place), part)
            for index, batch in enumerate(step.batches)
            for place, part in enumerate(self._parts(batch))
        ]
        work = [
            (seed, partial(self._backward, part, scale, last=count == len(parts)))
            for count, (seed, part) in enumerate(parts, 1)
        ]
        if self.threads is None:
            losses = [seeded(torch.manual_seed, *one) for one in work]
        else:
            losses = self._two_by_two(self.threads, work)
        return sum(loss for loss, _ in losses), sum(nll for _, nll in losses)

    def _parts(self, batch: Batch) -> list[_Part]:
        """What of a batch goes through the model at once: all of it on a GPU."""
        if self.world.device.type != "cpu":
            return [_Part(batch.source_BS, batch.target_BT)]
        positions = max(batch.source_BS.numel(), batch.target_BT[:, 1:].numel())
        parts = [_Part(*tensors) for tensors in batch.parts(_passes(positions))]
        if self.divided:  # then all processes must make as many passes
            parts += [replace(parts[-1], share=0.0)] * (_passes(self.config.batch_tokens) - len(parts))
        return parts

    def _two_by_two(self, threads: TwoThreads, work: Sequence[Work]) -> list[Losses]:
        """Two parts at once. Of two gradients the sum is the same whichever comes first; of three it is not."""
        losses: list[Losses] = []
        for first in range(0, len(work), 2):
            earlier = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
            self._forget_gradients()
            both = work[first : first + 2]
            losses += threads.run(both) if len(both) == 2 else [seeded(torch.manual_seed, *both[0])]
            for name, gradient in earlier.items():
                new = self.parameters[name].grad
                self.parameters[name].grad = gradient if new is None else gradient.add_(new)
        return losses

    def _backward(self, part: _Part, scale: float, *, last: bool) -> Losses:
        """Add a part's share to the gradient."""
        device = self.world.device
        with self._exchange(last):
            with self._precision():  # not around backward, where it would round what forward kept in 32 bits
                loss, nll = self.objective(part.source_BS.to(device), part.target_BT.to(device))
            (loss * (scale * part.share)).backward()
        return loss.item() * part.share, nll.item() * part.share

    @contextmanager
    def _exchange(self, last: bool) -> Iterator[None]:
        """Exchange gradients with the other processes after the last part only."""
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

    def rate(self, number: int) -> float:
        return rate(number, self.config, self.description.d_model)

    def check(self, weights: Mapping[str, Tensor]) -> None:
        """Refuse weights of other names or sizes than the model's."""
        for name in sorted(weights.keys() | self.parameters.keys()):
            theirs, ours = weights.get(name), self.parameters.get(name)
            if theirs is None or ours is None or theirs.shape != ours.shape:
                raise UserError(
                    f"{name}: {_size(theirs)} in the model that is to be fine-tuned, {_size(ours)} in this run; "
                    "leave out the --set that changes the model's sizes"
                )

    def begin_with(self, weights: Mapping[str, Tensor]) -> None:
        """Start from an existing model's weights."""
        fill(self.parameters, weights)
        if self.average is not None:
            fill(self.average, weights)

    def assign(self, values: Mapping[str, Tensor]) -> None:
        """Set some parameters, by name, to values that are known and not learned."""
        for group in (self.parameters, self.average):
            if group is not None:
                fill({name: group[name] for name in values}, values)

    def evaluated_weights(self) -> Mapping[str, Tensor]:
        """The weights that are used in the end: the moving average if there is one."""
        return self.parameters if self.average is None else self.average

    def evaluated(self) -> Seq2Seq:
        """The model with those weights, whole, ready to be asked. All processes must ask."""
        if self.average is None and not self.divided:
            return self.model.eval()
        model = build(self.description).to(self.world.device).eval()
        fill(dict(model.named_parameters()), self.evaluated_weights())
        return model

    def scored(self, *, undivided: bool) -> Objective:
        """The objective with those weights, ready to be asked. All processes must ask.

        Unless its model has to be undivided it is divided as in training, if it can be: the whole may not fit.
        """
        if self.divided and self.average is None and not undivided:
            return cast(Objective, self.objective.eval())
        return Objective(self.evaluated(), self.config.label_smoothing)

    def tensors(self) -> dict[str, Tensor]:
        """Everything but the weights that the next step depends on, by name, for the first process. All must ask."""
        groups = self._groups().items()
        every = {f"{kind}.{name}": tensor for kind, group in groups for name, tensor in group.items()}
        return gathered(every, self.world)

    def _groups(self) -> dict[str, dict[str, Tensor]]:
        """Adam's moments, and the moving average if there is one."""
        return {**self.moments, **({} if self.average is None else {"average": self.average})}

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, by name, for the first process. All must ask."""
        return gathered({name: parameter.detach() for name, parameter in self.parameters.items()}, self.world)

    def mismatch(self, weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> str | None:
        """The first of what restore needs that is absent or of another size, in words."""
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
        """Go on from what an earlier process saved, whatever its number of processes was."""
        fill(self.parameters, weights)
        for kind, group in self._groups().items():
            fill(group, {name: tensors[f"{kind}.{name}"] for name in group})
        self.updates = self._counts(steps_taken)

    def _counts(self, steps_taken: int) -> dict[str, Tensor]:
        """How many updates the moments of each weight have seen, as Adam counts on."""
        return {name: torch.tensor(float(steps_taken), device=self.world.device) for name in self.parameters}


def knows_bf16(device: torch.device) -> bool:
    """Whether products in bfloat16 have instructions or kernels of their own there; else they take far longer."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # type: ignore[no-untyped-call]


def _size(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "×".join(map(str, tensor.shape))


def _passes(tokens: int) -> int:
    """In how many parts a CPU computes a batch of so many tokens a side."""
    return -(-tokens // PART)


def _seed(*place: int) -> int:
    """A seed that is a function of a place in the run."""
    return int.from_bytes(hashlib.blake2b(repr(place).encode(), digest_size=8).digest(), "little") >> 1
