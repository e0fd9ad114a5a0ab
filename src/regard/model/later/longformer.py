"""Attention in a sliding window, with global tokens: Longformer (Beltagy et al., 2020).

Shapes: B sentences, H heads, S positions, G global ones, D = d_model, K = d_k, V = d_v.
"""

import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention, attention
from regard.model.kernels.linear import Linear


class Longformer(MultiHeadAttention):
    """Section 3.1 of its paper, in O((w + g)·n·d) time and memory. With a window w and the global positions G,

        head_i = Σ_{j ∈ S_i} softmax_j(q_i · k_j / sqrt(d_k)) v_j,    S_i = {j: |i - j| <= w / 2} ∪ G

    for i ∉ G. A position i ∈ G sees every other, with projections W^Q, W^K, W^V of its own kind.

    Global are the first positions. Its paper chooses them by the task ([CLS], the words of a question); here a tag that
    asks for a language stands there. Its layers began from a trained model's full attention; these begin at random.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int,
        d_v: int,
        *,
        window: int,
        global_tokens: int,
        rotary: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            d_model, heads, d_k, d_v, rotary=rotary, neighbours=window, global_tokens=global_tokens, dropout=dropout
        )
        if global_tokens:
            self.global_query = Linear(d_model, heads * d_k)
            self.global_key = Linear(d_model, heads * d_k)
            self.global_value = Linear(d_model, heads * d_v)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """B, S, D and, when asked, the weights as B, H, S, S with 0 where nothing is seen."""
        G = self.global_tokens
        head_BHSV, weights_BHSS = self.attend(*self.queries_keys_values(x_BSD), mask_BS, weights=weights)
        if G:
            global_BHGV, global_BHGS = self._global_heads(x_BSD, mask_BS)
            head_BHSV = torch.cat((global_BHGV, head_BHSV[:, :, G:]), dim=2)
            if weights_BHSS is not None:
                weights_BHSS = torch.cat((global_BHGS, weights_BHSS[:, :, G:]), dim=2)
        return self.concat(head_BHSV), weights_BHSS

    def _global_heads(self, x_BSD: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        """Attend from the global positions to all."""
        query_BHGK = self._rotated(self._split(self.global_query(x_BSD[:, : self.global_tokens])), 0)
        key_BHSK = self._rotated(self._split(self.global_key(x_BSD)), 0)
        value_BHSV = self._split(self.global_value(x_BSD))
        return attention(query_BHGK, key_BHSK, value_BHSV, mask_BS[:, None, None, :], self.scale, self.dropout)
