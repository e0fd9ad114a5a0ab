"""Self-attention restricted to a neighbourhood of size r (section 4), in O(r·n·d) time and memory.

Shapes: B sentences, H heads, T queries, S keys, K = d_k, V = d_v; N blocks of W positions, G global tokens.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.cache import KeyValue
from regard.model.masks import distances, masked_softmax, visible

Scores = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries (…, T, K), keys (…, S, K), distances (T, S) -> (…, T, S)


def saves_work(queries: int, keys: int, neighbours: int, global_tokens: int) -> bool:
    """Return whether blocks hold fewer scores than the full matrix; queries and keys must be of one sequence."""
    return neighbours > 0 and queries == keys and 3 * (neighbours // 2) + global_tokens < queries


def block_attention(
    query_BHTK: Tensor,
    memory: KeyValue,
    padding_BS: Tensor | None,
    scores: Scores,
    dropout: nn.Module,
    *,
    causal: bool,
    neighbours: int,
    global_tokens: int = 0,
) -> Tensor:
    """Attend from each position to its neighbours and to the first `global_tokens` keys.

    Positions are split into blocks of half a neighbourhood; a query's neighbours then lie in its own block and the two
    adjacent ones, so scores are n × 3r/2 rather than n × n.
    """
    key_BHSK, value_BHSV = memory
    B, H, T, K = query_BHTK.shape
    G, W = global_tokens, max(1, neighbours // 2)
    N = -(-T // W)
    surplus = N * W - T

    query_BHNWK = F.pad(query_BHTK, (0, 0, 0, surplus)).view(B, H, N, W, K)
    key_BHNSK = _three_blocks(F.pad(key_BHSK, (0, 0, W, surplus + W)), W)
    value_BHNSV = _three_blocks(F.pad(value_BHSV, (0, 0, W, surplus + W)), W)

    present_BS = query_BHTK.new_ones(1, T, dtype=torch.bool) if padding_BS is None else padding_BS
    near_BS = present_BS & (torch.arange(T, device=present_BS.device) >= G)  # so that global tokens count once
    near_B1NS = F.pad(near_BS, (W, surplus + W)).unfold(1, 3 * W, W)[:, None]
    distance_WS = distances(W, 2 * W, query_BHTK.device)  # a block's queries against the block before and itself …
    distance_WS = torch.cat((distance_WS, distance_WS[:, W:] + W), dim=1)  # … and the block after
    mask = visible(distance_WS, causal=causal, neighbours=neighbours) & near_B1NS[..., None, :]

    score_BHNWS = scores(query_BHNWK, key_BHNSK, distance_WS)
    if G:
        global_BHNWG = scores(query_BHNWK, key_BHSK[:, :, None, :G], distance_WS)
        present_B11WG = present_BS[:, None, None, None, :G]
        score_BHNWS = torch.cat((global_BHNWG, score_BHNWS), dim=-1)
        mask = torch.cat((present_B11WG.expand(*mask.shape[:-1], -1), mask), dim=-1)
        value_BHNGV = value_BHSV[:, :, None, :G].expand(-1, -1, N, -1, -1)
        value_BHNSV = torch.cat((value_BHNGV, value_BHNSV), dim=-2)
    output_BHNWV: Tensor = dropout(masked_softmax(score_BHNWS, mask)) @ value_BHNSV
    return output_BHNWV.reshape(B, H, N * W, -1)[:, :, :T]


def _three_blocks(x_BHSK: Tensor, W: int) -> Tensor:
    """Return every three consecutive blocks, as overlapping views: B, H, N, 3W, K."""
    return x_BHSK.unfold(2, 3 * W, W).transpose(-1, -2)
