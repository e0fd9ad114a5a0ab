"""How much a server takes on: every limit, with a default that suits one small machine."""

from typing import Annotated

from pydantic import Field

from regard.config.checked import Frozen

Count = Annotated[int, Field(gt=0)]
Amount = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Settings(Frozen):
    """What `regard serve --set KEY=VALUE` sets."""

    body_bytes: Count = 128 << 10
    """Of a request, before anything in it is read."""
    file_bytes: Count = 1 << 20
    """The same for a file to translate."""
    texts: Count = 50
    """In a request."""
    characters: Count = 5000
    """Of a text, as it came."""
    alternatives: Amount = 10
    """Translations of a text that may be asked for besides the best."""
    look_characters: Count = 500
    """Of a text to look inside of, which costs more than to translate it."""

    answer_seconds: Seconds = 2.0
    """Within which an accepted request is answered, as estimated by the measured rate; others are refused at once. Not
    for documents, nor for a text that takes longer by itself: of such, one is taken at a time."""
    queue_tokens: Count = 65536
    """Source tokens that wait to be translated; what would be more is refused at once."""
    batch_tokens: Count = 1024
    """Source tokens translated together."""
    join_seconds: Annotated[float, Field(ge=0)] = 0.005
    """How long the first of a batch waits for others while something else is searched."""
    requests: Count = 128
    """Under way at once; more are refused at once."""
    connections: Count = 1000
    address_connections: Count = 100
    """From one address; those of `proxy` are not counted."""
    inflight_bytes: Count = 16 << 20
    """Of request bodies that are read or worked on."""
    address_inflight_bytes: Count = 4 << 20
    """The same from one address."""
    documents: Count = 4
    """Files that are read or worked on at once; more are refused at once."""
    address_documents: Count = 2
    """The same from one address."""
    deadline: Seconds = 30.0
    """Seconds for a request; what is not done by then is given up."""
    file_deadline: Seconds = 300.0
    body_seconds: Seconds = 20.0
    """For the head of a request to come, for its body, and for 64 KiB of the answer to be taken."""
    drain_seconds: Seconds = 25.0
    """For the work in hand when the server is asked to stop."""

    rate: Amount = 6000
    """Requests a minute from one address; 0 for any number."""
    key_rate: Amount = 6000
    """Requests a minute with one key; 0 for any number."""
    quota: Amount = 0
    """Characters for each key, counted since the server started; 0 for any number."""

    memory_bytes: Count = 2 << 30
    """For models; the one that was used longest ago makes room."""
    cache_bytes: Amount = 64 << 20
    """For the translations of recent sentences."""
    kept_bytes: Count = 64 << 20
    """For translated files that wait to be fetched, in memory."""
    kept_seconds: Seconds = 1800.0
    hosts: tuple[str, ...] = ()
    """Names that a browser may call the server by, such as `["translate.example"]`; without any, it answers on loopback
    to localhost alone, elsewhere to all."""
    proxy: str | None = None
    """The address of a proxy that is believed when it says for whom it asks (X-Forwarded-For)."""
