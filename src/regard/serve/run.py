"""Run the server: listen, and shut down gracefully."""

import gc
import logging
import signal
import socket
import sys
import time
from collections import Counter
from threading import Thread
from types import FrameType

import uvicorn

from regard.errors import UserError
from regard.serve.app import create_app
from regard.serve.limits.connections import LimitedProtocol
from regard.serve.limits.hosts import names
from regard.serve.limits.shedding import Shedding
from regard.serve.middleware import HEADERS
from regard.serve.state import AppState

TICK_SECONDS = 0.1  # between calls of uvicorn's on_tick
BACKLOG = 2048  # connections waiting to be accepted
SWITCH_SECONDS = 0.0001  # thread switch interval: how long the event loop waits for the GIL after each system call


class Server(uvicorn.Server):
    """A server that, on a signal, reports not ready, finishes running requests, and then stops listening."""

    def __init__(self, config: uvicorn.Config, state: AppState) -> None:
        super().__init__(config)
        self.state = state
        self.asked: float | None = None
        """The time of the stop signal."""
        self.ticked: float | None = None
        """The time of the last call of `on_tick`."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.asked is not None or sig == signal.SIGINT:
            super().handle_exit(sig, frame)
            return
        self.asked = time.monotonic()
        self.state.leaving = True
        self.state.draining = self.state.settings.notice_seconds == 0

    async def on_tick(self, counter: int) -> bool:
        self._measure_delay()
        settings = self.state.settings
        passed = 0.0 if self.asked is None else time.monotonic() - self.asked
        if self.asked is not None and passed >= settings.notice_seconds:
            self.state.draining = True
            self.state.jobs.cancel()  # nobody could fetch what they translate
            if not self.state.at_work or passed > settings.notice_seconds + settings.drain_seconds:
                return True
        return await super().on_tick(counter)

    def _measure_delay(self) -> None:
        """Measure how late the event loop is: at once when it gets later, over a few ticks when it recovers."""
        now = time.monotonic()
        late = max(0.0, now - self.ticked - TICK_SECONDS) if self.ticked is not None else 0.0
        self.ticked = now
        batcher = self.state.batcher
        batcher.loop_delay = max(late, batcher.loop_delay / 2)
        self.state.metrics.loop_delay.set(batcher.loop_delay)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{host}:{port}: can't listen there ({reason}); choose another --port or --host") from None
    return listener


def server(state: AppState, listener: socket.socket, host: str) -> Server:
    """Return a configured server, which is given its socket later; `host` is the host it listens on."""
    settings = state.settings
    own = names(host, listener.getsockname()[0], settings.hosts)
    protocol = type(
        "Protocol",
        (LimitedProtocol,),
        {
            "settings": settings,
            "metrics": state.metrics,
            "shedding": Shedding(state, HEADERS),
            "connected": Counter(),
            "refused": set(),
        },
    )
    config = uvicorn.Config(
        create_app(state, own),
        http=protocol,
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=settings.proxy is not None,
        forwarded_allow_ips=settings.proxy,
        timeout_graceful_shutdown=2,
    )
    return Server(config, state)


def reload_on_hangup(state: AppState) -> None:
    """Load models and glossaries anew at each SIGHUP; without this, the signal would end the process."""
    signal.signal(signal.SIGHUP, lambda *_: Thread(target=state.reload, name="reload", daemon=True).start())


def serve(state: AppState, listener: socket.socket, host: str) -> None:
    """Serve until a stop signal."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # a full collection stops all threads; it need not look at what is loaded for good
    for library in ("uvicorn", "python_multipart"):  # they log every bad request
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        server(state, listener, host).run(sockets=[listener])
    finally:
        state.close()
