"""Projections that are stored contiguously give what they give apart, also after they are changed."""

import pytest
import torch

from regard.model.kernels.linear import LARGE, Linear
from regard.model.kernels.side_by_side import SideBySide


def layers() -> list[Linear]:
    torch.manual_seed(0)
    return [Linear(64, size) for size in (LARGE // 64, 32, 64)]


@pytest.mark.parametrize("positions", [1, 3, 70])
def test_one_product_gives_the_outputs_of_all(positions: int) -> None:
    parts = layers()
    together, x = SideBySide(*parts), torch.randn(1, positions, 64)
    with torch.inference_mode():
        assert together(x) is None
        together.move_together()
        for _ in range(2):
            found = together(x)
            assert found is not None
            for output, layer in zip(found, parts, strict=True):
                torch.testing.assert_close(output, layer(x), rtol=1e-5, atol=1e-4)
    assert together(x) is None, "with a gradient each is computed by itself"


@pytest.mark.parametrize("which", ["weight", "bias"])
def test_a_change_undoes_it(which: str) -> None:
    parts = layers()
    together, x = SideBySide(*parts), torch.randn(1, 3, 64)
    together.move_together()
    with torch.no_grad():
        assert together(x) is not None
        getattr(parts[1], which).mul_(2)
        assert together(x) is None
        together.move_together()
        found = together(x)
        assert found is not None
        torch.testing.assert_close(found[1], parts[1](x), rtol=1e-5, atol=1e-4)
