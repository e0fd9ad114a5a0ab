"""Documents made by hand, and what every test does with one."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from tests.documents.translators import Translate, same

from regard.documents.translate import DocumentReport, open_document, translate_document

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>'
ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"), ("officeooo", "other"),
    )
)  # fmt: skip


def texts(content: bytes, name: str, target: str | None = None, source: str | None = None) -> list[str]:
    return [segment.text for segment in open_document(content, name, target=target, source=source).segments]


def kept(content: bytes, name: str) -> dict[str, int]:
    return dict(open_document(content, name).document.kept)


def translated(
    content: bytes,
    name: str,
    translate: Translate = same,
    target: str | None = None,
    source: str | None = None,
    bilingual: bool = False,
) -> bytes:
    return both(content, name, translate, target, source, bilingual)[0]


def both(
    content: bytes,
    name: str,
    translate: Translate = same,
    target: str | None = None,
    source: str | None = None,
    bilingual: bool = False,
) -> tuple[bytes, DocumentReport]:
    done = translate_document(
        content,
        name,
        lambda found: [translate(segment.text) for segment in found],
        source=source,
        target=target,
        bilingual=bilingual,
    )
    return done.content, done.report


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file; what is called mimetype is stored as it is, as OpenDocument and books want it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            file.writestr(name, content, kind)
    return out.getvalue()


def unpacked(content: bytes) -> zipfile.ZipFile:
    """A zip file whose names are UTF-8, marked so or not, unless they can't be."""
    try:
        return zipfile.ZipFile(io.BytesIO(content), metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return zipfile.ZipFile(io.BytesIO(content))


def members(content: bytes) -> dict[str, bytes]:
    with unpacked(content) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


def compressions(content: bytes) -> list[tuple[str, int]]:
    with unpacked(content) as file:
        return [(info.filename, info.compress_type) for info in file.infolist()]


def word(body: str, **others: str) -> bytes:
    """A .docx with this body, and other parts by the kind of each."""
    parts = {"document": ("word/document.xml", f"<w:document {WORD}><w:body>{body}</w:body></w:document>")}
    parts |= {kind: (f"word/{kind}.xml", text) for kind, text in others.items()}
    kinds = "".join(
        f'<Override PartName="/{place}" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.'
        f'{"document.main" if kind == "document" else kind}+xml"/>'
        for kind, (place, _) in parts.items()
    )
    return zipped({"[Content_Types].xml": TYPES.format(kinds), **dict(parts.values()), "word/vbaProject.bin": b"\0\1"})


def body(content: bytes) -> str:
    text = members(content)["word/document.xml"].decode()
    return text[text.index("<w:body>") + 8 : text.index("</w:body>")]


def open_text(content: str, styles: str = "", name: str = "content.xml", **others: str) -> bytes:
    """An .odt with this text and these automatic styles."""
    whole = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{content}</office:text></office:body></office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", name: whole, **others})


def open_body(content: bytes) -> str:
    text = members(content)["content.xml"].decode()
    return text[text.index("<office:text>") + 13 : text.index("</office:text>")]


def suffix(name: str) -> str:
    return PurePosixPath(name).suffix
