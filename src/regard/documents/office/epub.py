"""Reader and writer of books (.epub): chapters, the table of contents, title and description, alt texts."""

import re
from collections import Counter
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from regard.documents import html
from regard.documents.document import Document, Languages, Part
from regard.documents.language import right_to_left
from regard.documents.markup import Source
from regard.documents.office.ooxml import Change, assembled, walked
from regard.documents.office.walk import Dialect
from regard.documents.package import Package
from regard.errors import UserError

CONTAINER = "META-INF/container.xml"
PAGES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))  # the others are of old books
CONTENTS = "application/x-dtbncx+xml"
BOOK = Dialect(blocks=frozenset(("dc:title", "dc:description")))
NAVIGATION = Dialect(blocks=frozenset(("ncx:text",)))
_LANGUAGE = re.compile(r"(<dc:language\b[^>]*>)[^<]*(</dc:language>)")
_SPINE = re.compile(r"(<(?:\w+:)?spine\b)((?:\s[^>]*?)?)(/?>)")
_BEFORE_3 = re.compile(r"""<(?:\w+:)?package\b[^>]*\sversion\s*=\s*["'][12]\.""")  # they have no page direction


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a book."""
    package = Package(content, name)
    book = _book(package)
    source = Source(package.read(book), f"{name}, {book}")
    manifest = {
        normpath(join(dirname(book), unquote(item.attributes.get("href", "")))): item.attributes.get("media-type", "")
        for item in source.elements("opf:item")
    }
    _check(package, manifest)
    kept: Counter[str] = Counter()
    parts = [walked(package, book, BOOK, kept)]
    parts += [
        _page(package, place, languages) for place, kind in manifest.items() if kind in PAGES and place in package
    ]
    parts += [
        walked(package, place, NAVIGATION, kept)
        for place, kind in manifest.items()
        if kind == CONTENTS and place in package
    ]
    return assembled(package, parts, {book: _described(languages.target)} if languages.target else {}, kept)


def _book(package: Package) -> str:
    """Return the path of the book's package document."""
    root = Source(package.read(CONTAINER), f"{package.name}, {CONTAINER}").elements("container:rootfile")
    place = root[0].attributes.get("full-path", "") if root else ""
    if place not in package:
        raise UserError(f"{package.name}: does not say where its contents are; save it anew in a program for books")
    return place


def _check(package: Package, manifest: dict[str, str]) -> None:
    if "META-INF/signatures.xml" in package:
        raise UserError(f"{package.name}: is signed, and a translation would break the signature; remove it first")
    member = "META-INF/encryption.xml"
    if member in package:
        for one in Source(package.read(member), f"{package.name}, {member}").elements("enc:CipherReference"):
            if manifest.get(normpath(unquote(one.attributes.get("URI", "")))) in PAGES | {CONTENTS}:
                raise UserError(f"{package.name}: is encrypted (DRM); only a book without it can be translated")


def _page(package: Package, place: str, languages: Languages) -> tuple[Source, Part]:
    source = Source(package.read(place), f"{package.name}, {place}")
    if b"\0" in source.content:
        raise UserError(f"{source.where}: is no text; get the file again")
    return source, Part(place, html.pieces(source.content.decode(), languages.target, xml=True))


def _described(target: str) -> Change:
    """Return a function that sets the language and the page direction in a book's package document."""

    def changed(text: str) -> str:
        text = _LANGUAGE.sub(rf"\g<1>{target}\2", text, count=1)
        return _SPINE.sub(_turned, text) if right_to_left(target) and not _BEFORE_3.search(text) else text

    return changed


def _turned(found: re.Match[str]) -> str:
    given = re.sub(r"""\spage-progression-direction=(?:"[^"]*"|'[^']*')""", "", found[2])
    return f'{found[1]}{given} page-progression-direction="rtl"{found[3]}'
