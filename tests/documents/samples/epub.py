"""A small book."""

from tests.documents.files import zipped

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
BOOK = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>The garden</dc:title><dc:language>en</dc:language><dc:creator>Kim Writer</dc:creator></metadata>"
    '<manifest><item id="a" href="text/one%20two.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="p" href="a.jpg" media-type="image/jpeg"/></manifest><spine toc="n"><itemref idref="a"/></spine>'
    "</package>"
)
CONTENTS = (
    '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Chapter one</text></navLabel>'
    "</navPoint></navMap></ncx>"
)
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>Chapter one</title><script src="x"/>
<meta charset="utf-8"/></head>
<body><h1 id="x"/><p>Hello <b>brave</b> <img src="a.jpg" alt="a &amp; picture"/> new world, 안녕<a id="y"/>.</p>
<p><code/>More words</p></body></html>
"""


def book(page: str = PAGE, **others: str) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "OPS/book.opf": BOOK,
            "OPS/toc.ncx": CONTENTS, "OPS/text/one two.xhtml": page, "OPS/a.jpg": b"\xff\xd8", **others,
        }
    )  # fmt: skip
