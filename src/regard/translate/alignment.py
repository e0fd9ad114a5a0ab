"""The model's attention over the source, from which words are aligned, computed by torch.

Shapes: B sentences, H heads, T target positions, S source positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config.special_tokens import BOS, EOS
from regard.model.seq2seq import Seq2Seq


@torch.inference_mode()
def cross_attention(model: Seq2Seq, source: Sequence[int], target: Sequence[int], layer: int | None = None) -> Tensor:
    """Return the attention of each target token over the source tokens and, last, EOS: T, S + 1; the mean of the heads.

    A token's row is that of the position which predicts it, and the layer is by default the last but one. Rows add up
    to 1, or to 0 in a model without attention over the source.
    """
    device = next(model.parameters()).device
    source_BS = torch.tensor([[*source, EOS]], device=device)
    target_BT = torch.tensor([[BOS, *target]], device=device)
    weights_BTS = model.attentions(source_BS, target_BT).over_source(layer)
    if weights_BTS is None:
        return torch.zeros(len(target), len(source) + 1)
    return weights_BTS[0, :-1].cpu()
