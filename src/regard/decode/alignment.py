"""Which source word a target word came from, as the model's attention over the source tells it.

Shapes: B sentences, H heads, T target positions, S source positions; M source words, N target words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import BOS, EOS
from regard.model.seq2seq import Seq2Seq

Pairs = tuple[tuple[int, int], ...]
MARK = "▁"  # what a piece begins with when a word does


@torch.inference_mode()
def token_attention(model: Seq2Seq, source: Sequence[int], target: Sequence[int], layer: int | None = None) -> Tensor:
    """How much each target token looks at each source token, EOS left out: T, S; the mean of a layer's heads.

    A token's row is that of the position which predicts it, and the layer is by default the last but one (Garg et al.,
    2019, "Jointly Learning to Align and Translate with Transformer Models"). Rows add up to less than 1 by what went to
    EOS.
    """
    device = next(model.parameters()).device
    source_BS = torch.tensor([[*source, EOS]], device=device)
    target_BT = torch.tensor([[BOS, *target]], device=device)
    cross = model.attentions(source_BS, target_BT).cross
    if not cross:
        return torch.zeros(len(target), len(source))
    chosen_BHTS = cross[max(0, len(cross) - 2) if layer is None else layer]
    return chosen_BHTS[0].mean(0)[:-1, : len(source)].cpu()


def words(pieces: Sequence[str]) -> list[int]:
    """The number of the word that each piece belongs to."""
    numbers: list[int] = []
    for piece in pieces:
        begins = piece.startswith(MARK) or not numbers
        numbers.append((numbers[-1] if numbers else -1) + begins)
    return numbers


def word_alignment(attention_TS: Tensor, source_pieces: Sequence[str], target_pieces: Sequence[str]) -> Pairs:
    """For every target word the source word that its tokens look at most, as (source, target) numbers from 0."""
    if not source_pieces or not target_pieces:
        return ()
    source_S, target_T = torch.tensor(words(source_pieces)), torch.tensor(words(target_pieces))
    M, N = int(source_S[-1]) + 1, int(target_T[-1]) + 1
    attention_TM = torch.zeros(len(target_T), M).index_add_(1, source_S, attention_TS.float())
    attention_NM = torch.zeros(N, M).index_add_(0, target_T, attention_TM)
    return tuple((int(source), target) for target, source in enumerate(attention_NM.argmax(1)))
