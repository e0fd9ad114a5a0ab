"""A vocabulary of whole symbols."""

from pathlib import Path

import pytest

from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.text.symbols import LARGEST_FILE, MOST, Symbols
from regard.text.vocabularies import word_beginnings

LINES = ["(S (NP DT NN )NP (VP VBD )VP )S", "(S , 명사 )S"]


def test_every_symbol_is_one_token_and_comes_back(tmp_path: Path) -> None:
    symbols = Symbols.learn(LINES)
    assert symbols.size == 4 + len({symbol for line in LINES for symbol in line.split()})
    for line in LINES:
        ids = symbols.encode([line])[0]
        assert len(ids) == len(line.split()) and min(ids) > EOS
        assert symbols.decode([BOS, *ids, EOS, PAD]) == line == " ".join(symbols.pieces(ids))
    assert symbols.encode(["(S new )S"])[0][1] == UNK
    (tmp_path / "s").write_bytes(symbols.content)
    assert Symbols.load(tmp_path / "s").names == symbols.names == Symbols.learn(reversed(LINES)).names


@pytest.mark.parametrize("content", [b"", b"(S\n\n)S\n", b"(S\n(S\n", b"<s>\n", b"\xff\n", b"a\n" * (MOST + 1)])
def test_a_damaged_file_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(UserError, match="restore it"):
        Symbols.load(tmp_path / "s")
    with pytest.raises(UserError, match="no such file"):
        Symbols.load(tmp_path / "t")


def test_sizes_are_bounded() -> None:
    for content in (b"x" * (LARGEST_FILE + 1), "".join(f"{n}\n" for n in range(MOST + 1)).encode()):
        with pytest.raises(UserError, match="too large for the symbols of trees"):
            Symbols(content, "here")
    assert Symbols("".join(f"{n}\n" for n in range(MOST)).encode(), "here").size == MOST + 4


def test_no_line_spells_a_reserved_token() -> None:
    assert Symbols.learn(LINES).encode(["<s> </s> <pad> <unk>"]) == [[UNK] * 4]


def test_what_is_no_treebank_is_told() -> None:
    with pytest.raises(UserError, match="is it a treebank"):
        Symbols.learn(f"({number}" for number in range(MOST + 1))


def test_tags_stand_for_words_and_nothing_else_does() -> None:
    symbols = Symbols.learn(["(S NN )S"])
    named = dict(zip(symbols.names, word_beginnings(symbols), strict=True))
    assert {name for name, begins in named.items() if begins} == {"NN"} and len(named) == 7
