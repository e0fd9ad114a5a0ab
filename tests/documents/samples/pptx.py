"""A presentation of one slide."""

from tests.documents.files import TYPES, zipped

DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
KIND = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"


def slide(content: str) -> bytes:
    types = TYPES.format(f'<Override PartName="/ppt/slides/slide1.xml" ContentType="{KIND}"/>')
    text = f'<p:sld xmlns:p="{SLIDES}" {DRAWING} xmlns:r="r">{content}</p:sld>'
    return zipped({"[Content_Types].xml": types, "ppt/slides/slide1.xml": text})
