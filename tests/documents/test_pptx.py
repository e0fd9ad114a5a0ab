import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import compressions, kept, members, texts, translated
from tests.documents.samples.pptx import slide
from tests.documents.translators import ALL, Translate, every, upper

from regard.documents.segment import Translated


def inside(content: bytes) -> str:
    text = members(content)["ppt/slides/slide1.xml"].decode()
    return text[text.index(">") + 1 : text.rindex("<")]


def frames(content: bytes) -> list[Any]:
    pptx = pytest.importorskip("pptx")
    (page,) = pptx.Presentation(io.BytesIO(content)).slides
    return [shape.text_frame for shape in page.shapes if shape.has_text_frame]


def test_a_presentation_of_another_program(made_pptx: bytes) -> None:
    assert sorted(texts(made_pptx, "a.pptx")) == sorted(
        ["The garden", "First bullet 안녕", "See our page now", "What to say", "Cell", "Sales by region"]
    )
    assert members(translated(made_pptx, "a.pptx")) == members(made_pptx)
    assert compressions(translated(made_pptx, "a.pptx")) == compressions(made_pptx)
    found = frames(translated(made_pptx, "a.pptx", upper))
    assert [one.text for one in found] == ["THE GARDEN", "FIRST BULLET 안녕\nSEE OUR PAGE NOW"]
    link = found[1].paragraphs[1].runs[1]
    assert (link.text, link.hyperlink.address) == ("OUR PAGE", "http://x.org")


@every
def test_any_translation_is_a_presentation(made_pptx: bytes, translate: Translate) -> None:
    for target in (None, "ar", "ko"):
        assert len(frames(translated(made_pptx, "a.pptx", translate, target))) == 2


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


def test_hidden_slides_stay_with_their_notes(made_pptx: bytes) -> None:
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation(io.BytesIO(made_pptx))
    other = presentation.slides.add_slide(presentation.slide_layouts[1])
    other.shapes.title.text = "Shown"
    other.notes_slide.notes_text_frame.text = "Notes that are shown"
    presentation.slides[0]._element.set("show", "0")
    out = io.BytesIO()
    presentation.save(out)
    content = out.getvalue()
    assert sorted(texts(content, "a.pptx")) == ["Notes that are shown", "Shown"]
    assert kept(content, "a.pptx")["hidden slide"] == 1
    before, after = members(content), members(translated(content, "a.pptx", upper))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"ppt/slides/slide2.xml", "ppt/notesSlides/notesSlide2.xml"}


def test_korean_has_a_font(made_pptx: bytes) -> None:
    themes = [text for name, text in members(translated(made_pptx, "a.pptx", upper, "ko")).items() if "/theme/" in name]
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
    for stays in STAY:
        assert inner.count(stays) == text.count(stays)
