"""Low-rank attention: Linformer (Wang et al., 2020).

Shapes: B sentences, H heads, S positions, R = rank, L = max_length, D = d_model, K = d_k, V = d_v.
"""

import torch
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.cache import KeyValue
from regard.model.positions import check_learned


class Linformer(MultiHeadAttention):
    """Linformer's attention in O(k·n·d) (equation 7 of its paper): n keys and values are projected to k mixtures.

        head_i = softmax(Q W_i^Q (E K W_i^K)^T / sqrt(d_k)) · F V W_i^V,    E, F: k × n

    E and F are learned, and shared by a layer's heads (its "headwise sharing"). A shorter source uses their first
    columns; padding is set to 0 before mixing. The weights belong to mixtures, not to tokens, so none are returned.
    """

    def __init__(
        self, d_model: int, heads: int, d_k: int, d_v: int, *, rank: int, max_length: int, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, heads, d_k, d_v, dropout=dropout)
        self.mix_keys_RL = nn.Parameter(torch.empty(rank, max_length))  # E
        self.mix_values_RL = nn.Parameter(torch.empty(rank, max_length))  # F
        for matrix in (self.mix_keys_RL, self.mix_values_RL):
            nn.init.normal_(matrix, std=rank**-0.5)  # as in its theorem 2

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        S = x_BSD.shape[1]
        check_learned(S, self.mix_keys_RL.shape[1])
        padding_B1S1 = ~mask_BS[:, None, :, None]
        key_BHSK, value_BHSV = (part.masked_fill(padding_B1S1, 0.0) for part in self.keys_values(x_BSD))
        mixed = KeyValue(self.mix_keys_RL[:, :S] @ key_BHSK, self.mix_values_RL[:, :S] @ value_BHSV)
        head_BHSV, _ = self.attend(self.queries(x_BSD), mixed)
        return self.concat(head_BHSV), None
