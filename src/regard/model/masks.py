"""Who may attend to whom (section 3.2.3). True means "may attend", everywhere.

Shapes: B sentences, T queries, S keys.
"""

import torch
from torch import Tensor

from regard.config.special_tokens import PAD


def not_padding(tokens_BS: Tensor) -> Tensor:
    """True where there is a token."""
    return tokens_BS != PAD


def distances(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Position of each key minus that of each query, when the last query stands at the last key."""
    query_T = torch.arange(keys - queries, keys, device=device)
    key_S = torch.arange(keys, device=device)
    return key_S[None, :] - query_T[:, None]


def visible(distance_TS: Tensor, *, causal: bool, neighbours: int) -> Tensor:
    """True where the distance may be looked across.

    causal: position i sees only positions up to i. neighbours: only a neighbourhood of size r around it (section 4).
    """
    seen_TS = torch.ones_like(distance_TS, dtype=torch.bool)
    if causal:
        seen_TS = seen_TS & (distance_TS <= 0)
    if neighbours:
        seen_TS = seen_TS & (distance_TS.abs() <= neighbours // 2)
    return seen_TS
