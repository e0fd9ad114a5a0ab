"""A vocabulary in which every symbol is one token: the brackets and tags of linearised trees.

The ids are PAD, UNK, BOS and EOS, as everywhere, and then the symbols. The file has one symbol a line.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.config.special_tokens import UNK
from regard.errors import UserError
from regard.text.subword_file import RESERVED

MOST = 10_000  # different symbols; a treebank has a few hundred
LARGEST_FILE = 1 << 20  # bytes


class Symbols:
    """A vocabulary of symbols: learn it from lines or load it, encode lines, decode ids. Same interface as Subwords."""

    tags: tuple[str, ...] = ()  # reserved tokens before sources; a target has none

    def __init__(self, content: bytes, origin: str) -> None:
        self.content = content
        self.names = [RESERVED[number][0] for number in range(len(RESERVED))] + _read(content, origin)
        self.size = len(self.names)
        self._ids = {name: number for number, name in enumerate(self.names) if number >= len(RESERVED)}

    @classmethod
    def learn(cls, lines: Iterable[str], task: str = "parsing") -> "Symbols":
        """Learn every symbol that occurs in lines of space-separated symbols: of trees, or of labels."""
        wrong = {"parsing": "the trees have {} different labels and tags; is it a treebank?"}
        too_many = wrong.get(task, "the texts have {} different labels; is the label the second column?")
        found: set[str] = set()
        for line in lines:
            found.update(line.split(" "))
            if len(found) > MOST:
                raise UserError(too_many.format(f"more than {MOST:,}"))
        return cls("".join(f"{symbol}\n" for symbol in sorted(found)).encode(), "the symbols of the training data")

    @classmethod
    def load(cls, path: Path) -> "Symbols":
        try:
            with path.open("rb") as file:
                return cls(file.read(LARGEST_FILE + 1), str(path))
        except FileNotFoundError:
            raise UserError(f"{path}: no such file; is {path.parent} the folder of a parser?") from None

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Encode each line as ids, without BOS and EOS; an unknown symbol is UNK."""
        return [[self._ids.get(symbol, UNK) for symbol in line.split(" ")] for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the line of any ids, without the reserved ones."""
        return " ".join(self.names[number] for number in ids if number >= len(RESERVED))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.names[number] for number in ids]


def _read(content: bytes, origin: str) -> list[str]:
    """Return the symbols of a file, in order."""
    reserved = {name for name, _ in RESERVED.values()}
    try:
        symbols = content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise UserError(f"{origin}: not valid UTF-8; restore it from a copy") from None
    if len(content) > LARGEST_FILE or len(symbols) > MOST:
        raise UserError(f"{origin}: too large for the symbols of trees; restore it from a copy")
    if len(set(symbols)) != len(symbols) or any(symbol in reserved or not symbol.strip() for symbol in symbols):
        raise UserError(f"{origin}: a symbol is blank, there twice, or a reserved token; restore it from a copy")
    return symbols
