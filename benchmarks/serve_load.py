"""The server under load, over real sockets on loopback: how much it does, how long it takes, and how it refuses.

    python benchmarks/serve_load.py [--json] [--model en-de] [--seconds 10] [--requests 50000]

The server is a process of its own, started as people start it, without its cache and its limit of requests a minute.
The clients are one more process, with a connection each, and send a sentence as soon as the one before is answered;
they take a share of the same cores. See README.md beside this file.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from regard.saved.bundled import located

CLIENTS = (1, 8, 64)
OVERLOAD = 10  # times the clients at which nothing more is gained
LONG_SENTENCES = 50  # in a long text, of about 3,500 characters
HEAD = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
WHO = (
    "My brother",
    "The old man",
    "Our teacher",
    "A friend of mine",
    "The girl",
    "My boss",
    "Everybody",
    "Nobody",
    "Tom's dog",
)
DOES = (
    "is waiting for the bus",
    "wanted to buy a new car",
    "was reading a book",
    "has lost the keys",
    "likes to drink coffee",
)
WHERE = (
    "at the station",
    "in the garden",
    "near the school",
    "in front of the house",
    "on the other side of the river",
    "here",
)
WHEN = (
    "yesterday",
    "on Sunday",
    "because it was raining",
    "before I came home",
    "and did not know what to do",
    "every day",
)


def sentence(number: int) -> str:
    """An everyday one for each number, of 7 to 24 words; they begin again after 1,620."""
    words = []
    for part in (WHO, DOES, WHERE, WHEN):
        number, at = divmod(number, len(part))
        words.append(part[at])
    return " ".join(words) + "."


@contextmanager
def server(model: str) -> Iterator[tuple[int, int]]:
    """Its port and its process."""
    settings = ["rate=0", "cache_bytes=0", "connections=4000", "address_connections=4000"]
    options = [option for setting in settings for option in ("--set", setting)]
    command = [sys.executable, "-m", "regard", "serve", "--model", model, "--port", "0", "--quiet", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r":(\d+)/$", line.strip())
        if found is None:
            raise SystemExit(line + process.stderr.read())
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()


class Load:
    """Clients that ask one after another, and what came of it."""

    def __init__(self, port: int, pair: tuple[str, str]) -> None:
        self.port, self.pair = port, pair
        self.numbers = count()
        self.statuses: Counter[int] = Counter()
        self.seconds: list[float] = []
        """Of each request that was answered with a translation."""

    async def run(
        self, clients: int, *, seconds: float = 1e9, requests: float = 1e9, sentences: int = 1
    ) -> dict[str, Any]:
        """Until the time or the number of requests is over, with so many sentences in each request."""
        self.statuses.clear()
        self.seconds.clear()
        started = time.perf_counter()
        end = started + seconds
        await asyncio.gather(*(self._client(end, requests, sentences) for _ in range(clients)))
        taken = time.perf_counter() - started
        times = sorted(self.seconds)
        return {
            "clients": clients,
            "requests": self.statuses.total(),
            "statuses": {str(status): number for status, number in sorted(self.statuses.items())},
            "refused_share": round(1 - len(times) / max(1, self.statuses.total()), 4),
            "translated_a_second": round(len(times) / taken, 1),
            **{f"p{percent}_ms": _percentile(times, percent) for percent in (50, 95, 99)},
        }

    async def _client(self, end: float, requests: float, sentences: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while time.perf_counter() < end and self.statuses.total() < requests:
            source, target = self.pair
            text = " ".join(sentence(next(self.numbers)) for _ in range(sentences))
            body = json.dumps({"q": text, "source": source, "target": target}).encode()
            head = f"{HEAD}Content-Length: {len(body)}"
            started = time.perf_counter()
            writer.write(head.encode() + b"\r\n\r\n" + body)
            status = await _answer(reader)
            self.statuses[status] += 1
            if status == 200:
                self.seconds.append(time.perf_counter() - started)
        writer.close()


def _percentile(times: list[float], percent: int) -> float | None:
    return round(1000 * times[int(percent / 100 * (len(times) - 1))], 1) if times else None


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    await reader.readexactly(int(length[1]))
    return int(head.split(b" ", 2)[1])


def resident_megabytes(process: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return round(int(found[1]) / 1024, 1)


async def measured(port: int, process: int, seconds: float, requests: int) -> dict[str, Any]:
    load = Load(port, await _languages(port))
    await load.run(8, seconds=min(3.0, seconds))  # so that everything is loaded and warm
    rows = [await load.run(clients, seconds=seconds) for clients in CLIENTS]
    before = resident_megabytes(process)
    counted = await _translated(port)
    over = await load.run(OVERLOAD * CLIENTS[-1], requests=requests)
    over["server"] = _within(await _translated(port) - counted)
    middle = resident_megabytes(process)
    again = await load.run(OVERLOAD * CLIENTS[-1], requests=requests / 5)
    long = await load.run(CLIENTS[-1], seconds=4 * seconds, sentences=LONG_SENTENCES)
    return {
        "steady": rows,
        "eight_to_one": round(rows[1]["translated_a_second"] / rows[0]["translated_a_second"], 2),
        "overload": over,
        "megabytes": {"before": before, "after": middle, "after_more": resident_megabytes(process)},
        "overload_again": again,
        "overload_long": long,
    }


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    found = (await reader.read()).partition(b"\r\n\r\n")[2]
    writer.close()
    return found


async def _translated(port: int) -> Counter[float]:
    """How many texts the server has translated within how many seconds, by its own clock."""
    lines = re.findall(rb'regard_translated_seconds_bucket\{le="(.+)"\} (.+)', await _get(port, "/metrics"))
    return Counter({float(bound): round(float(number)) for bound, number in lines})


def _within(counts: Counter[float]) -> dict[str, Any]:
    """The share within the stated time, and the least bounds that hold half and 99 % of them."""
    every = counts[float("inf")]
    if not every:
        return {}
    bounds = {
        f"p{percent}_within_s": next(at for at in sorted(counts) if counts[at] >= every * percent / 100)
        for percent in (50, 99)
    }
    return {"within_2_s": round(counts[2.0] / every, 4), **bounds}


async def _languages(port: int) -> tuple[str, str]:
    """A direction that is served from English, in which the sentences are: another text would be left as it is."""
    (targets,) = [one["targets"] for one in json.loads(await _get(port, "/languages")) if one["code"] == "en"]
    return "en", next(target for target in targets if target != "en")


def table(report: dict[str, Any]) -> Iterator[str]:
    yield "clients  translated/s   p50 ms   p95 ms   p99 ms  refused  answers"
    for row in [*report["steady"], report["overload"], report["overload_long"]]:
        statuses = ", ".join(f"{status}: {number:,}" for status, number in row["statuses"].items())
        times = "  ".join(f"{row[f'p{percent}_ms']!s:>7}" for percent in (50, 95, 99))
        refused = f"{100 * row['refused_share']:5.1f} %"
        yield f"{row['clients']:7}  {row['translated_a_second']:12}  {times}  {refused}  {statuses}"
    server = report["overload"]["server"]
    if server:
        yield (
            f"The overload by the server's own clock: {100 * server['within_2_s']:.1f} % within 2 s, "
            f"half within {server['p50_within_s']} s, 99 % within {server['p99_within_s']} s."
        )
    yield f"The last row: texts of {LONG_SENTENCES} sentences each."
    memory = report["megabytes"]
    yield f"\n8 clients do {report['eight_to_one']} times as much as one."
    yield f"MiB before the overload {memory['before']}, after it {memory['after']}, after more {memory['after_more']}"


def written(folder: Path) -> str:
    """The model of translate_speed.py, for where no model is bundled."""
    from translate_speed import copying_model, lines

    from regard.config.presets import preset
    from regard.saved.folder import save_model
    from regard.saved.saved_model import SavedModel
    from regard.text.subwords import Subwords

    config = preset("small")
    subwords = Subwords.train(lines("train.en") + lines("train.de"), config.model.vocabulary)
    copying = copying_model(config.model)
    saved = SavedModel.of_run(config, {"subwords.model": subwords.content}, ("en", "de"), "NFC")
    save_model(folder / "model", saved.with_model(copying))
    return str(folder / "model")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", default="en-de", help="a folder or the name of a bundled model")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of clients")
    parser.add_argument("--requests", type=int, default=50_000, help="under overload")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        named = given.model.partition("=")[2] or given.model
        model = given.model if located(named).exists() else written(Path(temporary))
        with server(model) as (port, process):
            report = asyncio.run(measured(port, process, given.seconds, given.requests))
    print(json.dumps(report, indent=2) if given.json else "\n".join(table(report)))


if __name__ == "__main__":
    main()
