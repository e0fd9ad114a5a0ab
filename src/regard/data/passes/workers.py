"""Map of a function over a long stream, shared among processes: ordered results, few items in flight, no orphans.

Not multiprocessing's pools: these read their whole input ahead, run the caller's main module again, or wait forever
when a process is killed. A worker here is a fresh interpreter at the other end of a socket; when the caller ends,
however it ends, the worker finds the socket closed and ends too.
"""

import ctypes
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from queue import SimpleQueue
from socket import socketpair
from types import TracebackType
from typing import Any, Self, TypeVar

from regard.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # queued items for each worker, so that none is idle while the caller is busy

_COMMAND = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from regard.data.passes.workers import run_worker; run_worker(int(sys.argv[1]))"
)


class Workers:
    """Up to `count` processes, started on demand. A context manager: leaving it ends them at once.

    With a count of 1 the caller does the work itself, unless it is to be done `apart`.
    """

    def __init__(self, count: int, *, apart: bool = False) -> None:
        self._limit = count if count > 1 or apart else 0
        self._workers: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)  # each waits for one worker's result

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield function(item) for each item, in order; an error in `items` is raised after the results before it."""
        if not self._limit:
            yield from map(function, items)
            return
        pending: deque[Future[Result]] = deque()
        stream = iter(items)
        failure: BaseException | None = None
        while True:
            try:
                item = next(stream)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if len(self._workers) < min(len(pending) + 1, self._limit):
                self._workers.append(_Worker())
                self._idle.put(self._workers[-1])
            pending.append(self._threads.submit(self._ask, function, item))
            if len(pending) > AHEAD * self._limit:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failure is not None:
            raise failure

    def _ask(self, function: Callable[[Item], Result], item: Item) -> Result:
        worker = self._idle.get()
        try:
            return worker.ask(function, item)
        finally:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.kill()  # it holds nothing that needs an orderly shutdown
        for worker in self._workers:
            worker.process.wait()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.connection.close()


def alone(function: Callable[[Item], Result], item: Item) -> Result:
    """Return function(item), run in a process of its own: it can be interrupted midway, and frees all its memory."""
    with Workers(1, apart=True) as workers:
        (result,) = workers.map(function, [item])
        return result


class _Worker:
    """The caller's end of one process."""

    def __init__(self) -> None:
        ours, theirs = socketpair()
        with theirs:
            self.connection = Connection(ours.detach())
            handle = theirs.fileno()
            self.process = subprocess.Popen(  # noqa: S603  # our own interpreter and words
                [sys.executable, "-P", "-c", _COMMAND, str(handle), *sys.path],
                pass_fds=[handle],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the caller, who ends us
            )
        self._function: object = None  # the last function sent to it

    def ask(self, function: Callable[[Item], Result], item: Item) -> Result:
        try:
            self.connection.send((None if function is self._function else function, item))
            self._function = function
            answer, value = self.connection.recv()
        except (EOFError, OSError):
            raise UserError(
                f"a worker process ended unexpectedly ({_ending(self.process)}); "
                "if memory ran out, try again with fewer --cores"
            ) from None
        if answer == "result":
            return value  # type: ignore[no-any-return]  # what the function returned
        raise UserError(value) if answer == "mistake" else RuntimeError(f"in a worker process:\n{value}")


def _ending(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return "it does not answer"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def run_worker(handle: int) -> None:
    """Run a worker: process items until the caller is gone."""
    _end_with_caller()
    connection = Connection(handle)
    function: Callable[[Any], Any] = lambda item: item  # noqa: E731
    while True:
        try:
            new, item = connection.recv()
        except EOFError:
            return
        function = new or function
        try:
            answer = "result", function(item)
        except UserError as error:
            answer = "mistake", str(error)
        except Exception:
            answer = "bug", traceback.format_exc()
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return


def _end_with_caller() -> None:
    """End when the caller is killed, even during a long item, on systems that support it."""
    if sys.platform == "linux":
        parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
