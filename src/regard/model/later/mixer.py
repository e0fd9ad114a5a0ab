"""A network across positions instead of attention: MLP-Mixer (Tolstikhin et al., 2021).

    y = W2 GELU(W1 x + b1) + b2

for each channel, with x all its positions. Its paper's images have one size; a sentence of S tokens uses the first S
columns of W1 and rows of W2, so that `model.max_length` limits its length. The mixing of channels is the layer's usual
feed-forward network. Not causal, so the decoder keeps its attention.

Shapes: B sentences, S positions, P = max_length, M inner units, D = d_model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.positions import check_learned


class Mixer(nn.Module):
    """The token-mixing network of an MLP-Mixer."""

    def __init__(self, max_length: int, inner: int) -> None:
        super().__init__()
        self.inner_MP = nn.Parameter(torch.empty(inner, max_length))
        self.inner_bias_M1 = nn.Parameter(torch.zeros(inner, 1))
        self.outer_PM = nn.Parameter(torch.empty(max_length, inner))
        self.outer_bias_P1 = nn.Parameter(torch.zeros(max_length, 1))
        # As for a sentence of some 32 words, not for one of max_length: a sum over few positions would start near 0.
        nn.init.normal_(self.inner_MP, std=min(max_length, 32) ** -0.5)
        nn.init.normal_(self.outer_PM, std=0.5 * inner**-0.5)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return B, S, D; padding is set to 0, so that it adds nothing. There are no attention weights."""
        S = x_BSD.shape[1]
        check_learned(int(mask_BS.sum(1).max()) if len(mask_BS) else 0, len(self.outer_PM))
        x_BSD = x_BSD.masked_fill(~mask_BS[:, :, None], 0.0)
        within = min(S, len(self.outer_PM))
        inner_BMD = F.gelu(self.inner_MP[:, :within] @ x_BSD[:, :within] + self.inner_bias_M1)
        y_BSD = self.outer_PM[:within] @ inner_BMD + self.outer_bias_P1[:within]
        return F.pad(y_BSD, (0, 0, 0, S - within)), None
