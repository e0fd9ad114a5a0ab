"""Text files as programs of Windows write them: byte order marks, UTF-16, CRLF. They come back in the same encoding."""

import codecs

import pytest
from tests.documents.files import texts, translated
from tests.documents.samples.good import PLAIN
from tests.documents.samples.resources import FILES
from tests.documents.translators import same, upper

from regard.errors import UserError

TEXTS = {**PLAIN, **{name: text for name, text in FILES.items() if not text.lstrip().startswith("<")}}
ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("mark", ENCODINGS, ids=ENCODINGS.values())
def test_marks_and_utf_16(name: str, mark: bytes) -> None:
    for text in (TEXTS[name], TEXTS[name].replace("\n", "\r\n")):
        content = mark + text.encode(ENCODINGS[mark])
        assert texts(content, name) == texts(text.encode(), name) != []
        for translate in (same, upper):
            wanted = translated(text.encode(), name, translate).decode()
            assert translated(content, name, translate) == mark + wanted.encode(ENCODINGS[mark])


def test_what_is_no_text_in_its_encoding() -> None:
    for content in (b"\xff\xfea", b"caf\xe9\n"):
        with pytest.raises(UserError, match="line 1: not UTF-8 text"):
            texts(content, "a.txt")
