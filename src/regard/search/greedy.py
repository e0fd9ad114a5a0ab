"""Greedy search: the most probable token, step by step. The same as a beam of 1, without its bookkeeping.

Shapes: R rows (a sentence each), T target positions, V vocabulary.
"""

import torch
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.model.seq2seq import Seq2Seq
from regard.search.constraints import NONE, Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.rows import extend_rows


@torch.inference_mode()
def greedy_search(
    model: Seq2Seq,
    source_BS: Tensor,
    config: DecodeConfig,
    *,
    constraints: Constraints = NONE,
    longest: int | None = None,
    scored: bool = True,
) -> list[Hypothesis]:
    """A hypothesis for each sentence. Of `config` only the length penalty and the limit count.

    What is not `scored` is found sooner: the most probable token is the one with the greatest logit.
    """

    def choose(logits_RV: Tensor, _here: list[int], _before: int) -> Tensor:
        return logits_RV.argmax(dim=1)

    return extend_rows(model, source_BS, config, choose, constraints=constraints, longest=longest, scored=scored)
