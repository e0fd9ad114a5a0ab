import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.search.length_penalty import best_attainable, length_penalty, normalised


@pytest.mark.parametrize("length", [1, 2, 7, 100])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_the_formulas(length: int, alpha: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / 6**alpha)
    assert length_penalty(length, alpha, "average") == pytest.approx(length**alpha)
    assert normalised(-3.0, length, alpha) == -3.0 / length_penalty(length, alpha)


@given(
    so_far=st.floats(-1e4, 0),
    further=st.lists(st.floats(-50, 0), min_size=1, max_size=20),
    before=st.integers(0, 50),
    spare=st.integers(0, 50),
    alpha=st.floats(0, 5),
    penalty=st.sampled_from(["paper", "average"]),
)
def test_nothing_attains_more_than_the_bound(
    so_far: float, further: list[float], before: int, spare: int, alpha: float, penalty: str
) -> None:
    length = before + len(further)
    bound = best_attainable(so_far, length + spare, alpha, penalty)  # type: ignore[arg-type]
    total = so_far
    for log in further:
        total += log
    assert normalised(total, length, alpha, penalty) <= bound  # type: ignore[arg-type]
    assert normalised(so_far, length, alpha, penalty) == best_attainable(so_far, length, alpha, penalty)  # type: ignore[arg-type]
