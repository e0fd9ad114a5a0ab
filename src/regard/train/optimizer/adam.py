"""Adam (section 5.3), and the moving average of the weights."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from regard.config.train import TrainConfig
from regard.train.distributed import fill


class Adam:
    """Adam's moments of each weight and, if the settings ask for it, the moving average of the weights."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], config: TrainConfig, device: torch.device) -> None:
        self.parameters, self.config, self.device = parameters, config, device
        self.moments = {
            kind: {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
            for kind in ("exp_avg", "exp_avg_sq")
        }
        self.average: dict[str, Tensor] | None = None
        if config.moving_average is not None:
            self.average = {name: parameter.detach().clone() for name, parameter in parameters.items()}
        self.updates = self._counts(0)

    @torch.no_grad()
    def update(self, learning_rate: float) -> None:
        """Update the weights by their gradients (Kingma and Ba, 2015, algorithm 1), and then the moving average.

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
        if self.average is not None and self.config.moving_average is not None:
            averages, values = list(self.average.values()), list[Tensor](self.parameters.values())
            torch._foreach_lerp_(averages, values, 1.0 - self.config.moving_average)

    def tensors(self) -> dict[str, Tensor]:
        """Return the moments, and the moving average if there is one, by the names that checkpoints have for them."""
        groups = {**self.moments, **({} if self.average is None else {"average": self.average})}
        return {f"{kind}.{name}": tensor for kind, group in groups.items() for name, tensor in group.items()}

    def restore(self, tensors: Mapping[str, Tensor], steps_taken: int) -> None:
        """Restore what `tensors` returned after so many updates."""
        ours = self.tensors()
        fill(ours, {name: tensors[name] for name in ours})
        self.updates = self._counts(steps_taken)

    def _counts(self, steps_taken: int) -> dict[str, Tensor]:
        """Return the number of updates of each weight's moments, as Adam counts them."""
        return {name: torch.tensor(float(steps_taken), device=self.device) for name in self.parameters}
