"""Another's sentencepiece model in our shape cuts text as before, and is as hard to deceive as one of ours."""

import io
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tests.support.texts import HOSTILE

from regard.config.special_tokens import UNK
from regard.errors import UserError
from regard.text import imported, subword_file
from regard.text.protobuf import message, number
from regard.text.subword_file import RESERVED, for_other_programs, from_other_programs
from regard.text.subwords import Subwords

OTHERS = ["漢", "漢字", "▁only▁theirs"]
TAGS = ["<2kor>"]


def trained(sentences: list[str], **settings: object) -> bytes:
    writer = io.BytesIO()
    options: dict[str, Any] = {
        "model_type": "unigram",
        "vocab_size": 300,
        "minloglevel": 5,
        "hard_vocab_limit": False,
        **settings,
    }
    SentencePieceTrainer.Train(sentence_iterator=iter(sentences), model_writer=writer, **options)
    return writer.getvalue()


def renumbered(content: bytes) -> tuple[bytes, list[str]]:
    """In our shape, with pieces of another language among its own, in another order."""
    foreign = imported.read(content, "theirs")
    names = [*(name for name, _ in RESERVED.values()), *TAGS, *OTHERS, *sorted(foreign.pieces)]
    return imported.write(names, len(TAGS), foreign), names


@pytest.fixture(
    scope="module",
    params=[{}, {"normalization_rule_name": "identity"}, {"byte_fallback": True, "vocab_size": 600}],
    ids=["nfkc", "identity", "bytes"],
)
def theirs(request: pytest.FixtureRequest, sentences: list[str]) -> bytes:
    return trained(sentences, **request.param)


def test_text_is_cut_as_before(theirs: bytes, sentences: list[str]) -> None:
    content, names = renumbered(theirs)
    processor, ours = SentencePieceProcessor(model_proto=theirs), Subwords.from_bytes(content, "ours")
    assert ours.size == len(names) and ours.tags == tuple(TAGS)
    texts = [*sentences[:60], *(text for text in HOSTILE if not any("\ud800" <= c <= "\udfff" for c in text))]
    texts += ["漢 apples 漢字 漢字漢", "<2kor> <s> apples"]
    numbers = {name: number for number, name in enumerate(names) if number >= len(RESERVED) + len(TAGS)}
    expected = [[numbers.get(name, UNK) for name in processor.Encode(text, out_type=str)] for text in texts]
    assert ours.encode(texts) == expected
    plain = [number for row in expected[:60] for number in row]
    assert ours.decode(plain) == processor.Decode([processor.PieceToId(names[number]) for number in plain])


def test_pieces_of_the_other_language_can_be_read_but_are_not_made(theirs: bytes) -> None:
    content, names = renumbered(theirs)
    ours = Subwords.from_bytes(content, "ours")
    assert ours.decode([names.index("漢字"), names.index("▁only▁theirs")]) == "漢字 only theirs"
    assert names.index("▁only▁theirs") not in ours.encode(["only theirs"])[0]


def test_no_text_spells_a_reserved_token(theirs: bytes) -> None:
    ours = Subwords.from_bytes(renumbered(theirs)[0], "ours")
    for row in ours.encode(["<s></s><pad><2kor>", "</s>", "<2kor>"]):
        assert all(number == UNK or number >= len(RESERVED) + len(TAGS) for number in row)


def test_the_shape_is_strict(theirs: bytes) -> None:
    content, _ = renumbered(theirs)
    Subwords.from_bytes(content, "ours")
    damaged = {
        "cut": content[:-1],
        "longer": content + b"\0",
        "twice": content + content,
        "other settings": content.replace(b"imported", b"exported"),
        "a piece twice": content.replace(
            subword_file.piece("漢字", 0.0, subword_file.UNUSED), subword_file.piece("漢", 0.0, subword_file.UNUSED)
        ),
        "their own file": theirs,
        "a control in the middle": content.replace(
            subword_file.piece("漢", 0.0, subword_file.UNUSED), subword_file.piece("漢", 0.0, subword_file.CONTROL)
        ),
    }
    for name, bad in damaged.items():
        with pytest.raises(UserError, match="bad: not a subword model that regard wrote"):
            Subwords.from_bytes(bad, "bad")
            pytest.fail(name)


def test_damaged_rules_are_refused(sentences: list[str]) -> None:
    content, _ = renumbered(trained(sentences))
    rules = subword_file.read(content, "ours").rules
    assert rules is not None
    bad = bytearray(rules.charsmap)
    bad[4:8] = b"\xff\xff\xff\x7f"  # the root leads outside
    with pytest.raises(UserError, match="lead nowhere"):
        Subwords.from_bytes(content.replace(rules.charsmap, bytes(bad)), "bad")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"model_type": "bpe"}, "not a unigram model"),
        ({"model_type": "char"}, "not a unigram model"),
        ({"treat_whitespace_as_suffix": True}, "spaces after words"),
        ({"user_defined_symbols": ["☃"]}, "symbols that somebody defined"),
    ],
)
def test_what_our_shape_can_not_hold_is_refused(sentences: list[str], settings: dict[str, object], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        imported.read(trained(sentences, **settings), "theirs")


def made(
    names: Iterable[str] = ("▁", "a"), trainer: bytes = b"", normaliser: bytes = b"", back: bytes = b"", kind: int = 1
) -> bytes:
    """A unigram model of these pieces, with further fields."""
    pieces = b"".join(subword_file.piece(name, -1.0, kind) for name in names)
    return pieces + message(2, number(3, 1) + trainer) + message(3, normaliser) + message(5, back)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (made(trainer=number(3, 2)), "not a unigram model"),
        (made(trainer=number(24, 1)), "spaces after words"),
        (made(normaliser=number(5, 0)), "does not mark spaces"),
        (made(back=message(2, b"rules")), "changes its output by rules"),
        (made(kind=4), "symbols that somebody defined"),
        (made(()), "has no pieces"),
        (made(("▁", "")), "a piece is empty or too long"),
        (made(("▁", "x" * 101)), "a piece is empty or too long"),
        (made(("▁", "a\0")), "a piece has a NUL"),
        (made(trainer=number(35, 1)), "its bytes are not complete"),
        (made(normaliser=message(2, b"rules")), "its normalisation rules are damaged"),
    ],
)
def test_each_reason_to_refuse_a_model(content: bytes, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        imported.read(content, "theirs")


def test_what_a_model_does_not_say_is_as_sentencepiece_takes_it() -> None:
    assert imported.read(made(("▁", "x" * 100)), "theirs").rules == subword_file.Rules(b"", True, True, False)
    plain = imported.read(made(normaliser=number(3, 0) + number(4, 0)), "theirs").rules
    assert plain == subword_file.Rules(b"", False, False, False)


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = made(["▁", "a", "b"])
    monkeypatch.setattr(imported, "MOST_PIECES", 2)
    with pytest.raises(UserError, match="it has too many pieces"):
        imported.read(content, "theirs")
    monkeypatch.setattr(imported, "LARGEST_FILE", len(content) - 1)
    with pytest.raises(UserError, match="too large for a subword model"):
        imported.read(content, "theirs")


@pytest.mark.parametrize(
    ("pieces", "fallback", "reason"),
    [
        ({"▁": 1, "a": 4}, False, "a learned piece has a special type"),
        ({"▁": 1, "<0x00>": 6}, True, "the bytes are not complete"),
        ({"▁": 1, "<0x00>": 6}, False, "the bytes are not complete"),
        ({"▁": 1, "": 1}, False, "a piece is empty"),
        ({"▁": 1, "a\0": 1}, False, "a character that text never has"),
    ],
)
def test_each_reason_to_refuse_a_file_in_our_shape(pieces: dict[str, int], fallback: bool, reason: str) -> None:
    rules = subword_file.Rules(b"", True, True, fallback)
    foreign = imported.Foreign({name: (-1.0, kind) for name, kind in pieces.items()}, rules)
    content = imported.write([*(name for name, _ in RESERVED.values()), *pieces], 0, foreign)
    with pytest.raises(UserError, match=reason):
        Subwords.from_bytes(content, "ours")


def test_any_cut_of_a_model_is_read_or_refused(theirs: bytes) -> None:
    for begin, end in pairwise(range(0, len(theirs), len(theirs) // 40)):
        for content in (theirs[:end], theirs[begin:end]):
            try:
                imported.read(content, "cut")
            except UserError as error:
                assert str(error).startswith("cut: ")


def test_a_lent_file_makes_one_space_of_several_and_is_returned_as_it_was(subwords: Subwords) -> None:
    content = for_other_programs(subwords.content)
    assert content != subwords.content and from_other_programs(content) == subwords.content
    assert from_other_programs(subwords.content) == subwords.content
    processor = SentencePieceProcessor(model_proto=content)
    assert processor.Encode("  two   words ") == subwords.encode(["two words"])[0]
