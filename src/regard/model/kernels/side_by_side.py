"""Store W^Q, W^K and W^V contiguously, so that self-attention needs one matrix product for them in inference.

Shapes: B sentences, T positions, D = d_model, E = outputs of a layer.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.model.kernels.linear import Packed, content_of, linear


class SideBySide:
    """Linear layers of one input whose matrices may be stored contiguously; each remains a parameter of its own."""

    def __init__(self, *layers: nn.Linear) -> None:
        self.layers = layers
        self.together: tuple[Tensor, Tensor] | None = None
        """All matrices as one, and all biases, once they are contiguous."""
        self.content: list[tuple[int, int]] = []
        """Addresses and versions of the parameters at that time."""
        self.packed = Packed()

    def move_together(self) -> None:
        """Move the matrices together; moving or changing one of them later undoes it."""
        sizes = [layer.out_features for layer in self.layers]
        weight = torch.cat([layer.weight.detach() for layer in self.layers])
        bias = torch.cat([layer.bias.detach() for layer in self.layers])
        parts = zip(self.layers, torch.split(weight, sizes), torch.split(bias, sizes), strict=True)
        for layer, weight_ED, bias_E in parts:
            layer.weight.data, layer.bias.data = weight_ED, bias_E
        self.together, self.content = (weight, bias), self._content()

    def __call__(self, x_BTD: Tensor) -> Sequence[Tensor] | None:
        """Return the output of each layer by one matrix product; None if the matrices were moved or changed since."""
        if self.together is None or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        if self._content() != self.content:
            return None
        output_BTE = linear(x_BTD, *self.together, self.packed)
        return torch.split(output_BTE, [layer.out_features for layer in self.layers], dim=2)

    def _content(self) -> list[tuple[int, int]]:
        return [content_of(tensor) for layer in self.layers for tensor in (layer.weight, layer.bias)]


def move_projections_together(model: nn.Module) -> None:
    """Store the projections of every attention layer of a model contiguously, for inference."""
    for module in model.modules():
        projections = getattr(module, "side_by_side", None)
        if isinstance(projections, SideBySide):
            projections.move_together()
