"""Admission control: bound the bytes and documents under way, by address and in all, before a body is read."""

from collections import Counter
from dataclasses import dataclass

from regard.serve.refused import Refused
from regard.serve.settings import Settings

RETRY_SECONDS = 5  # documents take long


@dataclass
class Lease:
    """A request's share of the limits, reference-counted: freed when the last holder releases it."""

    admission: "Admission"
    address: str
    size: int
    document: bool
    holders: int = 1

    def hold(self) -> None:
        """Keep the share for work that may outlast its request."""
        self.holders += 1

    def release(self) -> None:
        self.holders -= 1
        if not self.holders:
            self.admission._count(self, -1)


class Admission:
    """Counts of requests in flight. Used on the event loop only, so it needs no lock."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.bytes: Counter[str] = Counter()
        """Bytes of request bodies in flight, by address."""
        self.documents: Counter[str] = Counter()

    def enter(self, address: str, size: int, *, document: bool) -> Lease:
        """Admit a request with a body of this size, or reject it: 429 by limits of its address, 503 by total limits."""
        limits = self.settings
        if document and self.documents[address] >= limits.address_documents:
            raise Refused(429, f"Slowdown: {limits.address_documents} documents at once", RETRY_SECONDS)
        if self.bytes[address] and size and self.bytes[address] + size > limits.address_inflight_bytes:
            raise Refused(429, f"Slowdown: {limits.address_inflight_bytes} bytes at once", retry_after=1)
        total = self.bytes.total()
        crowded = total and size and total + size > limits.inflight_bytes
        if crowded or (document and self.documents.total() >= limits.documents):
            raise Refused(503, "The server is busy; try again later", RETRY_SECONDS if document else 1)
        lease = Lease(self, address, size, document)
        self._count(lease, 1)
        return lease

    def _count(self, lease: Lease, sign: int) -> None:
        self.bytes[lease.address] += sign * lease.size
        self.documents[lease.address] += sign * lease.document
        for counter in (self.bytes, self.documents):
            if not counter[lease.address]:
                del counter[lease.address]
