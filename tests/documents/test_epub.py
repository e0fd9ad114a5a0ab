import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import compressions, members, texts, translated, zipped
from tests.documents.samples.epub import BOOK, CONTAINER, PAGE, book
from tests.documents.translators import ALL, Translate, every, upper

from regard.errors import UserError


def test_what_is_translated() -> None:
    assert texts(book(), "a.epub") == [
        "The garden", "Chapter one", "a & picture", "Hello brave new world, 안녕.", "More words", "Chapter one",
    ]  # fmt: skip
    assert members(translated(book(), "a.epub")) == members(book())
    assert compressions(translated(book(), "a.epub", upper)) == compressions(book())
    assert compressions(book())[0] == ("mimetype", 0)


def test_languages_and_directions() -> None:
    found = members(translated(book(), "a.epub", upper, "he"))
    assert b"<dc:language>he</dc:language>" in found["OPS/book.opf"]
    assert b'<spine toc="n" page-progression-direction="rtl">' in found["OPS/book.opf"]
    page = found["OPS/text/one two.xhtml"].decode()
    assert '<html dir="rtl" xmlns="http://www.w3.org/1999/xhtml" xml:lang="he" lang="he">' in page
    assert page.count('dir="rtl"') == 1 and page.rstrip().endswith("</html>")
    assert '<img src="a.jpg" alt="A &amp; PICTURE"/>' in page and '<h1 id="x"/>' in page
    assert b"<dc:creator>Kim Writer</dc:creator>" in found["OPS/book.opf"]


@pytest.mark.parametrize("name", ["본문—1.xhtml".encode(), "본문1.xhtml".encode("cp949")], ids=["utf-8", "cp949"])
def test_names_that_are_not_marked_as_utf_8(name: bytes) -> None:
    """Many programs write names in UTF-8 without the mark; what can't be UTF-8 is read as the format says."""
    utf_8 = name.startswith("본".encode())
    read, stand_in = name.decode("utf-8" if utf_8 else "cp437"), "x" * len(name)
    pages = members(book(**{"OPS/book.opf": BOOK.replace("one%20two.xhtml", read)}))
    pages[f"OPS/text/{stand_in}"] = pages.pop("OPS/text/one two.xhtml")
    content = zipped(pages).replace(stand_in.encode(), name)
    made = translated(content, "a.epub", upper)
    assert b"BRAVE" in members(made)[f"OPS/text/{read}"]
    assert (name in made) == utf_8


def test_what_only_looks_like_an_alternative_text_is_text_or_code() -> None:
    code = '<pre>&lt;img src="a" alt="A red fox"&gt;</pre>'
    page = f'<html><body><p>Set alt="Some picture" here.</p>{code}</body></html>'
    assert texts(book(page), "a.epub")[1:-1] == ['Set alt="Some picture" here.']
    found = members(translated(book(page), "a.epub", upper))["OPS/text/one two.xhtml"].decode()
    assert found == f'<html><body><p>SET ALT="SOME PICTURE" HERE.</p>{code}</body></html>'


@pytest.mark.parametrize("kind", ["text/html", "text/x-oeb1-document"])
def test_pages_of_old_books(kind: str) -> None:
    opf = BOOK.replace("application/xhtml+xml", kind)
    assert opf != BOOK and texts(book(**{"OPS/book.opf": opf}), "a.epub") == texts(book(), "a.epub")


@pytest.mark.parametrize(("version", "turned"), [("2.0", 0), ("3.0", 1), ("3.2", 1)])
def test_the_direction_of_pages_is_an_attribute_since_version_3(version: str, turned: int) -> None:
    opf = BOOK.replace('version="3.0"', f'unique-identifier="i" version="{version}"')
    found = members(translated(book(**{"OPS/book.opf": opf}), "a.epub", upper, "ar"))["OPS/book.opf"]
    assert found.count(b"page-progression-direction") == turned
    assert b"<dc:language>ar</dc:language>" in found


@pytest.mark.parametrize("text", ["l", "alt", "t", "="])
def test_an_alternative_text_may_be_part_of_its_attribute_s_name(text: str) -> None:
    """As for the formulas of Sphinx's books: alt="l"."""
    page = f'<html><body><p>Words <img alt="{text}"/> here</p></body></html>'
    assert members(translated(book(page), "a.epub")) == members(book(page))
    found = members(translated(book(page), "a.epub", upper))["OPS/text/one two.xhtml"].decode()
    assert found == f'<html><body><p>WORDS <img alt="{text.upper()}"/> HERE</p></body></html>'


@every
def test_tags_stay(translate: Translate) -> None:
    found = members(translated(book(), "a.epub", translate))["OPS/text/one two.xhtml"].decode()
    tags = [re.findall(r"<[^<>]*>", re.sub('alt="[^"]*"', "alt", text)) for text in (PAGE, found)]
    assert tags[0] == tags[1]


def test_cdata_and_reading_aids_stay() -> None:
    """A section of CDATA may hold any sign, and readings above a text are no part of its sentence."""
    page = PAGE.replace(
        "<p><code/>", "<p><![CDATA[a > b, some <words> & more]]></p><p><ruby>漢字<rt>かんじ</rt></ruby> is "
    )
    assert texts(book(page), "a.epub")[4] == "漢字 is More words"
    found = members(translated(book(page), "a.epub", upper))["OPS/text/one two.xhtml"].decode()
    assert "<p><![CDATA[a > b, some <words> & more]]></p><p><ruby>漢字<rt>かんじ</rt></ruby> IS MORE WORDS" in found


def test_books_that_are_refused() -> None:
    encrypted = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><e:EncryptedData '
        'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:CipherData><e:CipherReference URI="{}"/></e:CipherData>'
        "</e:EncryptedData></encryption>"
    )
    with pytest.raises(UserError, match="DRM"):
        texts(book(**{"META-INF/encryption.xml": encrypted.format("OPS/text/one%20two.xhtml")}), "a.epub")
    assert texts(book(**{"META-INF/encryption.xml": encrypted.format("OPS/font.otf")}), "a.epub")
    with pytest.raises(UserError, match="is signed"):
        texts(book(**{"META-INF/signatures.xml": "<x/>"}), "a.epub")
    with pytest.raises(UserError, match="has no META-INF/container.xml"):
        texts(zipped({"x": ""}), "a.epub")
    with pytest.raises(UserError, match="where its contents are"):
        texts(zipped({"META-INF/container.xml": CONTAINER}), "a.epub")


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60), st.sampled_from(ALL))
def test_any_page(text: str, translate: Translate) -> None:
    content = book(f"<html><p>{text.encode('utf-8', 'replace').decode().replace(chr(0), '')}</p></html>")
    assert members(translated(content, "a.epub")) == members(content)
    translated(content, "a.epub", translate)
