"""Sliding-window attention with global tokens: Longformer (Beltagy et al., 2020).

Shapes: B sentences, H heads, S positions, G global ones, D = d_model, K = d_k, V = d_v.
"""

import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention, attention
from regard.model.kernels.linear import Linear


class Longformer(MultiHeadAttention):
    """Longformer's attention in O((w + g)·n·d) time and memory (section 3.1 of its paper). With window w and globals G,

        head_i = Σ_{j ∈ S_i} softmax_j(q_i · k_j / sqrt(d_k)) v_j,    S_i = {j: |i - j| <= w / 2} ∪ G

    for i ∉ G. A position i ∈ G attends to all positions, with separate projections W^Q, W^K, W^V.

    The first positions are global. Its paper chooses them by the task ([CLS], the words of a question); here the tag of
    the target language is among them. Its layers start from a trained model's full attention; these start at random.
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
        """Return B, S, D and, if `weights`, the weights as B, H, S, S, with 0 outside the window."""
        G = self.global_tokens
        head_BHSV, weights_BHSS = self.attend(*self.queries_keys_values(x_BSD), mask_BS, weights=weights)
        if G:
            global_BHGV, global_BHGS = self._global_heads(x_BSD, mask_BS)
            head_BHSV = torch.cat((global_BHGV, head_BHSV[:, :, G:]), dim=2)
            if weights_BHSS is not None:
                weights_BHSS = torch.cat((global_BHGS, weights_BHSS[:, :, G:]), dim=2)
        return self.concat(head_BHSV), weights_BHSS

    def _global_heads(self, x_BSD: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        """Attend from the global positions to all positions."""
        query_BHGK = self._rotated(self._split(self.global_query(x_BSD[:, : self.global_tokens])), 0)
        key_BHSK = self._rotated(self._split(self.global_key(x_BSD)), 0)
        value_BHSV = self._split(self.global_value(x_BSD))
        return attention(query_BHGK, key_BHSK, value_BHSV, mask_BS[:, None, None, :], self.scale, self.dropout)
