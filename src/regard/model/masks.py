"""Attention masks (section 3.2.3). True means "may attend", everywhere.

Shapes: B sentences, T queries, S keys.
"""

import torch
from torch import Tensor

from regard.config.special_tokens import PAD


def not_padding(tokens_BS: Tensor) -> Tensor:
    """Return True where there is a token, False at padding."""
    return tokens_BS != PAD


def distances(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Return the position of each key minus that of each query, where the last query is at the last key: T, S."""
    query_T = torch.arange(keys - queries, keys, device=device)
    key_S = torch.arange(keys, device=device)
    return key_S[None, :] - query_T[:, None]


def up_to(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Return True where a key is not after the query, where the last query is at the last key: T, S."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return softmax(scores) over the keys, with weight 0 where the mask, which broadcasts to the scores, is False.

    The paper sets masked scores to −inf. The lowest finite number gives the same weights, exactly 0, and no NaN for a
    query that may attend to nothing (at padding).
    """
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


def visible(distance_TS: Tensor, *, causal: bool, neighbours: int) -> Tensor:
    """Return True where a query may attend to a key at that distance.

    causal: position i attends only to positions up to i. neighbours: only to a neighbourhood of size r (section 4).
    """
    seen_TS = torch.ones_like(distance_TS, dtype=torch.bool)
    if causal:
        seen_TS = seen_TS & (distance_TS <= 0)
    if neighbours:
        seen_TS = seen_TS & (distance_TS.abs() <= neighbours // 2)
    return seen_TS
