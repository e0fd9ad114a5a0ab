"""`regard serve` as people start and stop it: a process of its own, real signals."""

import json
import os
import shutil
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from tests.serve.running import MULTIPART, Answer, ask, multipart, process
from tests.support.models import sentences
from tests.support.waiting import until

from regard.translate.load import load
from regard.translate.translator import Options


def translate(port: int, text: str | list[str]) -> Answer:
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    return ask(port, "POST", "/translate", body, **{"Content-Type": "application/json"})


def wait_for_work(port: int, answers: list[Future[Answer]]) -> None:
    """Wait until a server is at work, or has already done some."""
    until(
        lambda: (
            any(answer.done() for answer in answers)
            or b"regard_requests_at_work 0.0" not in ask(port, "GET", "/metrics").content
        )
    )


def test_killed_and_started_again_then_asked_to_stop(folders: dict[str, str], tmp_path: Path) -> None:
    """Killed under load, it starts again at the same port; SIGTERM lets it finish what it has begun, and it leaves with
    0."""
    lines, log = sentences(), tmp_path / "log"
    arguments = ("--quiet", "--model", folders["en-de"], "--port")
    with process(log, *arguments, "0") as first, ThreadPoolExecutor(8) as threads:
        assert ask(first.port, "GET", "/ready").status == 200
        under_way = [threads.submit(translate, first.port, lines[at : at + 50]) for at in range(0, 120, 20)]
        wait_for_work(first.port, under_way)
        first.popen.send_signal(signal.SIGSTOP)
        last = threads.submit(translate, first.port, lines[120:170])
        first.popen.send_signal(signal.SIGKILL)
        assert first.popen.wait() == -signal.SIGKILL
        assert last.exception() is not None
    with process(log, *arguments, str(first.port)) as second, ThreadPoolExecutor(8) as threads:
        assert second.port == first.port
        texts = [[f"{number}: {line}" for line in lines[:50]] for number in range(8)]
        answers = [threads.submit(translate, second.port, some) for some in texts]
        wait_for_work(second.port, answers)
        os.kill(second.popen.pid, signal.SIGTERM)
        statuses = [answer.result().status for answer in answers if not answer.exception()]
        assert 200 in statuses
        assert set(statuses) <= {200, 503}
        assert second.popen.wait(60) == 0


def test_ctrl_c_stops_at_once(folders: dict[str, str], tmp_path: Path) -> None:
    """Whoever waits is told that the server is busy, or finds the connection closed; nothing is said on the way out."""
    lines = sentences()
    with (
        process(tmp_path / "log", "--model", folders["en-de"], "--port", "0") as server,
        ThreadPoolExecutor(8) as threads,
    ):
        answers = [threads.submit(translate, server.port, lines[at : at + 50]) for at in range(0, 160, 20)]
        wait_for_work(server.port, answers)
        os.kill(server.popen.pid, signal.SIGINT)
        assert server.popen.wait(60) == 130
        assert {answer.result().status for answer in answers if not answer.exception()} <= {200, 503}
        assert "Traceback" not in server.log.read_text()


def test_killed_it_leaves_nothing_on_the_disk(
    folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    form = multipart({"source": "en", "target": "de"}, {"file": ("a.txt", b"The old woman.")})
    with process(tmp_path / "log", "--model", folders["en-de"], "--port", "0") as server:
        answer = ask(server.port, "POST", "/translate_file", form, **{"Content-Type": MULTIPART})
        assert answer.status == 200
        server.popen.send_signal(signal.SIGKILL)
        server.popen.wait()
    assert not [path for path in temporary.rglob("*") if path.is_file()], "torch may leave an empty folder"


def test_sighup_takes_the_new_model_in_place(folders: dict[str, str], tmp_path: Path) -> None:
    """Where another model stands, it answers after SIGHUP; if there is none, the old one stays."""
    model, log = tmp_path / "model", tmp_path / "log"
    shutil.copytree(folders["en-de"], model)
    text = "The old woman sees apples."
    with process(log, "--model", f"en-de={model}", "--port", "0") as server:
        before = translate(server.port, text).json["translatedText"]
        model.rename(tmp_path / "old")
        server.popen.send_signal(signal.SIGHUP)
        until(lambda: "not reloaded: " in log.read_text())
        assert translate(server.port, text).json["translatedText"] == before
        shutil.copytree(folders["de-en"], model)
        server.popen.send_signal(signal.SIGHUP)
        until(lambda: " reloaded the models" in log.read_text())
        wanted = load(folders["de-en"]).translate(text, Options(force=True))  # the server takes it for English
        assert translate(server.port, text).json["translatedText"] == wanted != before


def reloaded(log: Path, times: int) -> bool:
    return log.read_text().count(" reloaded the models") >= times


def test_sighup_under_load_drops_no_request(folders: dict[str, str], tmp_path: Path) -> None:
    """Requests that are under way while models are exchanged twice are answered, each by the old or the new one."""
    model, log = tmp_path / "model", tmp_path / "log"
    shutil.copytree(folders["en-de"], model)
    texts = [f"{line} {number}" for number, line in enumerate(sentences()[:20])]
    unhurried = ("--set", "answer_seconds=1000")  # on a busy machine some would be told that the server is busy
    with (
        process(log, "--model", f"en-de={model}", "--port", "0", *unhurried) as server,
        ThreadPoolExecutor(4) as threads,
    ):
        done = Event()
        answers: list[tuple[int, Answer]] = []

        def exchange(name: str, turn: int) -> None:
            model.rename(tmp_path / f"old-{turn}")
            shutil.copytree(folders[name], tmp_path / "new")
            (tmp_path / "new").rename(model)
            server.popen.send_signal(signal.SIGHUP)
            until(partial(reloaded, log, turn))

        def keep_asking(first: int) -> None:
            while not done.is_set():
                for number in range(first, len(texts), 4):
                    answers.append((number, translate(server.port, texts[number])))

        def answered_by(translations: list[str], since: int) -> bool:
            return any(answer.json["translatedText"] == translations[n] for n, answer in answers[since:])

        old = [translate(server.port, text).json["translatedText"] for text in texts]
        exchange("de-en", 1)
        new = [translate(server.port, text).json["translatedText"] for text in texts]
        assert not set(old) & set(new)
        clients = [threads.submit(keep_asking, first) for first in range(4)]
        try:
            for turn, (name, wanted) in enumerate((("en-de", old), ("de-en", new)), 2):
                exchange(name, turn)
                until(partial(answered_by, wanted, len(answers)))
        finally:
            done.set()
        for client in clients:
            client.result()
    assert {answer.status for _, answer in answers} == {200}
    made = {(number, answer.json["translatedText"]) for number, answer in answers}
    assert made <= {*enumerate(old), *enumerate(new)}
