"""Sentencepiece's own rules pass; a trie that leads outside, never ends or names no replacement does not."""

import io
import struct
from collections.abc import Iterable

import pytest
from sentencepiece import SentencePieceTrainer

from regard.text import charsmap as module
from regard.text.charsmap import MOST_MATCHES, sound
from regard.text.protobuf import fields

A = ord("a")
VALUE = 1 << 31  # a leaf's bit
TEXT = ["the old woman", "할머니가 사과를 봅니다", "a b c d e f g h i j k l m n o p q r s t u v w x y z"]


def compiled(rule: str) -> bytes:
    """Sentencepiece's rules of this name, out of a model trained with them."""
    writer = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=iter(TEXT),
        model_writer=writer,
        model_type="char",
        vocab_size=60,
        hard_vocab_limit=False,
        normalization_rule_name=rule,
        minloglevel=5,
    )
    normaliser = dict(fields(dict(fields(writer.getvalue()))[3]))  # type: ignore[arg-type]
    assert isinstance(normaliser[2], bytes)
    return normaliser[2]


@pytest.fixture(scope="module")
def nfkc() -> bytes:
    return compiled("nmt_nfkc")


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"])
def test_real_rules_are_sound(rule: str) -> None:
    assert sound(compiled(rule))


def built(units: Iterable[tuple[int, int]], replacements: bytes = b"x\0", size: int = 512) -> bytes:
    """A trie of so many units, of which some are given; no label leads to the others."""
    trie = [VALUE] * size
    for index, unit in units:
        trie[index] = unit
    content = struct.pack(f"<{size}I", *trie)
    return struct.pack("<I", len(content)) + content + replacements


def node(label: int, offset: int, *, leaf: bool = False, far: bool = False) -> int:
    return label | leaf << 8 | far << 9 | offset << 10


RULE = [(0, node(0, 256)), (256 ^ A, node(A, 3, leaf=True)), (256 ^ A ^ 3, VALUE)]  # a -> x


def test_a_made_up_trie_of_one_rule_is_sound() -> None:
    assert sound(built(RULE))


@pytest.mark.parametrize(
    "charsmap",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(struct.pack("<I", 1 << 31) + b"\0" * 64, id="too short for its size"),
        pytest.param(built([(0, node(0, 600))]), id="a root that leads outside"),
        pytest.param(built([(0, VALUE | node(0, 600))]), id="a root that is a leaf"),
        pytest.param(built([*RULE[:1], (256 ^ A, node(A, 1 << 12))]), id="a node that leads outside"),
        pytest.param(built([*RULE[:1], (256 ^ A, node(A, 9, far=True))]), id="a node that leads far outside"),
        pytest.param(built([*RULE[:2], (256 ^ A ^ 3, VALUE | 2)]), id="a replacement outside"),
        pytest.param(built([*RULE[:2], (256 ^ A ^ 3, VALUE | 1)]), id="a replacement in the middle of another"),
        pytest.param(built([*RULE[:2], (256 ^ A ^ 3, 0)]), id="a leaf that is none"),
        pytest.param(built(RULE, b"x"), id="a replacement without an end"),
        pytest.param(built(RULE, b"x" * 1000 + b"\0"), id="a replacement without measure"),
        pytest.param(built(RULE, b"\xff\0"), id="a replacement that is no text"),
        pytest.param(built([(0, node(0, 256)), (256 ^ A, node(A, A))]), id="a circle"),
    ],
)
def test_a_trie_that_sentencepiece_should_not_follow_is_unsound(charsmap: bytes) -> None:
    assert not sound(charsmap)


def chain(length: int) -> bytes:
    """One rule of so many bytes, all of them 1: the nodes stand two places apart."""
    places = [256 + 2 * step for step in range(length + 1)]
    nodes = [0, *(place ^ 1 for place in places[:-1])]
    return built([(at, node(1 if at else 0, at ^ place)) for at, place in zip(nodes, places, strict=True)])


def test_no_rule_is_longer_than_sentencepiece_takes_matches() -> None:
    assert sound(chain(MOST_MATCHES)) and not sound(chain(MOST_MATCHES + 1))


def test_cut_rules_are_unsound(nfkc: bytes) -> None:
    assert sound(nfkc)
    assert not sound(nfkc[:-1]) and not sound(nfkc[:1000]) and not sound(b"\xff" + nfkc[1:])


def test_every_label_stays_inside() -> None:
    """A place inside is not enough: from it a text's next byte, whichever, leads on to the place XOR that byte."""
    assert sound(built(RULE, size=512))
    assert not sound(built(RULE, size=511)) and not sound(built(RULE, size=400))


def test_rules_are_no_larger_than_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    charsmap = built(RULE)
    monkeypatch.setattr(module, "LARGEST", len(charsmap))
    assert sound(charsmap)
    monkeypatch.setattr(module, "LARGEST", len(charsmap) - 1)
    assert not sound(charsmap)
