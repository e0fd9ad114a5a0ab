import pytest

from regard.serve.limits import rates
from regard.serve.limits.rates import Rates, network
from regard.serve.refused import Refused


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_again() -> None:
    clock = Clock()
    limited = Rates(60, clock)  # one a second, ten at once
    for _ in range(10):
        limited.spend("a")
    with pytest.raises(Refused, match="Slowdown: 60 per 1 minute") as refused:
        limited.spend("a")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    limited.spend("b")
    clock.now += 2
    limited.spend("a")
    limited.spend("a")
    with pytest.raises(Refused):
        limited.spend("a")
    clock.now += 1000
    for _ in range(10):
        limited.spend("a")
    with pytest.raises(Refused):
        limited.spend("a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST", 3)
    limited = Rates(6, Clock())
    for name in "abcde":
        limited.spend(name)
    with pytest.raises(Refused):
        limited.spend("e")
    limited.spend("a")  # forgotten


def test_no_limit() -> None:
    for _ in range(1000):
        Rates(0).spend("a")


def test_what_counts_as_one_address() -> None:
    assert network("10.0.0.1") == "10.0.0.1"
    assert network("2001:db8::1") == network("2001:db8::ffff:1") != network("2001:db8:0:1::1")
    assert network("::ffff:10.0.0.1") == "10.0.0.1"
    assert network("fe80::1%eth0") == network("fe80::2")
    assert network("a socket") == "a socket"
