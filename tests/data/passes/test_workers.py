import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.data.lines import check_readable
from regard.data.passes.workers import AHEAD, Workers, alone
from regard.errors import UserError


def test_results_come_in_order() -> None:
    delays = [0.05, 0.0, 0.02, 0.0, 0.0, 0.01]
    with Workers(2) as workers:
        assert list(workers.map(str, range(100))) == [str(number) for number in range(100)]
        assert list(workers.map(time.sleep, delays)) == [None] * len(delays)


def test_one_core_is_the_caller() -> None:
    with Workers(1) as workers:
        assert list(workers.map(lambda _: os.getpid(), [1])) == [os.getpid()]  # what can't be sent is not sent


def test_input_is_not_read_ahead() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    with Workers(2) as workers:
        results = workers.map(abs, items())
        next(results)
        assert taken <= 2 * AHEAD + 1


def test_processes_start_when_there_is_work() -> None:
    with Workers(64) as workers:
        assert list(workers.map(abs, [-1])) == [1]
        assert len(workers._workers) == 1


def test_an_error_of_the_input_comes_in_its_place() -> None:
    def items() -> Iterator[str]:
        yield "1"
        yield "2"
        raise KeyError("input")

    with Workers(2) as workers:
        results = workers.map(int, items())
        assert [next(results), next(results)] == [1, 2]
        with pytest.raises(KeyError):
            next(results)


def test_mistakes_and_bugs_come_back() -> None:
    with Workers(2) as workers:
        with pytest.raises(RuntimeError, match="invalid literal for int"):
            list(workers.map(int, ["1", "x"]))
        with pytest.raises(UserError, match="^missing: no such file"):
            list(workers.map(check_readable, ["missing"]))


def test_a_killed_worker_is_told_of() -> None:
    with Workers(2) as workers:
        list(workers.map(abs, range(10)))
        workers._workers[0].process.send_signal(signal.SIGKILL)
        with pytest.raises(UserError, match=r"a worker process ended unexpectedly \(killed by signal 9\); .*--cores"):
            list(workers.map(abs, range(10)))


def test_an_interrupt_ends_all_at_once() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begin = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            alone(time.sleep, 60)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 50, "it did not wait for the worker, which sleeps for a minute"
    own = Path(f"/proc/{os.getpid()}/task")
    assert not "".join(path.read_text(encoding="ascii") for path in own.glob("*/children")).strip()
