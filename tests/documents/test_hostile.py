"""Files that mean harm, and files that are broken: a sentence or a translation, in seconds, and nothing else."""

import io
import random
import stat
import time
import zipfile
from collections.abc import Callable, Iterator

import pytest
from tests.documents.files import TYPES, WORD, members, texts, translated, zipped
from tests.documents.samples.good import GOOD, PARAGRAPH
from tests.documents.translators import longer

from regard.documents import package
from regard.documents.translate import INSTEAD, READERS
from regard.errors import UserError

SIGNS = (b"<", b">", b"&", b'"', b"\0", b"\xff", b"</w:p>", b"<a>", b"{", b"\\", b"]]>")


def refused(content: bytes, name: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as told:
        texts(content, name, "de", "en")
    assert "\n" not in str(told.value) and len(str(told.value)) < 400


def with_member(name: str, content: bytes = b"x", attributes: int = 0) -> bytes:
    out = io.BytesIO(GOOD["a.docx"])
    info = zipfile.ZipInfo(name)
    info.external_attr = attributes
    with zipfile.ZipFile(out, "a") as file:
        file.writestr(info, content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def test_members_that_mean_harm() -> None:
    for outside in ("../x", "/etc/x", "a/../../x", "..\\x"):
        refused(with_member(outside), "a.docx", "outside its own folder")
    refused(with_member("link", b"/etc/passwd", (stat.S_IFLNK | 0o777) << 16), "a.docx", "symbolic link")
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = with_member("word/document.xml")
    refused(twice, "a.docx", "two members of one name")
    refused(with_member("x", bytes(20 << 20)), "a.docx", "over 1,000 times its size")


def test_limits_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MOST_BYTES", 100)
    refused(GOOD["a.docx"], "a.docx", "when unpacked")
    monkeypatch.setattr(package, "MOST_MEMBERS", 2)
    refused(GOOD["a.docx"], "a.docx", "has 3 members, but may have 2")


def test_a_member_that_is_larger_than_it_says() -> None:
    """The size in the directory is a lie; no more than it is read."""
    content = bytearray(with_member("word/media/x", bytes(5 << 20)))
    at = content.rindex(b"PK\1\2")
    content[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    with pytest.raises(UserError):
        translated(bytes(content), "a.docx", longer)


def test_encrypted_members() -> None:
    content = bytearray(GOOD["a.docx"])
    content[content.rindex(b"PK\1\2") + 8] |= 1
    refused(bytes(content), "a.docx", "is encrypted")


def document(text: str) -> bytes:
    return zipped({**members(GOOD["a.docx"]), "word/document.xml": text})


def test_entities_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    bomb = (
        f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><w:document {WORD}><w:p><w:r><w:t>&a9;</w:t></w:r></w:p></w:document>'
    )
    outside = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document {WORD}>&a;</w:document>'
    for text in (bomb, outside):
        refused(document(text), "a.docx", "declares entities of its own")
    elsewhere = f'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><w:document {WORD}>{PARAGRAPH}&a;</w:document>'
    assert texts(document(elsewhere), "a.docx") == ["Some words"]


def test_depth() -> None:
    deep = f"<w:document {WORD}>{'<w:sdt>' * 200}{'</w:sdt>' * 200}</w:document>"
    refused(document(deep), "a.docx", "more than 128 deep")
    for wrapper in ("w:hyperlink", "w:r", "w:p", "w:txbxContent"):
        fine = f"<w:document {WORD}>{f'<{wrapper}>' * 100}{PARAGRAPH}{f'</{wrapper}>' * 100}</w:document>"
        assert members(translated(document(fine), "a.docx")) == members(document(fine))
        translated(document(fine), "a.docx", longer)


@pytest.mark.parametrize("name", [name for name in GOOD if name.endswith(("x", "t", "s", "b"))])
def test_what_is_no_package(name: str) -> None:
    if GOOD[name].startswith(b"PK"):
        for content in (b"", b"PK", b"words", GOOD[name][:100], GOOD[name][:-30], zipped({})):
            with pytest.raises(UserError):
                texts(content, name)


def test_many_marks_in_one_sentence_take_no_time() -> None:
    run = "<w:r><w:rPr><w:b/></w:rPr><w:t>a </w:t></w:r><w:r><w:t>b </w:t></w:r>"
    content = document(f"<w:document {WORD}><w:p>{run * 1000}</w:p></w:document>")
    start = time.process_time()
    translated(content, "a.docx", longer)
    assert time.process_time() - start < 20


def test_formats_that_are_refused_say_what_to_do() -> None:
    refused(b"%PDF-1.7", "a.pdf", "translate the document that it was made from")
    for ending in INSTEAD:
        refused(b"", f"a{ending}", "can't be translated; ")
    refused(b"", "a.xyz", r"not a format that can be translated. Formats: \.htm .*\.docx")
    assert not INSTEAD.keys() & READERS.keys()
    refused(bytes(64 << 20) + b"x", "a.docx", "67,108,865 bytes, but a file may have 67,108,864")


def spoilt(content: bytes, draw: random.Random) -> bytes:
    """Bytes with something wrong."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 20))):
        at = draw.randrange(len(changed) + 1)
        match draw.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del changed[at : at + draw.randrange(1, 40)]
            case 2:
                changed[at:at] = draw.choice(SIGNS)
            case 3:
                changed[at:at] = changed[at : at + draw.randrange(1, 200)]
            case _:
                there = draw.randrange(len(changed) + 1)
                changed[at : at + 8], changed[there : there + 8] = changed[there : there + 8], changed[at : at + 8]
    return bytes(changed)


def mutants(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    draw = random.Random(seed)
    for number in range(count):
        name = list(GOOD)[number % len(GOOD)]
        content = GOOD[name]
        if content.startswith(b"PK") and draw.random() < 0.7:
            inside = members(content)
            member = draw.choice([one for one in inside if one.endswith((".xml", ".xhtml", ".rels", ".opf", ".ncx"))])
            yield name, zipped({**inside, member: spoilt(inside[member], draw)})
        else:
            yield name, spoilt(content, draw)


def endure(count: int, seed: int, act: Callable[[bytes, str], object]) -> None:
    for name, content in mutants(count, seed):
        start = time.process_time()
        try:
            act(content, name)
        except UserError as error:
            assert "\n" not in str(error)
        assert time.process_time() - start < 20


def test_mutants() -> None:
    endure(400, 1, lambda content, name: translated(content, name, longer, "de", "en"))


@pytest.mark.slow
def test_ten_thousand_mutants() -> None:
    endure(10_000, 2, lambda content, name: translated(content, name, longer, "ar", "en"))
    endure(
        1_000, 3, lambda content, name: translated(content, name, longer, bilingual=name.endswith((".docx", ".xlsx")))
    )


def test_types_of_no_parts() -> None:
    assert texts(zipped({"[Content_Types].xml": TYPES.format("")}), "a.docx") == []
    refused(zipped({"a": ""}), "a.docx", r"has no \[Content_Types\].xml")


def test_a_zero_in_a_text() -> None:
    assert translated(b"some\x001\x00 words\n", "a.txt") == b"some\x001\x00 words\n"
