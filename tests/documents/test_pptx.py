import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import TYPES, compressions, kept, members, texts, translated, zipped
from tests.documents.samples.pptx import DRAWING, SLIDES, slide
from tests.documents.translators import ALL, Translate, every, upper

from regard.documents.segment import Translated
from regard.documents.translate import open_document


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
    assert '<a:pPr lvl="1" rtl="1"/>' in turned and 'lang="ar"' in turned


def test_a_formula_has_its_spaces() -> None:
    space = 'xmlns:f="http://schemas.microsoft.com/office/drawing/2010/main"'
    formula = f"<f:m {space}><x>y</x></f:m>"
    content = slide(f"<a:p><a:r><a:t>Let </a:t></a:r>{formula}<a:r><a:t> be real.</a:t></a:r></a:p>")
    assert kept(content, "a.pptx") == {"formula": 1}
    assert re.sub("<[^>]*>", "", inside(translated(content, "a.pptx", upper))) == "LET y BE REAL."


def test_runs_without_properties_look_like_those_with_none() -> None:
    runs = '<a:r><a:rPr lang="en-US" dirty="0"/><a:t>One </a:t></a:r><a:r><a:t>and </a:t></a:r>'
    (segment,) = open_document(slide(f"<a:p>{runs}<a:r><a:rPr></a:rPr><a:t>all</a:t></a:r></a:p>"), "a.pptx").segments
    assert (segment.text, segment.marks) == ("One and all", ())


def test_comments_of_both_kinds(made_pptx: bytes) -> None:
    """Those of PowerPoint before 2021, and those since, which are paragraphs in a namespace of their own."""
    given = members(made_pptx)
    kind = "application/vnd.{}.comments+xml"
    parts = {
        "ppt/comments/comment1.xml": f'<p:cmLst xmlns:p="{SLIDES}"><p:cm>'
        "<p:text>An old remark\nof two lines</p:text></p:cm></p:cmLst>",
        "ppt/comments/modern1.xml": f'<c:cmLst xmlns:c="http://schemas.microsoft.com/office/powerpoint/2018/8/main" '
        f"{DRAWING}><c:cm><c:txBody><a:p><a:r><a:t>A new remark</a:t></a:r></a:p></c:txBody></c:cm></c:cmLst>",
    }
    producers = ("openxmlformats-officedocument.presentationml", "ms-powerpoint")
    types = "".join(
        f'<Override PartName="/{part}" ContentType="{kind.format(producer)}"/>'
        for part, producer in zip(parts, producers, strict=True)
    )
    changed = given["[Content_Types].xml"].decode().replace("</Types>", f"{types}</Types>")
    content = zipped({**given, "[Content_Types].xml": changed, **parts})
    assert texts(content, "a.pptx")[-3:] == ["An old remark", "of two lines", "A new remark"]
    found = members(translated(content, "a.pptx", upper))
    assert b"<a:t>A NEW REMARK</a:t>" in found["ppt/comments/modern1.xml"]


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


def test_masters_align_at_the_right_and_what_is_centred_stays() -> None:
    """A paragraph without an alignment has its master's: a title stays in the middle, a list goes to the right edge."""
    kinds = {"presentation": "presentation.main", "slideMaster1": "slideMaster", "slide1": "slide"}
    types = "".join(
        f'<Override PartName="/ppt/{name}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        f'presentationml.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    space = f'xmlns:p="{SLIDES}" {DRAWING}'
    content = {
        "[Content_Types].xml": TYPES.format(types),
        "ppt/presentation.xml": f'<p:presentation {space}><p:defaultTextStyle><a:lvl1pPr marL="0" algn="l"/>'
        "</p:defaultTextStyle></p:presentation>",
        "ppt/slideMaster1.xml": f"<p:sldMaster {space}><a:lstStyle><a:lvl1pPr/><a:lvl2pPr algn='l'/></a:lstStyle>"
        '<p:txStyles><p:titleStyle><a:lvl1pPr algn="ctr"/></p:titleStyle><p:bodyStyle><a:lvl1pPr marL="0">'
        "</a:lvl1pPr></p:bodyStyle></p:txStyles></p:sldMaster>",
        "ppt/slide1.xml": f"<p:sld {space}><a:tbl><a:tblPr firstRow='1'/></a:tbl><a:p><a:r><a:t>Words</a:t></a:r></a:p>"
        '<a:p><a:pPr algn="l"/><a:r><a:t>More</a:t></a:r></a:p></p:sld>',
    }
    found = members(translated(zipped(content), "a.pptx", upper, "fa"))
    assert b'<a:lvl1pPr marL="0" algn="r"/>' in found["ppt/presentation.xml"]
    master = found["ppt/slideMaster1.xml"].decode()
    assert '<a:lstStyle><a:lvl1pPr/><a:lvl2pPr algn="r"/></a:lstStyle>' in master, "a placeholder's own styles inherit"
    assert '<a:lvl1pPr algn="ctr"/>' in master and '<a:lvl1pPr marL="0" algn="r"></a:lvl1pPr>' in master
    page = found["ppt/slide1.xml"].decode()
    assert "<a:tblPr firstRow='1' rtl=\"1\"/>" in page
    assert '<a:p><a:pPr rtl="1"/>' in page and '<a:p><a:pPr algn="r" rtl="1"/>' in page
    same = members(translated(zipped(content), "a.pptx", upper, "ko"))
    assert same["ppt/slideMaster1.xml"] == content["ppt/slideMaster1.xml"].encode()


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
