import pytest
import torch

from regard.model.kernels.dropout import Dropout


@pytest.mark.parametrize("chance", [0.1, 0.3, 0.5, 0.001, 0.999])
def test_share_mean_and_gradient(chance: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 1001, requires_grad=True)
    y = Dropout(chance).train()(x)
    dropped = (y == 0).float()
    assert dropped.mean().item() == pytest.approx(chance, abs=1 / 256)
    kept = y[y != 0]
    assert (kept == kept[0]).all()
    assert kept[0].item() * (1 - round(dropped.mean().item() * 256) / 256) == pytest.approx(1.0)
    # No lane of the random words may be favoured: each of the eight bytes drops its share.
    for lane in range(8):
        assert dropped.flatten()[lane::8].mean().item() == pytest.approx(dropped.mean().item(), abs=0.01)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_nothing_is_dropped_in_evaluation_or_at_chance_zero() -> None:
    x = torch.randn(10, 10)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)


def test_follows_the_random_state() -> None:
    x = torch.randn(50, 50)
    torch.manual_seed(3)
    first = Dropout(0.5).train()(x)
    assert not torch.equal(first, Dropout(0.5).train()(x))
    torch.manual_seed(3)
    assert torch.equal(first, Dropout(0.5).train()(x))
