import random
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tests.support.texts import HOSTILE, SIZE, TAGS, any_text

from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.text import subword_file
from regard.text.normalise import normalise
from regard.text.subword_file import BYTE, CONTROL, NORMAL, UNKNOWN, SubwordKind
from regard.text.subwords import Subwords

FIRST_BYTE = 4 + len(TAGS)
KINDS: tuple[SubwordKind, ...] = ("bpe", "unigram")
shared = settings(max_examples=60)


# Text and ids


@given(texts=st.lists(any_text.map(normalise), max_size=4))
@shared
def test_text_comes_back_as_it_was(subwords: Subwords, texts: list[str]) -> None:
    ids = subwords.encode(texts)
    assert [subwords.decode(one) for one in ids] == texts
    assert all(FIRST_BYTE <= number < subwords.size for one in ids for number in one)  # nothing reserved was spelled


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_that_was_not_normalised_is_encoded_too(subwords: Subwords, text: str) -> None:
    decoded = subwords.decode(subwords.encode([text])[0])
    assert decoded in (re.sub("[\ud800-\udfff]", "\ufffd", text), re.sub("[\ud800-\udfff\ufdd0]", "\ufffd", text))


def test_many_texts_are_encoded_like_one(subwords: Subwords, sentences: list[str]) -> None:
    texts = [*sentences, *map(normalise, HOSTILE)]
    assert subwords.encode(texts) == [subwords.encode([text])[0] for text in texts]
    assert subwords.encode(tuple(texts)) == subwords.encode(texts)
    assert subwords.encode([]) == []


def test_encode_leaves_its_argument_alone(subwords: Subwords) -> None:
    texts = ["a▁b", "c"]
    subwords.encode(texts)
    assert texts == ["a▁b", "c"]


def test_text_it_learned_from_needs_no_bytes(subwords: Subwords, sentences: list[str]) -> None:
    ids = subwords.encode(sentences)
    spelled = sum(number < FIRST_BYTE + 256 for one in ids for number in one)
    assert spelled < 0.01 * sum(map(len, ids))
    assert sum(map(len, ids)) < 0.7 * sum(map(len, sentences))


@given(ids=st.lists(st.integers(0, SIZE - 1), max_size=30), extra=st.lists(st.sampled_from([PAD, BOS, EOS, 4, 5])))
@shared
def test_any_ids_have_a_text(subwords: Subwords, ids: list[int], extra: list[int]) -> None:
    text = subwords.decode(ids)
    assert text.encode().decode() == text
    assert subwords.decode([*extra, *ids, *extra]) == text


@given(content=st.binary(max_size=40))
@shared
def test_stray_bytes_are_replaced(subwords: Subwords, content: bytes) -> None:
    text = subwords.decode([FIRST_BYTE + byte for byte in content])
    assert text.replace("\ufffd", "") == content.decode(errors="replace").replace("\ufffd", "")


def test_unknown_is_two_question_marks(subwords: Subwords) -> None:
    assert subwords.decode([UNK]) == "⁇"
    assert subwords.decode([PAD, BOS, 4, EOS]) == ""
    assert subwords.decode([]) == ""


def test_ids_out_of_range_are_our_mistake(subwords: Subwords) -> None:
    for bad in (-1, subwords.size):
        with pytest.raises(IndexError):
            subwords.decode([bad])
        with pytest.raises((IndexError, AssertionError)):
            subwords.pieces([bad])


def test_pieces_show_the_tokens(subwords: Subwords) -> None:
    pieces = subwords.pieces(subwords.encode(["The old woman"])[0])
    assert "".join(pieces) == "▁The▁old▁woman"
    assert subwords.pieces([PAD, UNK, BOS, EOS, 4, 5]) == ["<pad>", "<unk>", "<s>", "</s>", *TAGS]
    assert subwords.pieces(subwords.encode(["▁"])[0]) == ["▁", "<0xE2>", "<0x96>", "<0x81>"]


# Tags


def test_tags_follow_the_reserved_ids(subwords: Subwords) -> None:
    assert subwords.tags == TAGS
    assert [subwords.tag(name) for name in TAGS] == [4, 5]
    with pytest.raises(UserError, match="no tag '<2d>'; did you mean '<2de>'.*<2de>, <2ko>"):
        subwords.tag("<2d>")
    with pytest.raises(UserError, match="no tag"):
        subwords.tag("<s>")


@pytest.mark.parametrize(
    "tag", ["", "de", "<>", "<a b>", "<a,b>", '<">', "<▁>", "<a\n>", "<\ud800>", "<" + "x" * 64 + ">"]
)
def test_tags_are_in_brackets(tag: str) -> None:
    with pytest.raises(UserError, match="form <name>"):
        Subwords.train(["text"], 300, tags=[tag])


def test_tags_are_new_and_different() -> None:
    for tag in ("<s>", "<unk>", "<0x41>"):
        with pytest.raises(UserError, match="already"):
            Subwords.train(["text"], 300, tags=[tag])
    with pytest.raises(UserError, match="twice"):
        Subwords.train(["text"], 300, tags=["<a>", "<b>", "<a>"])


# Training


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic_and_silent(
    kind: SubwordKind, sentences: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = (Subwords.train(iter(sentences), 420, kind=kind).content for _ in range(2))
    assert first == second
    assert capfd.readouterr() == ("", "")


def test_bpe_does_not_depend_on_threads(sentences: list[str]) -> None:
    assert Subwords.train(sentences, 420, threads=1).content == Subwords.train(sentences, 420, threads=3).content


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_too_large_names_the_largest(kind: SubwordKind, sentences: list[str]) -> None:
    with pytest.raises(UserError, match="too small for a vocabulary of 50,000") as failure:
        Subwords.train(sentences[:30], 50_000, kind=kind)
    found = re.search(r"ask for ([\d,]+) or fewer", str(failure.value))
    assert found is not None
    largest = int(found[1].replace(",", ""))
    assert Subwords.train(sentences[:30], largest, kind=kind).size == largest
    with pytest.raises(UserError, match="too small"):
        Subwords.train(sentences[:30], largest + 1, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_too_small_names_the_smallest(kind: SubwordKind, sentences: list[str]) -> None:
    with pytest.raises(UserError, match="no room for the letters") as failure:
        Subwords.train(sentences, 270, kind=kind)
    found = re.search(r"ask for ([\d,]+) or more", str(failure.value))
    assert found is not None
    smallest = int(found[1])
    assert Subwords.train(sentences, smallest, kind=kind).size == smallest


@pytest.mark.parametrize("texts", [[], [""], ["", " ", "\u3000"]])
def test_no_text(texts: list[str]) -> None:
    with pytest.raises(UserError, match="no text"):
        Subwords.train(texts, 300)


@pytest.mark.parametrize("error", [UserError("corpus.en, line 2: not UTF-8"), KeyboardInterrupt(), OSError(5, "I/O")])
def test_what_goes_wrong_in_the_sentences_comes_out(error: BaseException) -> None:
    def failing() -> Iterator[str]:
        yield "one sentence"
        raise error

    with pytest.raises(type(error)) as failure:
        Subwords.train(failing(), 300)
    assert failure.value is error


@pytest.mark.parametrize("kind", KINDS)
def test_signs_that_mean_something_are_not_learned(kind: SubwordKind, sentences: list[str]) -> None:
    spoiled = [f"▁a▁ ▅ \ufdd0\0\t\ud800 <2de><s><0x41>{text}" for text in sentences] + ["▁" * 50, "▅" * 50] * 50
    model = Subwords.train(spoiled, 450, kind=kind, tags=TAGS)
    for piece in model.pieces(range(FIRST_BYTE + 256, model.size)):
        assert "▁" not in piece[1:] and not set("▅\ufdd0\0\t") & set(piece)
    text = normalise("<2de> <s> ▁▅ <0x41>")
    assert model.decode(model.encode([text])[0]) == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_any_length_can_be_learned_from(kind: SubwordKind, sentences: list[str]) -> None:
    model = Subwords.train([*sentences, "가" * 70_000], 420, kind=kind)  # aborts sentencepiece's own BPE trainer
    assert model.size == 420


def test_text_without_spaces_still_learns_the_space() -> None:
    model = Subwords.train(["漢字仮名交文" * 2000] * 5, 270)
    assert model.decode(model.encode(["漢 字"])[0]) == "漢 字"


# Files


def test_the_file_is_sentencepiece_s_own(subwords: Subwords, sentences: list[str]) -> None:
    plain = SentencePieceProcessor(model_proto=subwords.content)
    assert (plain.pad_id(), plain.unk_id(), plain.bos_id(), plain.eos_id()) == (PAD, UNK, BOS, EOS)
    assert plain.Encode(sentences) == subwords.encode(sentences)
    assert len(plain) == subwords.size == SIZE


def test_load_is_the_same_model(subwords: Subwords, sentences: list[str], tmp_path: Path) -> None:
    path = tmp_path / "subwords.model"
    path.write_bytes(subwords.content)
    loaded = Subwords.load(path)
    assert (loaded.content, loaded.size, loaded.tags, loaded.kind) == (
        subwords.content,
        subwords.size,
        subwords.tags,
        subwords.kind,
    )
    assert loaded.encode(sentences) == subwords.encode(sentences)


def test_load_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "subwords.model"
    with pytest.raises(UserError, match=r"subwords\.model: no such file"):
        Subwords.load(path)
    with pytest.raises(UserError, match="a file is expected"):
        Subwords.load(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"subwords\.model: not a subword model"):
        Subwords.load(path)
    with path.open("wb") as file:
        file.truncate(subword_file.LARGEST_FILE + 100)
    with pytest.raises(UserError, match="too large"):
        Subwords.load(path)


Record = tuple[bytes, float, int | None]


def write(records: list[Record], end: bytes = subword_file.settings("bpe")) -> bytes:
    """A ModelProto by the rules of protobuf; None leaves the type out, as for NORMAL."""
    content = b""
    for name, score, kind in records:
        body = b"\x0a" + varint(len(name)) + name + b"\x15" + struct.pack("<f", score)
        body += b"" if kind is None else b"\x18" + varint(kind)
        content += b"\x0a" + varint(len(body)) + body
    return content + end


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def sound() -> list[Record]:
    reserved: list[Record] = [
        (b"<pad>", 0, CONTROL),
        (b"<unk>", 0, UNKNOWN),
        (b"<s>", 0, CONTROL),
        (b"</s>", 0, CONTROL),
    ]
    reserved += [(b"<0x%02X>" % value, 0, BYTE) for value in range(256)]
    return [*reserved, (b"ab", -0.0, None), ("▁".encode(), -1.0, None), (b"a", -2.0, None), (b"b", -3.0, None)]


def test_a_model_written_by_hand_is_read() -> None:
    model = Subwords.from_bytes(write(sound()), "by hand")
    assert (model.size, model.kind, model.tags) == (264, "bpe", ())
    assert model.pieces(model.encode(["ab c"])[0]) == ["▁", "ab", "▁", "<0x63>"]


def changed(index: int, name: bytes | None = None, score: float = 0.0, kind: int | None = None) -> list[Record]:
    records = sound()
    records[index] = (records[index][0] if name is None else name, score, kind)
    return records


def without(index: int) -> list[Record]:
    records = sound()
    del records[index]
    return records


def swapped(one: int, other: int) -> list[Record]:
    records = sound()
    records[one], records[other] = records[other], records[one]
    return records


END = subword_file.settings("bpe")
HOSTILE_MODELS = {
    "nothing": b"",
    "zeros": bytes(5000),
    "noise": random.Random(1).randbytes(5000),
    "no pieces": END,
    "no settings": write(sound(), b""),
    "settings twice": write(sound(), END + END),
    "settings first": END + write(sound()),
    "only reserved": write(sound()[:260]),
    "pad and unk exchanged": write(swapped(PAD, UNK)),
    "bos and eos exchanged": write(swapped(BOS, EOS)),
    "no pad": write(without(PAD)),
    "no byte 0x41": write(without(4 + 0x41)),
    "bytes exchanged": write(swapped(10, 11)),
    "unk is normal": write(changed(UNK, kind=NORMAL)),
    "two unks": write(changed(261, kind=UNKNOWN)),
    "a user-defined piece": write(changed(260, kind=4)),
    "an unused piece": write(changed(260, kind=5)),
    "type 99": write(changed(260, kind=99)),
    "type 2**40": write(changed(260, kind=1 << 40)),
    "a control piece at the end": write(changed(260, kind=CONTROL)),
    "a tag without brackets": write([*sound()[:4], (b"ab", 0, CONTROL), *sound()[4:]]),
    "an empty piece": write(changed(260, name=b"")),
    "a piece twice": write(changed(260, name=b"a")),
    "a piece that is a reserved one": write(changed(260, name=b"<s>")),
    "a piece that is not UTF-8": write(changed(260, name=b"\xff\xfe")),
    "a surrogate": write(changed(260, name=b"\xed\xa0\x80")),
    "a piece with NUL": write(changed(260, name=b"a\0b")),
    "a long piece": write(changed(260, name=b"x" * 100)),
    "a very long piece": write(changed(260, name=b"x" * 1_000_000)),
    "our stand-in": write(changed(260, name="a\ufdd0".encode())),
    "no space": write(changed(261, name=b"c")),
    "a score that is no number": write(changed(260, score=float("nan"))),
    "an endless score": write(changed(260, score=float("inf"))),
    "a huge score": write(changed(260, score=-3e38)),
    "no byte fallback": write(sound(), END.replace(b"\x98\x02\x01", b"\x98\x02\x00")),
    "other ids": write(sound(), END.replace(b"\xc8\x02\x02", b"\xc8\x02\x05")),
    "another kind of model": write(sound(), END.replace(b"\x18\x02", b"\x18\x04", 1)),
    "somebody's rules": write(sound(), END + b"\x1a\x0a\x12\x08\xff\xff\xff\xff\xff\xff\xff\xff"),
    "rules to undo": write(sound(), END + b"\x2a\x04\x12\x02\xff\xff"),
    "self tests": write(sound(), END + b"\x22\x06\x0a\x04\x0a\x02ab"),
    "a length beyond the end": write(sound()[:-1], b"\x0a\x7f\x0a\x76x"),
    "a length of ten bytes": b"\x0a" + b"\xff" * 9 + b"\x01" + write(sound()),
    "a group": b"\x0b" * 5000,
    "too many pieces": write(sound()[:1]) * 3 + b"\x0a\x08\x0a\x01x\x15\0\0\0\0" * (subword_file.MOST_PIECES + 5),
}


@pytest.mark.parametrize("name", HOSTILE_MODELS)
def test_a_hostile_model_is_refused(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="^bad: not a subword model that regard wrote") as failure:
        Subwords.from_bytes(HOSTILE_MODELS[name], "bad")
    assert "\n" not in str(failure.value)
    assert capfd.readouterr() == ("", "")


def test_a_cut_model_is_refused(subwords: Subwords) -> None:
    for length in [*range(0, len(subwords.content), 37), *range(len(subwords.content) - 60, len(subwords.content))]:
        with pytest.raises(UserError, match="not a subword model"):
            Subwords.from_bytes(subwords.content[:length], "cut")


FUZZ = """
import random, sys
from pathlib import Path
from regard.errors import UserError
from regard.text.subwords import Subwords

content, texts = Path(sys.argv[1]).read_bytes(), ["The old woman", "Wörter ▁ x", "사과 책", "\\0 <s> <0x41>", ""]
rng = random.Random(1)
refused = 0
for attempt in range(3000):
    spoiled = bytearray(content)
    at = rng.randrange(len(spoiled))
    if attempt % 3 == 0:
        spoiled[at] ^= 1 << rng.randrange(8)
    elif attempt % 3 == 1:
        for _ in range(rng.randint(2, 20)):
            spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
    else:
        spoiled[at : at + rng.randrange(20)] = rng.randbytes(rng.randrange(20))
    try:
        model = Subwords.from_bytes(bytes(spoiled), "spoiled")
    except UserError:
        refused += 1
        continue
    assert [model.decode(ids) for ids in model.encode(texts)] == texts
    model.decode(range(model.size))
print(refused)
"""


def test_a_spoiled_model_is_refused_or_works(subwords: Subwords, tmp_path: Path) -> None:
    path = tmp_path / "subwords.model"
    path.write_bytes(subwords.content)
    done = subprocess.run(  # its own process: what we fear is an abort
        [sys.executable, "-c", FUZZ, str(path)], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 1500


@pytest.mark.parametrize(("at", "byte"), [(2, 0x12), (9, 0x1D), (14, 0x20)])
def test_each_part_of_a_piece_is_where_it_belongs(subwords: Subwords, at: int, byte: int) -> None:
    """The first piece is 0A length, 0A length <pad>, 15 float, 18 type; another key in any place is another field."""
    content = bytearray(subwords.content)
    assert content[4:9] == b"<pad>" and (content[2], content[9], content[14]) == (0x0A, 0x15, 0x18)
    content[at] = byte
    with pytest.raises(UserError, match="a piece has an unknown part"):
        Subwords.from_bytes(bytes(content), "damaged")


def test_a_length_is_one_byte(subwords: Subwords) -> None:
    """From 128 on protobuf takes two bytes for it, and would read another length than we do."""
    long = b"\x0a" + bytes([130]) + b"\x0a" + bytes([123]) + b"x" * 123 + b"\x15" + b"\0" * 4
    with pytest.raises(UserError, match="a piece has an unknown part"):
        Subwords.from_bytes(long + subwords.content, "damaged")


def test_a_source_that_fails_at_its_end_is_not_learned_from(sentences: list[str]) -> None:
    """What came before would be enough for a vocabulary; its failure is what is raised."""

    def failing() -> Iterator[str]:
        yield from sentences
        raise LookupError("the rest is lost")

    Subwords.train(sentences, SIZE)
    with pytest.raises(LookupError, match="the rest is lost"):
        Subwords.train(failing(), SIZE)


def test_numbers_are_spelt_figure_by_figure(sentences: list[str]) -> None:
    learned = Subwords.train([*sentences, *["the year 1984"] * 500], SIZE)
    assert learned.pieces(learned.encode(["1984"])[0])[-4:] == ["1", "9", "8", "4"]
