"""A mixture of experts against its equations, token by token; its noise, its balance and what it costs."""

import math
from statistics import NormalDist

import pytest
import torch
from torch import Tensor

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.model.build import build
from regard.model.kernels.dropout import seeded_dropout, standard_normal
from regard.model.later.experts import BALANCE, Experts, chance_of_choice, squared_variation

D, E, K = 6, 5, 2


@pytest.fixture
def experts() -> Experts:
    torch.manual_seed(1)
    made = Experts(D, 9, E, K)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made


def expert(experts: Experts, i: int, x: Tensor) -> Tensor:
    inner = torch.relu(experts.inner_EFD[i] @ x + experts.inner_bias_EF[i])
    return experts.outer_EDF[i] @ inner + experts.outer_bias_ED[i]


def slowly(experts: Experts, x: Tensor, noise: list[float]) -> tuple[Tensor, list[float], list[float]]:
    """y, G(x) and P(x, ·) of one token, from the equations of the docstring."""
    clean = [float(experts.gate_ED[i] @ x) for i in range(E)]
    spread = [math.log1p(math.exp(float(experts.noise_ED[i] @ x))) for i in range(E)]
    h = [clean[i] + noise[i] * spread[i] for i in range(E)]
    chosen = sorted(range(E), key=lambda i: -h[i])[:K]
    total = sum(math.exp(h[i]) for i in chosen)
    gate = [math.exp(h[i]) / total if i in chosen else 0.0 for i in range(E)]
    y = sum((gate[i] * expert(experts, i, x) for i in chosen), torch.zeros(D))
    chances = []
    for i in range(E):
        others = sorted((h[j] for j in range(E) if j != i), reverse=True)
        chances.append(NormalDist().cdf((clean[i] - others[K - 1]) / spread[i]))
    return y, gate, chances


def variation(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values) / mean**2


@torch.no_grad()
def test_equals_the_equations_with_noise_and_padding(experts: Experts) -> None:
    x_BTD = torch.randn(3, 4, D)
    mask_BT = torch.tensor([[True] * 4, [True, False, False, False], [True, True, True, False]])
    with seeded_dropout(7):
        noise = standard_normal(torch.empty(int(mask_BT.sum()), E)).tolist()
    with seeded_dropout(7):
        y_BTD, penalty = experts.train()(x_BTD, mask_BT)
    found = [slowly(experts, x, drawn) for x, drawn in zip(x_BTD[mask_BT], noise, strict=True)]
    torch.testing.assert_close(y_BTD[mask_BT], torch.stack([y for y, _, _ in found]), atol=1e-5, rtol=1e-5)
    assert not y_BTD[~mask_BT].any()
    importance = [sum(gate[i] for _, gate, _ in found) for i in range(E)]
    load = [sum(chances[i] for _, _, chances in found) for i in range(E)]
    assert penalty.item() == pytest.approx(BALANCE * (variation(importance) + variation(load)), rel=1e-4)


@torch.no_grad()
def test_without_training_there_is_no_noise_and_no_penalty(experts: Experts) -> None:
    x_BTD = torch.randn(2, 3, D)
    y_BTD, penalty = experts.eval()(x_BTD)
    assert penalty is None
    for x, y in zip(x_BTD.flatten(0, 1), y_BTD.flatten(0, 1), strict=True):
        torch.testing.assert_close(y, slowly(experts, x, [0.0] * E)[0], atol=1e-5, rtol=1e-5)


def test_noise_is_a_function_of_the_seed(experts: Experts) -> None:
    x_BTD, outputs = torch.randn(2, 8, D), []
    for seed in (1, 1, 2):
        with seeded_dropout(seed):
            outputs.append(experts.train()(x_BTD)[0])
    assert torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[0], outputs[2])


def test_the_chance_of_choice_is_that_of_many_draws() -> None:
    torch.manual_seed(0)
    clean, spread = torch.randn(1, E, dtype=torch.double), torch.rand(1, E, dtype=torch.double) + 0.5
    score = clean + torch.randn(1, E, dtype=torch.double) * spread
    chances = chance_of_choice(clean, score, spread, K)
    for i in range(E):
        drawn = score.repeat(20_000, 1)
        drawn[:, i] = clean[0, i] + torch.randn(20_000, dtype=torch.double) * spread[0, i]
        share = (drawn.topk(K).indices == i).any(1).double().mean()
        assert share.item() == pytest.approx(chances[0, i].item(), abs=0.02)
    assert (chance_of_choice(clean, score, spread, E) == 1).all()


def test_experts_start_as_other_residual_branches_do_and_the_gate_at_0() -> None:
    """Half of Glorot's size; both losses weigh 0.01, as for translation in their paper."""
    experts = Experts(40, 60, 3, 2)
    most = 0.5 * math.sqrt(6 / (40 + 60))
    for matrix in (experts.inner_EFD, experts.outer_EDF):
        assert 0.95 * most < matrix.abs().max().item() <= most
    assert not experts.gate_ED.any() and not experts.noise_ED.any() and BALANCE == 0.01


def test_the_penalty_is_0_for_balance_and_grows_with_imbalance() -> None:
    assert squared_variation(torch.ones(4)) == 0
    assert squared_variation(torch.tensor([4.0, 0, 0, 0])) == pytest.approx(3.0)


def test_minimising_the_penalty_spreads_tokens_over_the_experts() -> None:
    torch.manual_seed(1)
    experts = Experts(D, 8, 4, 1).train()
    x_BTD = 1.0 + torch.randn(4, 50, D)
    with torch.no_grad():
        experts.gate_ED[0] = 0.5
    adam = torch.optim.Adam(experts.parameters(), lr=0.02)
    first = last = 0.0
    for number in range(40):
        _, penalty = experts(x_BTD)
        adam.zero_grad()
        penalty.backward()
        adam.step()
        first, last = penalty.item() if number == 0 else first, penalty.item()
    assert last < 0.2 * first


@pytest.mark.parametrize("settings", [{"architecture": "gnmt"}, {"heads": 2}])
def test_the_penalty_comes_from_encoder_and_decoder(settings: dict[str, object]) -> None:
    torch.manual_seed(1)
    sizes = {"vocabulary": 30, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    model = build(model_config(**sizes, experts=4, active_experts=1, d_ff=8, **settings)).train()
    source, target = torch.tensor([[5, 6, EOS], [7, EOS, PAD]]), torch.tensor([[BOS, 8, 9], [BOS, 9, PAD]])
    _, penalty = model.features_and_penalty(source, target)
    assert penalty is not None
    penalty.backward()
    gates = {name: p.grad for name, p in model.named_parameters() if name.endswith("gate_ED")}
    assert {name[:7] for name in gates} == {"encoder", "decoder"}
    assert all(gradient is not None and gradient.any() for gradient in gates.values())
    assert model.eval().features_and_penalty(source, target)[1] is None


@pytest.mark.parametrize("settings", [{"architecture": "gnmt"}, {"heads": 2}])
def test_padding_is_left_out_of_the_balance(settings: dict[str, object]) -> None:
    torch.manual_seed(1)
    sizes = {"vocabulary": 30, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2}
    model = build(model_config(**sizes, experts=4, active_experts=1, d_ff=8, **settings)).train()
    source, target = torch.tensor([[5, 6, EOS]]), torch.tensor([[BOS, 8]])
    longer = torch.tensor([[5, 6, EOS, PAD, PAD]]), torch.tensor([[BOS, 8, PAD, PAD]])
    for layer in model.modules():
        if hasattr(layer, "chance"):
            layer.chance = 0.0  # type: ignore[assignment]
    with seeded_dropout(1):
        _, alone = model.features_and_penalty(source, target)
    with seeded_dropout(1):
        _, padded = model.features_and_penalty(*longer)
    assert alone is not None and padded is not None and padded.item() == pytest.approx(alone.item(), rel=1e-4)
