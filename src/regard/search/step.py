"""One step of a search: the logits of the next token, checked to be finite.

Shapes: R rows (a hypothesis each), T target positions, V vocabulary.
"""

import math

from torch import Tensor

from regard.errors import Failed
from regard.model.seq2seq import DecoderState, Seq2Seq
from regard.search.hypothesis import NO_NUMBERS


def next_logits(model: Seq2Seq, token_R1: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Return float32 logits_RV of the token after each row's last one, and the new state.

    Raise Failed if any of them is NaN or infinite: argmax would take a NaN for the best token, and greedy search, which
    computes no softmax, would then return an output that means nothing.
    """
    logits_RTV, state = model.advance(token_R1, state)
    logits_RV = logits_RTV[:, -1].float()
    if not math.isfinite(logits_RV.sum().item()):  # one pass and one number, where isfinite() would write R·V of them
        raise Failed(NO_NUMBERS)
    return logits_RV, state
