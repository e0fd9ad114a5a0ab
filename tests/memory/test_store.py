import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.support.waiting import until

from regard.errors import Failed, UserError
from regard.memory.exchange import import_file, tmx, tsv
from regard.memory.pair import LONGEST_TEXT, Pair, is_time
from regard.memory.store import Memory

TEXTS = ["고양이가 밥을 먹는다.", "שלום 👩\u200d👧", "cafe\u0301 au lait", "<b> & \"quoted\" 'text'", "two\nlines"]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "work.db", create=True)


def test_what_was_added_last_is_the_answer(memory: Memory) -> None:
    first = memory.add(Pair("en", "de", "Good  morning.", "Guten Tag.", author="anna"))
    assert (first.id, first.author, first.origin, len(first.time)) == (1, "anna", "added", 20)
    memory.add(Pair("en-US", "de", "Good morning.", "Guten Morgen."))
    memory.add(Pair("en", "fr", "Good morning.", "Bonjour."))
    found = memory.exact("en", "de", ["Good morning.", " Good\nmorning. ", "good morning."])
    assert {text: pair.target for text, pair in found.items()} == {
        "Good morning.": "Guten Morgen.",
        " Good\nmorning. ": "Guten Morgen.",
    }
    memory.add(Pair("en", "de", "Good morning.", "Guten Tag."))
    assert memory.exact("en", "de", ["Good morning."])["Good morning."].target == "Guten Tag."
    assert len(memory) == 3, "only the same pair is replaced"


@pytest.mark.parametrize("text", TEXTS)
def test_any_script_is_found_again(memory: Memory, text: str) -> None:
    memory.add(Pair("ko", "en", text, "x"))
    assert memory.exact("ko", "en", [text])[text].source == text
    (match,) = memory.matches("ko", "en", f"{text}!")
    assert match.pair.source == text
    assert 60 <= match.percent < 100


def test_matches_are_levenshtein_s_best_first(memory: Memory) -> None:
    for source in ("I see the red house.", "I see the red houses.", "We hear a blue bird.", "I see the red horse."):
        memory.add(Pair("en", "de", source, source.upper()))
    found = memory.matches("en", "de", "I see the red house.")
    assert [(match.pair.source, match.percent) for match in found] == [
        ("I see the red house.", 100),
        ("I see the red horse.", 95),
        ("I see the red houses.", 95),
    ]
    assert memory.matches("en", "de", "I see the red house.", least=96)[0].percent == 100
    assert memory.matches("en", "ko", "I see the red house.") == []
    assert memory.matches("en", "de", "") == []


def test_removed_is_removed_from_the_index(memory: Memory) -> None:
    kept = memory.add(Pair("en", "de", "a red house", "x"))
    gone = memory.add(Pair("en", "de", "a red house here", "y"))
    assert memory.remove([gone.id, 99]) == 1
    assert [match.pair.id for match in memory.matches("en", "de", "a red house here", least=50)] == [kept.id]
    memory.remove([kept.id])
    assert memory.matches("en", "de", "a red house") == []
    assert memory.add(Pair("en", "de", "new", "z")).id == 3, "numbers are not used again"


def test_tmx_and_tsv_hold_everything(memory: Memory, tmp_path: Path) -> None:
    for number, text in enumerate(TEXTS):
        memory.add(Pair("en", "ko", text, f"{text} {number}", "correction", "a & b"))
    first, second = tmp_path / "all.tmx", tmp_path / "all.tsv"
    first.write_text("".join(tmx(memory.entries(), "1")), encoding="utf-8")
    second.write_text("".join(tsv(memory.entries())), encoding="utf-8")
    other = Memory(tmp_path / "other.db", create=True)
    assert import_file(other, first) == (5, 5)
    assert import_file(other, first) == (5, 0)
    mine = [(pair.source, pair.target, pair.author, pair.time) for pair in memory.entries()]
    assert [(pair.source, pair.target, pair.author, pair.time) for pair in other.entries()] == mine
    third = Memory(tmp_path / "third.db", create=True)
    assert import_file(third, second) == (5, 5)
    assert [pair.source for pair in third.entries()] == [text.replace("\n", " ") for text in TEXTS]
    assert {(pair.origin, pair.author) for pair in third.entries()} == {("correction", "a & b")}


def test_tmx_of_other_programs(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "old.tmx"
    file.write_text(
        '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="EN-us"/><body>'
        '<tu changeid="bob" changedate="20200131T101112Z"><tuv xml:lang="de-DE"><seg>Ein <bpt i="1">&lt;b></bpt>Hund'
        '<ept i="1">&lt;/b></ept></seg></tuv><tuv xml:lang="en-US"><seg>A <hi>dog</hi></seg></tuv>'
        '<tuv lang="fr"><seg>Un chien</seg></tuv></tu><tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu></body></tmx>',
        encoding="utf-8",
    )
    assert import_file(memory, file, target="de") == (1, 1)
    (pair,) = memory.entries()
    assert pair == Pair("en-US", "de-DE", "A dog", "Ein Hund", "import old.tmx", "bob", "2020-01-31T10:11:12Z", 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv", "a\n", "line 1: is not a text and its translation"),
        ("a.tsv", "a\tb\n", "say them with --from and --to"),
        ("a.tsv", "a\tb\txx!\tde\to\t\t\n", "line 1: 'xx!' is not a language"),
        ("a.tmx", "<tmx/>", "is not TMX"),
        ("a.tmx", "<tmx>", "well-formed"),
    ],
)
def test_bad_files_are_told(memory: Memory, tmp_path: Path, name: str, content: str, said: str) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        import_file(memory, file)
    assert len(memory) == 0


@pytest.mark.parametrize(
    "pair",
    [
        Pair("en", "de", " ", "x"),
        Pair("en", "de", "x", "x" * (LONGEST_TEXT + 1)),
        Pair("e!", "de", "x", "y"),
        Pair("en", "de", "x\0", "y"),
        Pair("en", "de", "x", "\ud800"),
        Pair("en", "de", "x", "y", author="z" * 101),
        Pair("en", "de", "x", "y", author="\udcff"),
        Pair("en", "de", "x", "y", origin="\0"),
        Pair("en", "de", "x", "y", time="2026-13-01T00:00:00Z"),
        Pair("en", "de", "x", "y", time="yesterday"),
    ],
)
def test_what_no_memory_holds_is_refused(memory: Memory, pair: Pair) -> None:
    with pytest.raises(UserError):
        memory.add(pair)


def test_a_number_beyond_sqlite_s_is_that_of_no_pair(memory: Memory) -> None:
    memory.add(Pair("en", "de", "a", "b"))
    assert memory.get([2**63, 1, 10**30])[0].source == "a"
    assert memory.remove([10**30]) == 0
    assert list(memory.entries(after=10**30)) == []


def test_a_date_that_is_none_is_left_out(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "old.tmx"
    variants = "".join(f'<tuv xml:lang="{code}"><seg>고양이 {code}</seg></tuv>' for code in ("en", "de"))
    file.write_text(f'<tmx><header srclang="en"/><tu creationdate="20261399T999999Z">{variants}</tu></tmx>', "utf-8")
    assert import_file(memory, file) == (1, 1)
    assert is_time(next(memory.entries()).time), "the time of the import"


def test_other_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such memory; make one"):
        Memory(tmp_path / "absent.db")
    text, other, cut = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "cut.db"
    text.write_text("no database, but a text that is long enough to be read as one" * 100)
    with pytest.raises(UserError, match="is damaged or not a memory"):
        Memory(text)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE a (b)")
    with pytest.raises(UserError, match="not a memory of regard"):
        Memory(other)
    with pytest.raises(UserError, match="is not a file"):
        Memory(tmp_path)
    whole = Memory(cut, create=True)
    for portion in whole.update(Pair("en", "de", f"text {n}", "x" * 200) for n in range(500)):
        assert portion == 500
    whole.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole.close()
    content = bytearray(cut.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = b"\xff" * 4096
    cut.write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        Memory(cut)


WRITER = """
import sys
from regard.memory.pair import Pair
from regard.memory.store import Memory
memory = Memory(sys.argv[1], create=True)
for number in range(10_000):
    memory.add(Pair("en", "de", f"{sys.argv[2]} {number}", f"{number}"))
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    place = tmp_path / "work.db"
    Memory(place, create=True).close()
    command = [sys.executable, "-c", WRITER, str(place)]
    writers = [subprocess.Popen([*command, name], stdout=subprocess.PIPE) for name in ("a", "b")]
    stored = {}
    reader = Memory(place)
    for name, writer in zip("ab", writers, strict=True):
        with writer:
            assert writer.stdout is not None
            stored[name] = max(int(writer.stdout.readline()) for _ in range(20))
            writer.send_signal(signal.SIGKILL)
    found = {pair.source for pair in reader.entries()}
    for name, last in stored.items():
        assert {f"{name} {number}" for number in range(last + 1)} <= found
    reader.database.check()
    assert len(reader.matches("en", "de", "a 1", least=100)) == 1


def test_readers_see_whole_changes_while_others_write(memory: Memory) -> None:
    stop: list[bool] = []
    seen: list[int] = []

    def read() -> None:
        other = Memory(memory.path)
        while not stop:
            seen.append(len(other) % 10)

    thread = Thread(target=read)
    thread.start()
    for portion in range(20):
        assert list(memory.update(Pair("en", "de", f"{portion} {n}", "x") for n in range(10))) == [10]
    before = len(seen)
    until(lambda: len(seen) > before + 1)  # it has also read what is there in the end
    stop.append(True)
    thread.join()
    assert set(seen) == {0}


def test_a_full_disk_stores_nothing_and_says_so(memory: Memory) -> None:
    memory.add(Pair("en", "de", "kept", "x"))
    (pages,) = memory.database.connection.execute("PRAGMA page_count").fetchone()
    memory.database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Failed, match="full; nothing of it was stored; make room"):
        list(memory.update(Pair("en", "de", f"text {n}", "x" * 5000) for n in range(50)))
    assert [pair.source for pair in memory.entries()] == ["kept"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 8 MiB; making one needs the right to mount."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("no file system may be mounted here")
    assert unmount is not None
    yield place
    subprocess.run([unmount, str(place)], check=True)


FILLER = """
import sys
from regard.errors import Failed
from regard.memory.pair import Pair
from regard.memory.store import Memory
memory = Memory(sys.argv[1])
for number in range(10_000):
    try:
        memory.add(Pair("en", "de", f"{sys.argv[2]} {number}", "번역 " * 200))
    except Failed as error:
        print("full", error, flush=True)
        break
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full_loses_nothing(small_disk: Path) -> None:
    """Eight processes write until there is no room, with readers beside them: each is told in a sentence, what was
    acknowledged is there, whole, and with room again the memory is written on."""
    place = small_disk / "work.db"
    Memory(place, create=True).close()
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1 << 20))
    command = [sys.executable, "-c", FILLER, str(place)]
    writers = [subprocess.Popen([*command, f"w{n}"], stdout=subprocess.PIPE, text=True) for n in range(8)]
    stored: dict[str, int] = {}
    for number, writer in enumerate(writers):
        said, _ = writer.communicate(timeout=300)
        *acknowledged, last = said.splitlines()
        assert last.startswith("full") and "nothing of it was stored; make room there" in last, last
        assert writer.returncode == 0
        stored[f"w{number}"] = len(acknowledged)
    assert shutil.disk_usage(small_disk).free < 64 << 10
    wanted = {f"{name} {number}" for name, count in stored.items() for number in range(count)}
    with Memory(place) as memory:
        assert {pair.source for pair in memory.entries()} == wanted
        assert all(pair.target == "번역 " * 200 for pair in memory.entries())
        with pytest.raises(Failed, match="make room"):
            list(memory.update(Pair("en", "de", f"more {n}", "x" * 5000) for n in range(500)))
        memory.database.check()
        ballast.unlink()
        memory.add(Pair("en", "de", "room again", "wieder Platz"))
        assert {pair.source for pair in memory.entries()} == {*wanted, "room again"}
        memory.database.check()


def test_corrections_since_the_last_tuning(memory: Memory) -> None:
    memory.add(Pair("en", "de", "a", "1", "correction"))
    memory.add(Pair("en", "de", "a", "2", "suggestion"))
    memory.add(Pair("en", "de", "b", "3", "import old.tmx"))
    memory.add(Pair("de", "en", "c", "4"))
    assert [pair.target for pair in memory.corrections(("en", "de"))] == ["2"]
    memory.set_tuned(("en", "de"), 2)
    assert memory.corrections(("en", "de")) == []
    assert len(memory.corrections(("de", "en"))) == 1
    memory.add(Pair("en", "de", "a", "1", "correction"))
    assert [pair.target for pair in memory.corrections(("en", "de"))] == ["1"]
