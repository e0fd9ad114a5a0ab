"""What a model looked at, recorded in one pass and ready to be drawn.

Shapes: B sentences, H heads, T target positions, S source positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import BOS, EOS
from regard.model.seq2seq import Seq2Seq


@torch.inference_mode()
def cross_attention(model: Seq2Seq, source: Sequence[int], target: Sequence[int], layer: int = -1) -> Tensor:
    """How much each target token was drawn from each source token and, last, from EOS: T, S + 1; the mean of the heads.

    A token's row is that of the position which predicts it. EOS is there, unlike in decode.alignment.token_attention,
    so rows add up to 1.
    """
    device = next(model.parameters()).device
    source_BS = torch.tensor([[*source, EOS]], device=device)
    target_BT = torch.tensor([[BOS, *target[:-1]]], device=device)
    cross = model.attentions(source_BS, target_BT).cross
    assert cross, "a model without attention over the source has nothing to show"
    return cross[layer][0].mean(0)[: len(target)].cpu()
