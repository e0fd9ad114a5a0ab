"""Attention by random features: FAVOR+ of the Performer (Choromanski et al., 2021).

Shapes: B sentences, H heads, T queries, S keys, M features, D = d_model, K = d_k, V = d_v.
"""

from functools import cache

import numpy as np
import torch
from torch import Tensor

from regard.model.attention import MultiHeadAttention


def orthogonal_gaussians(features: int, size: int, seed: int = 0) -> Tensor:
    """Return ω_1 … ω_m, each distributed as N(0, I), orthogonal in groups of `size` (section 2.4 of its paper).

    They are not saved: numpy guarantees that this legacy generator will always draw the same numbers.
    """
    random = np.random.RandomState(seed)
    directions = np.empty((0, size))
    while len(directions) < features:
        q, r = np.linalg.qr(random.standard_normal((size, size)))
        directions = np.concatenate((directions, (q * np.sign(r.diagonal())).T))  # else some directions are likelier
    lengths = np.linalg.norm(random.standard_normal((features, size)), axis=1)
    return torch.from_numpy((directions[:features] * lengths[:, None]).astype(np.float32))


@cache
def _table(features: int, size: int) -> Tensor:
    """Return the random features, drawn once for all layers."""
    return orthogonal_gaussians(features, size)


def positive_features(query_BHTK: Tensor, key_BHSK: Tensor, mask_BS: Tensor, omega_MK: Tensor) -> tuple[Tensor, Tensor]:
    """Return φ(Q) and φ(K) for scaled queries and keys, without the factors that cancel in D^-1.

    These are 1/sqrt(m), a query's exp(-|q|²/2), and any factor that multiplies a feature in all keys and divides it in
    the queries. Each is chosen to make the largest value 1: nothing overflows, and D is never below 1.
    """
    key_BHSM = key_BHSK @ omega_MK.T - key_BHSK.square().sum(-1, keepdim=True) / 2
    key_BHSM = key_BHSM.masked_fill(~mask_BS[:, None, :, None], torch.finfo(key_BHSM.dtype).min)
    largest_BH1M = key_BHSM.amax(2, keepdim=True).detach()
    query_BHTM = query_BHTK @ omega_MK.T + largest_BH1M
    query_BHTM = query_BHTM - query_BHTM.amax(-1, keepdim=True).detach()
    return query_BHTM.exp(), (key_BHSM - largest_BH1M).exp()


class Performer(MultiHeadAttention):
    """Softmax attention in O(m·n·d), approximated by the mean over m random features (lemma 1 of its paper).

        exp(q · k) = E_ω[exp(ω · q - |q|²/2) exp(ω · k - |k|²/2)],    ω ~ N(0, I)
        φ(x) = exp(-|x|²/2) / sqrt(m) · (exp(ω_1 · x) … exp(ω_m · x))
        Attention(Q, K, V) = D^-1 φ(Q) (φ(K)^T V),    D = diag(φ(Q) (φ(K)^T 1))

    with q and k divided by d_k^(1/4). Its paper redraws the ω at intervals during training; here they are fixed.
    """

    omega_MK: Tensor

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, *, features: int, rotary: bool = False) -> None:
        super().__init__(d_model, heads, d_k, d_v, rotary=rotary)
        self.register_buffer("omega_MK", _table(features, d_k), persistent=False)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor, *, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return B, S, D and, if `weights`, the weights that the features imply: B, H, S, S, in quadratic time."""
        query_BHSK, (key_BHSK, value_BHSV) = self.queries_keys_values(x_BSD)
        root = self.scale**0.5
        query_BHSM, key_BHSM = positive_features(query_BHSK * root, key_BHSK * root, mask_BS, self.omega_MK)
        key_BHMS = key_BHSM.transpose(-1, -2)
        D_BHS1 = query_BHSM @ key_BHMS.sum(-1, keepdim=True)
        head_BHSV = query_BHSM @ (key_BHMS @ value_BHSV) / D_BHS1
        return self.concat(head_BHSV), query_BHSM @ key_BHMS / D_BHS1 if weights else None
