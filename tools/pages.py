"""Run what the tutorial and the guides say, and compare it with the output that they show.

A block that follows `<!-- run -->` is run, and prints what is shown. `<!-- run: figures vary -->`: what is shown but
for the figures. `<!-- run: trained -->`: so, too, with a model that was trained as the page says; where training is cut
short, it only has to run. `python tools/pages.py FOLDER [PAGE ...]` runs pages and writes the real output into them.
"""

import contextlib
import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from os import chdir
from pathlib import Path

from regard.cli.main import main as regard

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# One after the other, in one folder.
TRAINED = ("tutorial.md", "guides/training.md", "guides/fine-tuning.md", "guides/other-programs.md")
GUIDES = [f"guides/{path.name}" for path in sorted((DOCS / "guides").glob("*.md"))]
ALONE = ["../README.md", *(page for page in GUIDES if page not in TRAINED)]
SMALL = ("train.steps=", "train.checkpoint_every=", "train.log_every="), 4  # what a short training sets these to
SHORT_TIME = "--time 20s --set train.steps=4 --set train.checkpoint_every=4"
BLOCK = re.compile(
    r"<!-- run(?:: (figures vary|trained))? -->\n```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
FIGURE = re.compile(r"-?\d[\d,.:]*(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    """Commands and what they print."""

    kind: str | None
    language: str
    text: str

    def commands(self) -> Iterator[tuple[str, str]]:
        """Each command, and the output that is shown below it."""
        for part in re.split(r"^\$ ", joined(self.text), flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def joined(text: str) -> str:
    """Commands that go over several lines, each on one."""
    return re.sub(r"\\\n *", "", text).strip("\n")


def blocks(page: str) -> list[Block]:
    return [Block(*match.groups()) for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))]


class Missing(Exception):
    """A program that a page uses and that is not installed here."""


class Session:
    """A shell of a reader's: `regard` runs in this process, which has paid for torch; everything else in its own."""

    def __init__(self, *, short: bool) -> None:
        self.short = short
        self.servers: list[subprocess.Popen[bytes]] = []
        self.names: dict[str, object] = {}

    def follow(self, page: str) -> int:
        """Run what a page says, and compare; return the number of commands."""
        ran = 0
        for block in blocks(page):
            if block.language == "python":
                ran += self.python(block, page)
                continue
            for command, shown in block.commands():
                found = self.run(command)
                ran += 1
                if block.kind == "trained" and self.short:
                    continue
                masked = block.kind is not None
                assert plain(found, masked=masked) == plain(shown, masked=masked), f"{page}: {command}"
        return ran

    def run(self, command: str) -> str:
        """What a command prints; it must succeed unless it says `|| true`."""
        if self.short:
            command = re.sub(r"--time \S+", SHORT_TIME, command)
            command = re.sub("|".join(f"({re.escape(name)})\\d+" for name in SMALL[0]), _shortened, command)
        if command.endswith("&"):
            self._serve(command)
            return ""
        command, fails, _ = command.partition(" || ")
        given = b""
        words = shlex.split(command, comments=True)
        for part in _divided(words, "|"):
            arguments, input_file, output_file = _redirected(part)
            given = Path(input_file).read_bytes() if input_file else given
            code, given, told = _regard(arguments, given) if arguments[0] == "regard" else _other(arguments, given)
            assert (code == 0) is not bool(fails), f"{command}: {code}\n{told.decode()}"
            if fails:
                return told.decode()
            if output_file:
                Path(output_file).write_bytes(given)
                given = b""
        if self.short and command.startswith("python experiments/"):
            _cut(Path(words[2]))
        return given.decode()

    def python(self, block: Block, page: str) -> int:
        parsed = doctest.DocTestParser().get_doctest(block.text, self.names, page, page, 0)
        told: list[str] = []
        outcome = doctest.DocTestRunner(verbose=False).run(parsed, out=told.append, clear_globs=False)
        assert outcome.failed == 0, "".join(told)
        self.names = parsed.globs
        return outcome.attempted

    def _serve(self, command: str) -> None:
        arguments = shlex.split(command.removesuffix("&"))
        port = arguments[arguments.index("--port") + 1]
        self.servers.append(subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL))
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready"):
                return
            time.sleep(0.1)
        raise AssertionError(f"{command} does not answer")

    def end(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait(30)


def _shortened(match: re.Match[str]) -> str:
    return f"{next(filter(None, match.groups()))}{SMALL[1]}"


def _cut(folder: Path) -> None:
    """Leave little of a corpus, for a short training."""
    for path in folder.iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[: 2000 if path.stem == "train" else 5]), encoding="utf-8")


def _divided(words: list[str], by: str) -> Iterator[list[str]]:
    while by in words:
        place = words.index(by)
        yield words[:place]
        words = words[place + 1 :]
    yield words


def _redirected(words: list[str]) -> tuple[list[str], str | None, str | None]:
    """The words of a command without `< FILE` and `> FILE`, and those files."""
    files: dict[str, str] = {}
    for sign in "<>":
        if sign in words:
            place = words.index(sign)
            files[sign] = words[place + 1]
            words = words[:place] + words[place + 2 :]
    return words, files.get("<"), files.get(">")


def _regard(arguments: list[str], given: bytes) -> tuple[int, bytes, bytes]:
    """The exit code, stdout and stderr of a `regard` command."""
    streams = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in streams)
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = arguments, io.TextIOWrapper(io.BufferedReader(io.BytesIO(given)), encoding="utf-8")
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            regard()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.stdin = before
    return code, streams[0].getvalue(), streams[1].getvalue()


def _other(arguments: list[str], given: bytes) -> tuple[int, bytes, bytes]:
    if arguments[0] == "python":
        arguments = [sys.executable, *arguments[1:]]
    elif shutil.which(arguments[0]) is None:
        raise Missing(arguments[0])
    done = subprocess.run(arguments, input=given, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def plain(text: str, *, masked: bool) -> str:
    """Text without spaces at the ends of lines; and, where figures may vary, without them and the room they take."""
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return re.sub(r"[ █]+", " ", FIGURE.sub("0", lines)) if masked else lines


def written(page: str, session: Session) -> str:
    """A page with the real output of its commands."""

    def fill(match: re.Match[str]) -> str:
        block = Block(*match.groups())
        if block.language == "python":
            session.python(block, page)
            return match[0]
        parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
        commands = [re.match(r"(?:.*\\\n)*.*\n", part) for part in parts]
        typed = [command[0] for command in commands if command]
        filled = [f"$ {one}{plain(session.run(joined(one)), masked=False)}".rstrip("\n") + "\n" for one in typed]
        return match[0].replace(block.text, "".join(filled))

    return BLOCK.sub(fill, (DOCS / page).read_text(encoding="utf-8"))


@contextlib.contextmanager
def opened(folder: Path, *, short: bool) -> Iterator[Session]:
    """A session in a folder that looks like a clone of the repository to those who follow a page."""
    folder.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    chdir(folder)
    for name in ("experiments", "docs"):
        if not Path(name).exists():
            Path(name).symlink_to(ROOT / name)
    session = Session(short=short)
    try:
        yield session
    finally:
        session.end()
        chdir(before)


def main(folder: Path, pages: list[str]) -> None:
    """Write the output of these pages, or of all, one after the other, in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    with opened(folder, short=False) as session:
        for page in pages or [*TRAINED, *ALONE, "../README.ko.md"]:
            (DOCS / page).write_text(written(page, session), encoding="utf-8")
            sys.stderr.write(f"{page}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
