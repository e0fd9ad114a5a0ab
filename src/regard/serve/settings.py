"""Every limit of a server, with a default for one small machine."""

from typing import Annotated

from pydantic import Field

from regard.config.checked import Frozen

Count = Annotated[int, Field(gt=0)]
Amount = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Settings(Frozen):
    """The settings of `regard serve --set KEY=VALUE`."""

    body_bytes: Count = 128 << 10
    """Largest request body."""
    file_bytes: Count = 4 << 20
    """Largest file to translate."""
    unpacked_bytes: Count = 16 << 20
    """Largest office document or book to translate, unpacked."""
    texts: Count = 50
    """Texts in a request."""
    characters: Count = 5000
    """Characters of a text."""
    alternatives: Amount = 10
    """Translations of a text besides the best."""
    look_characters: Count = 500
    """Characters of a text to look inside, which costs more than translating it."""

    answer_seconds: Seconds = 2.0
    """Estimated time to answer, by the measured rate, above which a request is rejected at once. It does not apply to
    documents, nor to a text that takes longer by itself: of these, one is accepted at a time."""
    queue_tokens: Count = 65536
    """Source tokens waiting to be translated; more are rejected at once."""
    batch_tokens: Count = 1024
    """Source tokens translated together."""
    join_seconds: Annotated[float, Field(ge=0)] = 0.005
    """The time that the first sentence of a batch waits for others while another batch is searched."""
    requests: Count = 128
    """Concurrent requests; more are rejected at once."""
    connections: Count = 1000
    address_connections: Count = 100
    """Connections from one address; those of `proxy` are not counted."""
    inflight_bytes: Count = 16 << 20
    """Total size of request bodies in flight."""
    address_inflight_bytes: Count = 4 << 20
    """The same from one address."""
    documents: Count = 4
    """Files in flight; more are rejected at once."""
    address_documents: Count = 2
    """The same from one address."""
    deadline: Seconds = 30.0
    """Time for a request, after which it is cancelled."""
    file_deadline: Seconds = 300.0
    body_seconds: Seconds = 20.0
    """Time to receive the head of a request, to receive its body, and to send 64 KiB of the answer."""
    drain_seconds: Seconds = 25.0
    """Time to finish running requests on shutdown."""
    notice_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Time on shutdown in which /ready answers 503 and requests are still accepted, so that a balancer notices."""

    rate: Amount = 6000
    """Requests a minute from one address; 0 for no limit."""
    key_rate: Amount = 6000
    """Requests a minute with one key; 0 for no limit."""
    quota: Amount = 0
    """Characters for each key, counted since the server started; 0 for no limit."""

    memory_bytes: Count = 2 << 30
    """Memory for models; the least recently used is unloaded."""
    cache_bytes: Amount = 64 << 20
    """Memory for cached translations of recent sentences."""
    glossaries: Amount = 1000
    """Glossaries that clients store."""
    kept_bytes: Count = 64 << 20
    """Memory for translated files that wait for download."""
    kept_seconds: Seconds = 1800.0
    """Time until a translated file, or the status of one, is removed. One of `/v2/document` is removed when it is
    downloaded."""
    hosts: tuple[str, ...] = ()
    """Accepted host names, such as `["translate.example"]`; without any, a server on loopback answers to localhost,
    elsewhere to all names."""
    proxy: str | None = None
    """Address of a trusted proxy, whose X-Forwarded-For names the client."""
