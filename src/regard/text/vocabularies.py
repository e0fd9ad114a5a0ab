"""The vocabulary of each side of a model, and its files: subwords for text, symbols for trees."""

from collections.abc import Mapping
from typing import NamedTuple

from regard.config.special_tokens import EOS
from regard.errors import UserError
from regard.text.subwords import Subwords
from regard.text.symbols import Symbols
from regard.text.word_vocabulary import Words

SHARED, SOURCE, TARGET = "subwords.model", "source.subwords.model", "target.subwords.model"
SYMBOLS = "target.symbols.txt"


class Vocabularies(NamedTuple):
    """The vocabulary of each side of a model; a parser's target side has symbols."""

    source: Subwords
    target: Subwords | Symbols


def source_and_target(files: Mapping[str, bytes]) -> Vocabularies:
    """Load the vocabularies of a saved model from its files: `subwords.model`, or one named for each side."""
    both, symbols = files.get(SHARED), files.get(SYMBOLS)
    source, target = files.get(SOURCE, both), files.get(TARGET, both)
    if source is None or (target is None and symbols is None):
        raise UserError("the model has no subwords, so it can't read text; give a model that `regard train` wrote")
    reads = vocabulary(source, "the model's source subwords")
    if symbols is not None:
        return Vocabularies(reads, Symbols(symbols, "the model's symbols"))
    assert target is not None
    writes = reads if target is source else vocabulary(target, "the model's target subwords")
    return Vocabularies(reads, writes)


def vocabulary(content: bytes, origin: str) -> Subwords:
    """Load the vocabulary of a text from the bytes of its file: words, which are JSON, or subwords."""
    return Words(content, origin) if content.startswith(b"{") else Subwords.from_bytes(content, origin)


def vocabulary_files(source: Subwords, target: Subwords | Symbols) -> dict[str, bytes]:
    """Return the files that `source_and_target` reads; one if the two sides share their subwords."""
    if source is target:
        return {SHARED: source.content}
    return {SOURCE: source.content, SYMBOLS if isinstance(target, Symbols) else TARGET: target.content}


def word_beginnings(vocabulary: Subwords | Symbols) -> list[float]:
    """Return 1 for each token that begins a word, or stands for one in a tree; 0 for the others."""
    names = enumerate(vocabulary.pieces(range(vocabulary.size)))
    if isinstance(vocabulary, Symbols):
        return [float(number > EOS and not name.startswith(("(", ")"))) for number, name in names]
    return [float(name.startswith("▁")) for _, name in names]
