import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import (
    ODF,
    both,
    compressions,
    kept,
    members,
    open_body,
    open_text,
    texts,
    translated,
    zipped,
)
from tests.documents.translators import ALL, Translate, upper

from regard.documents.segment import Translated
from regard.errors import UserError

STYLES = (
    '<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>'
    '<style:style style:name="T2" style:family="text"><style:text-properties officeooo:rsid="00a"/></style:style>'
    '<style:style style:name="T3" style:family="text"><style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>'
)


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def test_runs_of_an_editor_are_joined() -> None:
    content = open_text(
        f"<text:p>Hel{span('T2', 'lo ')}{span('T1', 'brave')}{span('T2', ' new')} world</text:p>", STYLES
    )
    assert texts(content, "a.odt") == ["Hello brave new world"]
    found = open_body(translated(content, "a.odt", upper))
    assert found == f"<text:p>HELLO {span('T1', 'BRAVE')} NEW WORLD</text:p>"
    assert members(translated(content, "a.odt")) == members(content)
    assert compressions(translated(content, "a.odt", upper)) == compressions(content)


def test_unsure() -> None:
    content = open_text(f"<text:p>The {span('T1', 'old')} woman went</text:p>", STYLES)
    done, report = both(content, "a.odt", lambda _: Translated("Die alte Frau ging"))
    assert open_body(done) == "<text:p>Die alte Frau ging</text:p>"
    assert [one.lost for one in report.unsure] == [True]


def test_a_link_around_and_inside_of_a_run() -> None:
    for link in (f'<text:a x="y">{span("T1", "our page")}</text:a>', span("T1", '<text:a x="y">our page</text:a>')):
        content = open_text(f"<text:p>See {link} right now</text:p>", STYLES)
        assert open_body(translated(content, "a.odt")) == open_body(content)
        found = open_body(translated(content, "a.odt", upper))
        ElementTree.fromstring(f"<x {ODF}>{found}</x>")
        assert re.sub("<[^>]*>", "", found) == "SEE OUR PAGE RIGHT NOW"
        assert re.search('<text:a x="y">(?:<text:span[^>]*>)?OUR PAGE(?:</text:span>)?</text:a>', found)


def test_what_stays_and_what_stands_inside() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body>"
        "</text:note>"
    )
    box = "<draw:text-box><text:p>in a box</text:p></draw:text-box>"
    frame = f"<draw:frame>{box}<svg:title>a picture</svg:title></draw:frame>"
    content = open_text(
        "<text:tracked-changes><text:p>deleted words</text:p></text:tracked-changes>"
        f"<text:h>Head<text:s text:c='2'/>line</text:h><text:p text:style-name='P1'>int main</text:p>"
        f"<text:p>{span('T3', 'hidden words')}</text:p>"
        f"<text:p>Red {note}{frame}apples<text:tab/>and<text:line-break/>more</text:p>"
        "<text:p>Page <text:page-number>three</text:page-number></text:p>",
        STYLES,
    )
    assert texts(content, "a.odt") == [
        "Head line",
        "Red apples",
        "and",
        "more",
        "Page",
        "a note",
        "in a box",
        "a picture",
    ]
    assert kept(content, "a.odt") == {"deleted text": 1, "code": 1, "hidden text": 1, "field": 1}
    assert members(translated(content, "a.odt")) == members(content)
    found = open_body(translated(content, "a.odt", upper))
    assert re.sub(r"\s*<[^>]*>\s*", "|", found).replace("||", "|").strip("|").count("A NOTE") == 1
    assert "int main" in found and "hidden words" in found and "deleted words" in found and ">three<" in found
    ElementTree.fromstring(f"<x {ODF}>{found}</x>")


def test_hidden_slides_stay() -> None:
    here = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    styles = (
        f'<style:style {here} style:name="dp1" style:family="drawing-page"><style:drawing-page-properties '
        'presentation:visibility="hidden"/></style:style><style:style style:name="dp2"/>'
    )
    content = open_text(
        '<draw:page draw:style-name="dp1"><text:p>Not shown</text:p></draw:page>'
        '<draw:page draw:style-name="dp2"><draw:frame><text:p>Shown</text:p></draw:frame></draw:page>',
        styles,
    )
    assert texts(content, "a.odp") == ["Shown"]
    assert kept(content, "a.odp") == {"hidden slide": 1}
    assert "Not shown" in open_body(translated(content, "a.odp", upper))


def test_cells() -> None:
    def cell(attributes: str, text: str) -> str:
        return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"

    content = open_text(
        cell('office:value-type="string"', "Red apples")
        + cell('office:value-type="string" table:formula="of:=A1"', "Red apples")
        + cell('office:value-type="date"', "March 5")
        + cell("", "words")
    )
    assert texts(content, "a.ods") == ["Red apples", "words"]
    assert kept(content, "a.ods") == {"formula": 1}
    assert open_body(translated(content, "a.ods", upper)).count("Red apples") == 1


def test_comments_on_any_cell_and_texts_that_a_cell_names() -> None:
    """A program shows office:string-value where there is one, and not the paragraph."""
    note = "<office:annotation><text:p>A remark</text:p></office:annotation>"
    shown = "<text:p>March</text:p>"
    content = open_text(
        f"<table:table-cell office:value-type='float' office:value='3'>{note}{shown}</table:table-cell>"
        f"<table:table-cell table:formula='of:=A1'>{shown}{note}</table:table-cell>"
        "<table:table-cell office:value-type='string' office:string-value='Red &amp; green'><text:p>Red &amp; green"
        "</text:p></table:table-cell>"
    )
    assert texts(content, "a.ods") == ["A remark", "A remark", "Red & green", "Red & green"]
    assert members(translated(content, "a.ods")) == members(content)
    found = open_body(translated(content, "a.ods", upper))
    assert found.count("A REMARK") == 2 and found.count(shown) == 2 and found.count("RED &amp; GREEN") == 2


def test_headers_of_pages_charts_and_styles() -> None:
    styles = (
        f"<office:document-styles {ODF}><style:default-style style:family='paragraph'><style:paragraph-properties "
        'style:writing-mode="page" fo:text-align="left"/>'
        '<style:text-properties fo:language="en" fo:country="US" style:font-name-asian="X"/>'
        "</style:default-style><style:header><text:p>The header</text:p></style:header>"
        "<draw:page><text:p>Click to edit</text:p></draw:page></office:document-styles>"
    )
    chart = f"<x {ODF}><text:p>Sales</text:p><table:table><text:p>East</text:p></table:table></x>"
    content = open_text("<text:p>Words</text:p>", **{"styles.xml": styles, "Object 1/content.xml": chart})
    assert sorted(texts(content, "a.odt")) == ["Sales", "The header", "Words"]
    arabic = members(translated(content, "a.odt", upper, "ar"))["styles.xml"].decode()
    assert 'style:writing-mode="rl-tb" fo:text-align="right"' in arabic and 'style:language-complex="ar"' in arabic
    korean = members(translated(content, "a.odt", upper, "ko"))["styles.xml"].decode()
    assert 'style:font-family-asian="Malgun Gothic"' in korean and 'style:language-asian="ko"' in korean
    german = members(translated(content, "a.odt", upper, "de"))["styles.xml"].decode()
    assert 'fo:language="de"' in german and 'fo:language="en"' not in german


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (
            'The <text:change text:change-id="a"/><text:change-start text:change-id="b"/>new<text:change-end/> tree',
            'THE <text:change text:change-id="a"/><text:change-start text:change-id="b"/>NEW<text:change-end/> TREE',
        ),
        ('Let <draw:frame text:anchor-type="as-char"/> be', 'LET <draw:frame text:anchor-type="as-char"/> BE'),
        ("Pick <text:drop-down>one</text:drop-down> now", "PICK <text:drop-down>one</text:drop-down> NOW"),
    ],
)
def test_marks_stay_at_their_words(content: str, wanted: str) -> None:
    given = open_text(f"<text:p>{content}</text:p>")
    assert members(translated(given, "a.odt")) == members(given)
    assert open_body(translated(given, "a.odt", upper)) == f"<text:p>{wanted}</text:p>"


def test_hidden_sections_stay() -> None:
    hidden = '<text:section text:display="none"><text:p>Not shown</text:p></text:section>'
    content = open_text(f"{hidden}<text:section><text:p>Shown words</text:p></text:section>")
    assert texts(content, "a.odt") == ["Shown words"] and kept(content, "a.odt") == {"hidden text": 1}
    assert hidden in open_body(translated(content, "a.odt", upper))


def test_alignment_and_formatting_from_the_right() -> None:
    """LibreOffice takes start for left, so the edges are named; a cell's alignment in a sheet stays as it is."""
    styles = (
        f"<office:document-styles {ODF}><style:default-style style:family='paragraph'><style:paragraph-properties/>"
        "</style:default-style><style:style style:name='A'><style:paragraph-properties fo:text-align='start'/>"
        '<style:text-properties fo:font-weight="bold" fo:font-size="9pt" style:font-size-complex="8pt"/></style:style>'
        '<style:style style:name="B"><style:paragraph-properties fo:text-align="end"/></style:style>'
        '<style:style style:name="C"><style:paragraph-properties fo:text-align="center"/></style:style>'
        "</office:document-styles>"
    )
    content = open_text("<text:p>Words</text:p>", **{"styles.xml": styles})
    made = {
        name: members(translated(content, name, upper, target))["styles.xml"].decode()
        for name, target in (("a.odt", "he"), ("b.odt", "ko"), ("c.odt", "de"), ("a.ods", "he"))
    }
    aligned = {name: re.findall(r"""fo:text-align=.(\w+)""", text) for name, text in made.items()}
    assert aligned["a.odt"] == ["right", "right", "left", "center"]
    assert aligned["a.ods"] == aligned["b.odt"] == aligned["c.odt"] == ["start", "end", "center"]
    bold = '<style:text-properties fo:font-weight="bold" fo:font-size="9pt" style:font-size-complex="8pt"'
    assert f'{bold} style:font-weight-complex="bold"/>' in made["a.odt"]
    assert f'{bold} style:font-weight-asian="bold" style:font-size-asian="9pt"/>' in made["b.odt"]
    assert f"{bold}/>" in made["c.odt"]


def test_what_is_typed_into_a_control_is_translated() -> None:
    """A field for input, and LibreOffice's content control; a cross-reference inside of a sentence stays."""
    loext = 'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
    for control in ("text:text-input", "loext:content-control"):
        content = open_text(f"<text:p {loext}>I am <{control}>the teacher</{control}> of it</text:p>")
        assert texts(content, "a.odt") == ["I am the teacher of it"]
        assert f"<{control}>THE TEACHER</{control}>" in open_body(translated(content, "a.odt", upper))


def test_hidden_sheets_stay() -> None:
    styles = (
        '<style:style style:name="ta1"><style:table-properties table:display="true"/></style:style>'
        '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    )
    sheets = "".join(
        f'<table:table table:style-name="{style}"><table:table-cell><text:p>{words}</text:p></table:table-cell>'
        "</table:table>"
        for style, words in (("ta1", "Shown words"), ("ta2", "Hidden words"))
    )
    content = open_text(sheets, styles)
    assert texts(content, "a.ods") == ["Shown words"]
    assert kept(content, "a.ods") == {"hidden sheet": 1}


def test_styles_for_code() -> None:
    """By name, or by the style that one is based on, as pandoc, Word and LibreOffice call them."""
    based = '<style:style style:name="P1" style:parent-style-name="Source_20_Code"/>'
    for style in ("P1", "Source_20_Code", "Preformatted_20_Text", "HTML_20_Preformatted"):
        content = open_text(f'<text:p text:style-name="{style}">go to x</text:p>', based)
        assert (texts(content, "a.odt"), kept(content, "a.odt")) == ([], {"code": 1})


def test_signed_and_encrypted_documents_are_refused() -> None:
    given = members(open_text("<text:p>Words</text:p>"))
    with pytest.raises(UserError, match="is signed"):
        texts(zipped({**given, "META-INF/documentsignatures.xml": "<x/>"}), "a.odt")
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry><m:encryption-data/>'
        "</m:file-entry></m:manifest>"
    )
    with pytest.raises(UserError, match="is encrypted"):
        texts(zipped({**given, "META-INF/manifest.xml": manifest}), "a.odt")
    odd = zipped({**given, "META-INF/manifest.xml": "<manifest:manifest>no namespace, as in old templates"})
    assert texts(odd, "a.odt") == ["Words"]
    with pytest.raises(UserError, match=r"has no content.xml"):
        texts(zipped({"mimetype": "x"}), "a.odt")


TEXT = st.text(st.sampled_from("ab é안\u0301👩\u200dש. "), max_size=8)
INLINE = st.recursive(
    st.one_of(
        TEXT,
        st.sampled_from(["<text:tab/>", "<text:s/>", "<text:bookmark/>", "<text:date>a b</text:date>", "<!-- x -->",
                         "<text:note><text:p>a note</text:p></text:note>", "<text:soft-page-break/>"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.builds(span, st.sampled_from(["T1", "T2", "T3", "T9"]), inner),
        inner.map(lambda text: f"<text:a>{text}</text:a>"),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(INLINE, max_size=3), st.sampled_from(ALL))
def test_any_paragraphs(paragraphs: list[str], translate: Translate) -> None:
    content = open_text("".join(f"<text:p>{text}</text:p>" for text in paragraphs), STYLES)
    assert members(translated(content, "a.odt")) == members(content)
    found = open_body(translated(content, "a.odt", translate))
    ElementTree.fromstring(f"<x {ODF}>{found}</x>")
    pattern = r"</?text:(?!(?:span|s|soft-page-break)\b)[^>]*>|<!-- x -->"
    assert re.findall(pattern, found) == re.findall(pattern, open_body(content))
