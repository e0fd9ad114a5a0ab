import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import TYPES, compressions, members, texts, translated, zipped
from tests.documents.translators import ALL, Translate, every, upper

from regard.documents.segment import Translated

DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
KIND = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"


def slide(content: str) -> bytes:
    types = TYPES.format(f'<Override PartName="/ppt/slides/slide1.xml" ContentType="{KIND}"/>')
    text = f'<p:sld xmlns:p="{SLIDES}" {DRAWING} xmlns:r="r">{content}</p:sld>'
    return zipped({"[Content_Types].xml": types, "ppt/slides/slide1.xml": text})


def inside(content: bytes) -> str:
    text = members(content)["ppt/slides/slide1.xml"].decode()
    return text[text.index(">") + 1 : text.rindex("<")]


@pytest.fixture(scope="module")
def made() -> bytes:
    """A presentation as python-pptx writes it."""
    pptx = pytest.importorskip("pptx")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    presentation = pptx.Presentation()
    page = presentation.slides.add_slide(presentation.slide_layouts[1])
    page.shapes.title.text = "The garden"
    frame = page.placeholders[1].text_frame
    frame.text = "First bullet 안녕"
    paragraph = frame.add_paragraph()
    for words, address in (("See ", None), ("our page", "http://x.org"), (" now", None)):
        run = paragraph.add_run()
        run.text = words
        if address:
            run.hyperlink.address = address
    page.notes_slide.notes_text_frame.text = "What to say"
    page.shapes.add_table(1, 1, Inches(1), Inches(4), Inches(4), Inches(1)).table.cell(0, 0).text = "Cell"
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Series", (1, 2))
    chart = page.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(1), Inches(3), Inches(2), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales by region"
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def frames(content: bytes) -> list[Any]:
    pptx = pytest.importorskip("pptx")
    (page,) = pptx.Presentation(io.BytesIO(content)).slides
    return [shape.text_frame for shape in page.shapes if shape.has_text_frame]


def test_a_presentation_of_another_program(made: bytes) -> None:
    assert sorted(texts(made, "a.pptx")) == sorted(
        ["The garden", "First bullet 안녕", "See our page now", "What to say", "Cell", "Sales by region"]
    )
    assert members(translated(made, "a.pptx")) == members(made)
    assert compressions(translated(made, "a.pptx")) == compressions(made)
    found = frames(translated(made, "a.pptx", upper))
    assert [one.text for one in found] == ["THE GARDEN", "FIRST BULLET 안녕\nSEE OUR PAGE NOW"]
    link = found[1].paragraphs[1].runs[1]
    assert (link.text, link.hyperlink.address) == ("OUR PAGE", "http://x.org")


@every
def test_any_translation_is_a_presentation(made: bytes, translate: Translate) -> None:
    for target in (None, "ar", "ko"):
        assert len(frames(translated(made, "a.pptx", translate, target))) == 2


def test_a_link_stays_though_the_alignment_is_unsure() -> None:
    def paragraph(look: str) -> str:
        return (
            f"<a:p><a:r><a:t>See </a:t></a:r><a:r>{look}<a:t>our page</a:t></a:r><a:r><a:t> right now</a:t></a:r></a:p>"
        )

    link, bold = '<a:rPr><a:hlinkClick r:id="1"/></a:rPr>', '<a:rPr b="1"/>'
    found = [
        inside(translated(slide(paragraph(look)), "a.pptx", lambda _: Translated("Sieh die Seite")))
        for look in (link, bold)
    ]
    assert "hlinkClick" in found[0] and 'b="1"' not in found[1]
    assert found[1].count("<a:t>") == 1


def test_a_run_has_one_text_and_fields_breaks_and_ends_stay() -> None:
    content = slide(
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="en-US" dirty="0"/><a:t>One </a:t></a:r><a:r><a:rPr lang="de-DE"/>'
        '<a:t>text</a:t></a:r><a:fld type="slidenum"><a:t>3 x</a:t></a:fld><a:br/><a:r><a:t>two</a:t></a:r>'
        '<a:endParaRPr/></a:p><p:cNvPr id="1" name="Name" descr="A picture"/>'
    )
    assert texts(content, "a.pptx") == ["One text", "two", "A picture"]
    assert inside(translated(content, "a.pptx", upper)) == (
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="en-US" dirty="0"/><a:t>ONE TEXT</a:t></a:r><a:fld type="slidenum">'
        "<a:t>3 x</a:t></a:fld><a:br/><a:r><a:t>TWO</a:t></a:r><a:endParaRPr/></a:p>"
        '<p:cNvPr id="1" name="Name" descr="A PICTURE"/>'
    )
    turned = inside(translated(content, "a.pptx", upper, "ar"))
    assert '<a:pPr lvl="1" algn="r" rtl="1"/>' in turned and 'lang="ar"' in turned


def test_korean_has_a_font(made: bytes) -> None:
    themes = [text for name, text in members(translated(made, "a.pptx", upper, "ko")).items() if "/theme/" in name]
    assert all(b'<a:ea typeface="Malgun Gothic"/>' in text for text in themes)


TEXT = st.text(st.sampled_from("ab é안\u0301👩\u200dש. "), max_size=8)
RUN = st.builds(
    lambda look, text: f"<a:r>{look}<a:t>{text}</a:t></a:r>",
    st.sampled_from(["", '<a:rPr b="1"/>', '<a:rPr lang="x"/>', '<a:rPr><a:hlinkClick r:id="1"/></a:rPr>']),
    TEXT,
)
STAY = ["<a:br/>", "<a:fld><a:t>x y</a:t></a:fld>", "<!-- x -->"]
INLINE = st.lists(st.one_of(RUN, st.sampled_from(STAY)), max_size=6)


@settings(max_examples=40, deadline=None)
@given(INLINE.map("".join), st.sampled_from(ALL), st.sampled_from([None, "ar"]))
def test_any_paragraph(text: str, translate: Translate, target: str | None) -> None:
    content = slide(f"<a:p>{text}</a:p>")
    assert members(translated(content, "a.pptx")) == members(content)
    found = inside(translated(content, "a.pptx", translate, target))
    inner = re.sub(r"</?a:p>|<a:pPr[^>]*/>", "", found)
    run = r"<a:r>(?:<a:rPr[^>]*/>|<a:rPr>.*?</a:rPr>)?<a:t>[^<]*</a:t></a:r>"
    assert re.fullmatch(rf"(?:{run}|<a:br/>|<a:fld>.*?</a:fld>|<!-- x -->)*", inner)
    for kept in STAY:
        assert inner.count(kept) == text.count(kept)
