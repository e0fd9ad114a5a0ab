"""Word alignment of source and target, from the model's attention over the source.

Shapes: B sentences, H heads, T target positions, S source positions; M source words, N target words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config.special_tokens import BOS, EOS
from regard.model.seq2seq import Seq2Seq
from regard.translate.words import Pairs, words


@torch.inference_mode()
def cross_attention(model: Seq2Seq, source: Sequence[int], target: Sequence[int], layer: int | None = None) -> Tensor:
    """Return the attention of each target token over the source tokens and, last, EOS: T, S + 1; the mean of the heads.

    A token's row is that of the position which predicts it, and the layer is by default the last but one (Garg et al.,
    2019, "Jointly Learning to Align and Translate with Transformer Models"). Rows add up to 1, or to 0 in a model
    without attention over the source.
    """
    device = next(model.parameters()).device
    source_BS = torch.tensor([[*source, EOS]], device=device)
    target_BT = torch.tensor([[BOS, *target]], device=device)
    cross = model.attentions(source_BS, target_BT).cross
    if not cross:
        return torch.zeros(len(target), len(source) + 1)
    chosen_BHTS = cross[max(0, len(cross) - 2) if layer is None else layer]
    return chosen_BHTS[0].mean(0)[:-1].cpu()


def word_alignment(attention_TS: Tensor, source_pieces: Sequence[str], target_pieces: Sequence[str]) -> Pairs:
    """Return, for every target word, the source word its tokens attend to most, as (source, target) numbers from 0.

    A word whose tokens attend to none has no pair, as in a model without attention over the source.
    """
    if not source_pieces or not target_pieces:
        return ()
    source_S, target_T = torch.tensor(words(source_pieces)), torch.tensor(words(target_pieces))
    M, N = int(source_S[-1]) + 1, int(target_T[-1]) + 1
    attention_TM = torch.zeros(len(target_T), M).index_add_(1, source_S, attention_TS.float())
    attention_NM = torch.zeros(N, M).index_add_(0, target_T, attention_TM)
    weight_N, source_N = attention_NM.max(1)
    return tuple((int(source_N[target]), int(target)) for target in weight_N.nonzero()[:, 0])
