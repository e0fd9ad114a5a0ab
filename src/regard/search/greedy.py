"""Greedy search: the most probable token at each step. The same result as a beam of 1, with less overhead.

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
    """Return a hypothesis for each sentence. Of `config` only the length penalty and the limit are used.

    Without `scored` the search is faster: the most probable token is the one with the greatest logit.
    """

    def choose(logits_RV: Tensor, _here: list[int], _before: int) -> Tensor:
        return logits_RV.argmax(dim=1)

    return extend_rows(model, source_BS, config, choose, constraints=constraints, longest=longest, scored=scored)
