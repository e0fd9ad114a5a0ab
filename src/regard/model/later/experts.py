"""A sparsely gated mixture of experts (Shazeer et al., 2017): many feed-forward networks, of which a token uses k.

    y = Σ_i G(x)_i E_i(x),        E_i(x) = max(0, x W1_i + b1_i) W2_i + b2_i
    G(x) = softmax(KeepTopK(H(x), k))
    H(x)_i = x·W_g,i + StandardNormal() · Softplus(x·W_noise,i)

KeepTopK sets all but the k largest to −inf, so only k experts are computed. The noise is added in training
only; it moves tokens between experts, so that none starves. Both matrices of the gate start at 0, as in their paper.

Two losses keep the experts in balance, with CV the coefficient of variation (deviation over mean) over the experts:

    Importance(X) = Σ_x G(x),     L_importance = w · CV(Importance(X))²
    P(x, i) = Φ((x·W_g,i − kth_excluding(H(x), k, i)) / Softplus(x·W_noise,i))
    Load(X) = Σ_x P(x, ·),        L_load = w · CV(Load(X))²

kth_excluding(v, k, i) is the k-th largest of v without v_i: P is the chance that a new draw of i's noise chooses i.
X are the tokens of a micro-batch, without padding.

Shapes: B sentences, T positions, N tokens of all sentences, E experts, K of them used, C = N·K calls of an expert,
D = d_model, F = d_ff.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.kernels.dropout import standard_normal
from regard.model.kernels.linear import linear

BALANCE = 0.01  # w, the weight of either loss: what Shazeer et al. use for translation


class Experts(nn.Module):
    """Feed-forward networks of which each token uses `active`, in place of one that all tokens use."""

    def __init__(self, d_model: int, d_ff: int, experts: int, active: int) -> None:
        super().__init__()
        self.active = active
        self.gate_ED = nn.Parameter(torch.zeros(experts, d_model))
        self.noise_ED = nn.Parameter(torch.zeros(experts, d_model))
        # One parameter for all experts, so that each has a gradient in every step, if only of 0.
        self.inner_EFD = nn.Parameter(torch.empty(experts, d_ff, d_model))
        self.inner_bias_EF = nn.Parameter(torch.zeros(experts, d_ff))
        self.outer_EDF = nn.Parameter(torch.empty(experts, d_model, d_ff))
        self.outer_bias_ED = nn.Parameter(torch.zeros(experts, d_model))
        for matrix in (*self.inner_EFD.unbind(), *self.outer_EDF.unbind()):
            nn.init.xavier_uniform_(matrix.detach(), gain=0.5)  # as other residual branches start (embedding.py)

    def forward(self, x_BTD: Tensor, mask_BT: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return y, which is 0 where the mask is False, and in training the sum of both losses."""
        if mask_BT is None:
            y_ND, loss = self._mixed(x_BTD.flatten(0, 1))
            return y_ND.view_as(x_BTD), loss
        kept_N = mask_BT.reshape(-1).nonzero()[:, 0]
        y_ND, loss = self._mixed(x_BTD.flatten(0, 1).index_select(0, kept_N))
        y_BTD = torch.zeros_like(x_BTD.flatten(0, 1), dtype=y_ND.dtype).index_copy(0, kept_N, y_ND)
        return y_BTD.view_as(x_BTD), loss

    def _mixed(self, x_ND: Tensor) -> tuple[Tensor, Tensor | None]:
        clean_NE = F.linear(x_ND, self.gate_ED)
        score_NE, deviation_NE = clean_NE, None
        if self.training:
            deviation_NE = F.softplus(F.linear(x_ND, self.noise_ED))
            score_NE = clean_NE + standard_normal(clean_NE) * deviation_NE
        best_NK, which_NK = score_NE.topk(self.active, dim=1)
        gate_NK = best_NK.softmax(1)
        y_ND = (self._experts(x_ND, which_NK) * gate_NK[:, :, None]).sum(1)
        if deviation_NE is None:
            return y_ND, None
        importance_E = torch.zeros_like(clean_NE).scatter(1, which_NK, gate_NK).sum(0)
        load_E = chance_of_choice(clean_NE, score_NE, deviation_NE, self.active).sum(0)
        return y_ND, BALANCE * (squared_variation(importance_E) + squared_variation(load_E))

    def _experts(self, x_ND: Tensor, which_NK: Tensor) -> Tensor:
        """Return the output of each token's experts, N, K, D, computed expert by expert."""
        order_C = which_NK.reshape(-1).argsort(stable=True)
        calls = torch.bincount(which_NK.reshape(-1), minlength=len(self.gate_ED)).tolist()
        inputs = torch.split(x_ND.index_select(0, order_C // self.active), calls)
        weights = zip(
            *(part.unbind() for part in (self.inner_EFD, self.inner_bias_EF, self.outer_EDF, self.outer_bias_ED)),
            strict=True,
        )
        outputs = [
            linear(linear(x_CD, inner_FD, inner_F).relu(), outer_DF, outer_D)
            for x_CD, (inner_FD, inner_F, outer_DF, outer_D) in zip(inputs, weights, strict=True)
            if len(x_CD)
        ]
        output_CD = torch.cat(outputs) if outputs else x_ND.new_zeros(0, x_ND.shape[1])
        return output_CD.index_select(0, order_C.argsort()).view(*which_NK.shape, -1)


def chance_of_choice(clean_NE: Tensor, score_NE: Tensor, deviation_NE: Tensor, k: int) -> Tensor:
    """Return P(x, i), the chance that expert i is among the k best when its noise alone is drawn again."""
    if k == score_NE.shape[1]:
        return torch.ones_like(score_NE)
    best_NL = score_NE.topk(k + 1, dim=1).values
    kth_N1, next_N1 = best_NL[:, k - 1 : k], best_NL[:, k:]
    # Without an expert that is chosen, the k-th largest of the others is the one after the k best.
    threshold_NE = torch.where(score_NE >= kth_N1, next_N1, kth_N1)
    chance_NE: Tensor = torch.special.ndtr((clean_NE - threshold_NE) / deviation_NE)
    return chance_NE


def squared_variation(sum_E: Tensor) -> Tensor:
    """Return the squared coefficient of variation."""
    return sum_E.var(correction=0) / (sum_E.mean() ** 2 + 1e-10)
