"""A scratch file of cleaned pairs between the two passes, in frames that can be read independently."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Frame:
    """The location of consecutive pairs in the file: all sources, then all targets, each joined by newlines."""

    offset: int
    source_bytes: int
    target_bytes: int
    count: int


class Spool:
    """Writer of the file."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self.path = path
        self._file = path.open("ab" if append else "wb")

    def add(self, source: bytes, target: bytes, count: int) -> Frame:
        frame = Frame(self._file.tell(), len(source), len(target), count)
        self._file.write(source)
        self._file.write(target)
        return frame

    def close(self) -> None:
        self._file.close()


def read_frame(path: Path, frame: Frame) -> tuple[list[str], list[str]]:
    """Return a frame's sources and targets."""
    with path.open("rb") as file:
        file.seek(frame.offset)
        source, target = file.read(frame.source_bytes), file.read(frame.target_bytes)
    return source.decode().split("\n"), target.decode().split("\n")
