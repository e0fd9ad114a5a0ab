import io
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import TYPES, WORD, body, both, compressions, kept, members, texts, translated, word, zipped
from tests.documents.translators import ALL, Translate, backwards, every, same, upper

from regard.documents.segment import Translated
from regard.documents.translate import open_document
from regard.errors import UserError


def runs(*given: tuple[str, str]) -> str:
    return "".join(
        f'<w:r w:rsidR="0{number}">{look and f"<w:rPr>{look}</w:rPr>"}<w:t xml:space="preserve">{text}</w:t></w:r>'
        for number, (look, text) in enumerate(given)
    )


def paragraph(*given: tuple[str, str]) -> str:
    return f"<w:p>{runs(*given)}</w:p>"


def field(code: str, shown: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f'<w:r><w:instrText xml:space="preserve"> {code} </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        f'<w:r><w:t>{shown}</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def seen(text: str) -> str:
    """What a body shows, a paragraph a line."""
    root = ElementTree.fromstring(f"<x {WORD}>{text}</x>")
    return "\n".join("".join(one.itertext()) for one in root.iter() if one.tag.endswith("}p"))


def test_runs_that_look_alike_are_joined_and_others_become_marks() -> None:
    given = (("", "Hel"), ("<w:lang w:val='x'/>", "lo "), ("<w:b/>", "brave"), ("", " new world"))
    content = word(paragraph(*given))
    assert texts(content, "a.docx") == ["Hello brave new world"]
    found = body(translated(content, "a.docx", upper))
    assert found == (
        '<w:p><w:r w:rsidR="00"><w:t xml:space="preserve">HELLO </w:t></w:r>'
        '<w:r w:rsidR="02"><w:rPr><w:b/></w:rPr><w:t>BRAVE</w:t></w:r>'
        '<w:r w:rsidR="00"><w:t xml:space="preserve"> NEW WORLD</w:t></w:r></w:p>'
    )


def test_formatting_follows_the_alignment() -> None:
    def turned(text: str) -> Translated:
        return Translated("Gestern ging die alte Frau.", ((4, 0), (3, 1), (0, 2), (1, 3), (2, 4)))

    content = word(f"<w:p>{runs(('', 'The '), ('<w:i/>', 'old woman'), ('', ' went yesterday.'))}</w:p>")
    found = body(translated(content, "a.docx", turned))
    assert "<w:rPr><w:i/></w:rPr><w:t>alte Frau</w:t>" in found
    assert seen(found) == "Gestern ging die alte Frau."


def test_where_the_alignment_is_unsure_a_sentence_has_one_formatting_and_the_report_says_so() -> None:
    mixed = paragraph(("", "The old "), ("<w:i/>", "woman"), ("", " went"))
    content = word(mixed + paragraph(("", "One")))
    done, report = both(content, "a.docx", lambda text: Translated("Die alte Frau ging"))
    assert "<w:i/>" not in body(done) and seen(body(done)).startswith("Die alte Frau ging")
    assert [(one.text, one.lost) for one in report.unsure] == [("The old woman went", True)]
    assert (report.texts, report.translated, report.unchanged) == (2, 2, ())
    assert both(content, "a.docx", upper)[1].unsure == ()


def test_a_link_is_never_lost() -> None:
    link = f'<w:hyperlink r:id="x" xmlns:r="u">{runs(("<w:u/>", "this page"))}</w:hyperlink>'
    content = word(f"<w:p>{runs(('', 'See '))}{link}{runs(('', ' now'))}</w:p>")
    for translate in ALL:
        found = body(translated(content, "a.docx", translate))
        assert found.count("<w:hyperlink") == found.count("</w:hyperlink>") == 1
    assert '<w:rPr><w:u/></w:rPr><w:t xml:space="preserve">this page' in body(translated(content, "a.docx", same))
    found = body(translated(content, "a.docx", upper))
    assert "<w:u/></w:rPr><w:t>THIS PAGE</w:t></w:r></w:hyperlink>" in found


def test_a_link_keeps_its_formatting_though_that_of_the_words_before_it_is_lost() -> None:
    link = f'<w:hyperlink r:id="x" xmlns:r="u">{runs(("<w:b/>", "page"))}</w:hyperlink>'
    content = word(f"<w:p>{runs(('', 'You should now see '), ('<w:b/>', 'the '))}{link}</w:p>")
    found = body(translated(content, "a.docx", lambda _: Translated("Sie sollten jetzt die Seite sehen")))
    outside, _, inside = found.partition("<w:hyperlink")
    assert "<w:b/>" in inside and "<w:b/>" not in outside


def test_fields_stay_but_for_what_contents_and_links_show() -> None:
    content = word(
        f"<w:p>{runs(('', 'On page '))}{field('PAGEREF _x', '7 pages')}{runs(('', ' of it'))}</w:p>"
        f"<w:p>{field('HYPERLINK x', 'linked words')}</w:p>"
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC \\o</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{runs(("", "Chapter one"))}<w:r><w:tab/></w:r>'
        f"{field('PAGEREF _y', '3 no')}</w:p>"
        f"<w:p>{runs(('', 'Chapter two'))}<w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>DATE</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{runs(("", "not this"))}</w:p>'
        f"<w:p>{runs(('', 'nor this'))}<w:r><w:fldChar w:fldCharType='end'/></w:r>{runs(('', 'but this'))}</w:p>"
    )
    assert texts(content, "a.docx") == ["On page of it", "linked words", "Chapter one", "Chapter two", "but this"]
    found = body(translated(content, "a.docx", upper))
    assert seen(found).split("\n") == [
        "ON PAGE  PAGEREF _x 7 pages OF IT", " HYPERLINK x LINKED WORDS", "TOC \\oCHAPTER ONE PAGEREF _y 3 no",
        "CHAPTER TWO", "DATEnot this", "nor thisBUT THIS",
    ]  # fmt: skip
    assert re.findall("fldCharType=.(.*?).[/']", found) == re.findall("fldCharType=.(.*?).[/']", body(content))
    assert kept(content, "a.docx") == {"field": 3}


def test_a_field_without_an_end_is_no_longer_than_its_paragraph() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    content = f"<w:p>{runs(('', 'Words'))}{begin}{runs(('', 'code'))}</w:p>{paragraph(('', 'More words'))}"
    assert texts(word(content), "a.docx") == ["Words", "More words"]
    assert body(translated(word(content), "a.docx")) == content


def test_an_emoji_has_its_spaces() -> None:
    """Word writes one as a symbol with an alternative."""
    space = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    choice = '<mc:Choice Requires="w16se"><x/></mc:Choice><mc:Fallback><w:t>😊</w:t></mc:Fallback>'
    sign = f"<w:r><mc:AlternateContent {space}>{choice}</mc:AlternateContent></w:r>"
    found = body(translated(word(f"<w:p>{runs(('', 'I like '))}{sign}{runs(('', ' it'))}</w:p>"), "a.docx", upper))
    assert seen(found) == "I LIKE 😊 IT"


def test_what_is_not_text_stays() -> None:
    paragraphs = (
        f"<w:p>{runs(('<w:vanish/>', 'hidden words'))}</w:p>",
        '<w:p><w:pPr><w:pStyle w:val="Source Code"/></w:pPr><w:r><w:t>int main</w:t></w:r></w:p>',
        "<w:p><w:del><w:r><w:delText>old words</w:delText></w:r></w:del></w:p>",
        '<w:p><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:t>sin x</m:t>'
        "</m:oMath></w:p>",
        "<w:p><w:fldSimple w:instr='AUTHOR'><w:r><w:t>Kim Regard</w:t></w:r></w:fldSimple></w:p>",
        f"<w:p>{runs(('', '12 + 34 = 46'))}</w:p>",
    )
    content = word("".join(paragraphs))
    assert texts(content, "a.docx") == []
    assert body(translated(content, "a.docx", upper)) == "".join(paragraphs)
    assert kept(content, "a.docx") == {"hidden text": 1, "code": 1, "formula": 1, "field": 1}


def test_text_boxes_notes_and_alternative_texts_inside_of_a_sentence() -> None:
    box = (
        '<w:r><w:drawing><wp:docPr xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        f" id='1' name='n' descr=\"It's a &lt;tree&gt;\"/><w:txbxContent><w:p>{runs(('', 'in the box'))}</w:p>"
        "</w:txbxContent></w:drawing></w:r>"
    )
    note = "<w:r><w:rPr><w:rStyle w:val='N'/></w:rPr><w:footnoteReference w:id='2'/></w:r>"
    notes = f"<w:footnotes {WORD}><w:footnote w:id='2'><w:p>{runs(('', 'a note'))}</w:p></w:footnote></w:footnotes>"
    content = word(f"<w:p>{runs(('', 'Red '))}{box}{note}{runs(('', 'apples'))}</w:p>", footnotes=notes)
    assert texts(content, "a.docx") == ["Red apples", "It's a <tree>", "in the box", "a note"]
    assert members(translated(content, "a.docx")) == members(content)
    found = translated(content, "a.docx", upper)
    assert 'descr="IT&#x27;S A &lt;TREE&gt;"' in body(found) and "IN THE BOX" in body(found)
    assert body(found).count("<w:drawing>") == body(found).count("<w:footnoteReference") == 1
    assert b"A NOTE" in members(found)["word/footnotes.xml"]


PICTURES = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"


@pytest.mark.parametrize("picture", ["<w:object/>", f'<w:drawing><p:inline xmlns:p="{PICTURES}"/></w:drawing>'])
def test_a_picture_in_the_line_has_its_spaces(picture: str) -> None:
    content = word(f"<w:p>{runs(('', 'Let '))}<w:r>{picture}</w:r>{runs(('', ' be.'))}</w:p>")
    found = body(translated(content, "a.docx", upper))
    assert re.sub(r"</?w:[rt]\b[^>]*>|</?w:p>", "", found) == f"LET {picture} BE."


def test_a_sentence_looks_like_the_words_outside_of_its_links() -> None:
    """However long the link is: no space before it is underlined, and no word that left it is blue."""
    link = f"<w:hyperlink>{runs(('<w:color/>', 'a very long name of a page'))}</w:hyperlink>"
    content = word(f"<w:p>{runs(('', 'See '))}{link}{runs(('', ' now.'))}</w:p>")
    for translate in (upper, backwards):
        found = body(translated(content, "a.docx", translate))
        assert found.count("<w:color/>") == 1 and re.search("<w:hyperlink><w:r[^>]*><w:rPr><w:color/>", found)


def test_right_to_left() -> None:
    content = word(
        f"<w:p><w:pPr><w:keepNext/><w:spacing w:after='0'/></w:pPr>{runs(('<w:b/><w:lang/>', 'Words'))}</w:p>"
        f"<w:p>{runs(('', 'More words'))}</w:p>"
    )
    found = body(translated(content, "a.docx", upper, "he"))
    assert "<w:pPr><w:keepNext/><w:bidi/><w:spacing w:after='0'/></w:pPr>" in found
    assert "<w:rPr><w:b/><w:bCs/><w:rtl/><w:lang/></w:rPr>" in found
    assert '<w:p><w:pPr><w:bidi/></w:pPr><w:r w:rsidR="00"><w:rPr><w:rtl/></w:rPr>' in found
    assert "bidi" not in body(translated(content, "a.docx", upper, "ko"))
    table = "<w:tbl><w:tblPr><w:tblStyle w:val='x'/><w:tblW/></w:tblPr></w:tbl>"
    assert "<w:tblStyle w:val='x'/><w:bidiVisual/><w:tblW/>" in body(translated(word(table), "a.docx", upper, "fa"))


def test_a_direction_that_is_off_is_turned_on() -> None:
    """Google Docs says of every run and table that it is not from the right."""
    table = '<w:tbl><w:tblPr><w:bidiVisual w:val="0"/><w:tblW/></w:tblPr></w:tbl>'
    words = runs(('<w:b/><w:rtl w:val="0"/>', "Words"))
    one = f'<w:p><w:pPr><w:bidi w:val="0"/><w:jc/></w:pPr>{words}</w:p>'
    code = f'<w:p><w:pPr><w:pStyle w:val="Code"/><w:bidi w:val="0"/></w:pPr>{runs(("", "x = y"))}</w:p>'
    found = body(translated(word(one + table + code), "a.docx", upper, "ar"))
    assert "<w:pPr><w:bidi/><w:jc/></w:pPr>" in found and "<w:rPr><w:b/><w:bCs/><w:rtl/></w:rPr>" in found
    assert "<w:tblPr><w:bidiVisual/><w:tblW/>" in found
    assert code in found
    assert 'w:rtl w:val="0"' in body(translated(word(one), "a.docx", upper, "de"))


def test_runs_that_differ_by_what_cannot_be_seen_are_joined() -> None:
    """Word marks each change between Korean and Latin letters, and who changed the formatting of a run."""
    change = '<w:rPrChange w:id="5" w:author="x"><w:rPr><w:i/></w:rPr></w:rPrChange>'
    given = (("", "Word "), ("<w:rFonts w:hint='eastAsia'/>", "문서"), ("<w:rFonts/>", " of "), (change, "mine"))
    (segment,) = open_document(word(paragraph(*given)), "a.docx").segments
    assert (segment.text, segment.marks) == ("Word 문서 of mine", ())
    font = "<w:rFonts w:eastAsia='Batang'{}/>"
    bold = ((font.format(" w:hint='eastAsia'"), "문서"), (font.format(""), " of mine"))
    assert open_document(word(paragraph(*bold)), "a.docx").segments[0].marks == ()


def test_a_control_shows_its_translation_and_not_what_it_is_bound_to() -> None:
    """Word fills a control that is bound to the title with the title again, when it opens the file."""
    bound = "<w:sdt><w:sdtPr><w:alias w:val='Title'/><w:dataBinding w:xpath='/x' w:storeItemID='{6}'/></w:sdtPr>"
    content = word(f"{bound}<w:sdtContent>{paragraph(('', 'The title'))}</w:sdtContent></w:sdt>")
    assert body(translated(content, "a.docx")) == body(content)
    for target in ("de", "he"):
        found = body(translated(content, "a.docx", upper, target))
        assert "<w:sdtPr><w:alias w:val='Title'/></w:sdtPr>" in found and "THE TITLE" in found


def test_a_watermark_is_text() -> None:
    space = 'xmlns:v="urn:schemas-microsoft-com:vml"'
    shape = (
        f'<w:pict><v:shape {space} alt="A seal"><v:textpath style="x" string="Draft &amp; more"/></v:shape></w:pict>'
    )
    content = word(f"<w:p><w:r>{shape}</w:r></w:p>")
    assert texts(content, "a.docx") == ["A seal", "Draft & more"]
    assert 'string="DRAFT &amp; MORE"' in body(translated(content, "a.docx", upper))


def test_a_part_may_have_the_type_of_its_ending() -> None:
    given = members(word(paragraph(("", "Some words"))))
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    given["[Content_Types].xml"] = TYPES.format(f'<Default Extension="XML" ContentType="{kind}"/>').encode()
    assert texts(zipped(given), "a.docx") == ["Some words"]


def test_formatting_of_scripts_from_the_right_has_names_of_its_own() -> None:
    """Word shows Arabic and Hebrew in bold by w:bCs alone; what a file says of them stays."""
    look = '<w:b w:val="1"/><w:i/><w:iCs w:val="0"/><w:color/><w:sz w:val="28"/>'
    wanted = (
        '<w:b w:val="1"/><w:bCs w:val="1"/><w:i/><w:iCs w:val="0"/><w:color/><w:sz w:val="28"/><w:szCs w:val="28"/>'
    )
    styles = f"<w:styles {WORD}><w:style><w:rPr>{look}</w:rPr></w:style></w:styles>"
    content = word(f"<w:p>{runs((look, 'Words'))}</w:p>", styles=styles)
    for target, found in (("ar", wanted), ("he", wanted), ("de", look)):
        made = members(translated(content, "a.docx", upper, target))
        assert f"<w:rPr>{found}" in made["word/document.xml"].decode()
        assert f"<w:rPr>{found}</w:rPr>" in made["word/styles.xml"].decode()


def test_korean_has_a_font() -> None:
    styles = (
        f"<w:styles {WORD}><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii='A' w:eastAsiaTheme='minorEastAsia'/>"
        "<w:lang w:val='en-US' w:eastAsia='en-US'/></w:rPr></w:rPrDefault></w:docDefaults></w:styles>"
    )
    found = members(translated(word("", styles=styles), "a.docx", same, "ko"))["word/styles.xml"].decode()
    assert "<w:rFonts w:ascii='A' w:eastAsia=\"Malgun Gothic\"/><w:lang w:val='en-US' w:eastAsia=\"ko-KR\"/>" in found
    assert members(translated(word("", styles=styles), "a.docx"))["word/styles.xml"] == styles.encode()


def test_another_prefix_and_the_strict_form() -> None:
    content = members(word(f"<w:p>{runs(('', 'Some '), ('<w:b/>', 'words'))}</w:p>"))
    document = content["word/document.xml"].decode()
    strict = document.replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    for other in (strict, re.sub(r"\bw:(?!=)", "ns0:", document).replace("xmlns:w=", "xmlns:ns0=")):
        found = members(translated(zipped({**content, "word/document.xml": other}), "a.docx", upper))
        text = found["word/document.xml"].decode()
        assert "SOME" in text and "WORDS" in text
        ElementTree.fromstring(text)


def test_signed_and_encrypted_documents_are_refused() -> None:
    signed = zipped({**members(word("")), "_xmlsignatures/sig1.xml": "<x/>"})
    with pytest.raises(UserError, match="is signed"):
        texts(signed, "a.docx")
    with pytest.raises(UserError, match="is encrypted"):
        texts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.docx")


def test_a_format_by_another_name_is_refused() -> None:
    for read in (texts, lambda content, name: translated(content, name, bilingual=True)):
        with pytest.raises(UserError, match="a.xlsx: is a .docx by another name; rename it"):
            read(word(paragraph(("", "Some words"))), "a.xlsx")


def test_side_by_side() -> None:
    section = f"<w:p><w:pPr><w:sectPr/></w:pPr>{runs(('', 'Last words'))}</w:p>"
    mark = "<w:bookmarkStart w:id='1' w:name='x'/><w:bookmarkEnd w:id='1'/>"
    table = f"<w:tbl><w:tr><w:tc>{paragraph(('', 'cell'))}</w:tc></w:tr></w:tbl>"
    content = word(f"<w:p>{mark}{runs(('', 'Red apples'))}</w:p>{paragraph(('', '42'))}{table}{section}")
    found = body(translated(content, "a.docx", upper, bilingual=True))
    assert found.count("<w:tbl>") == 3 and found.count("w:name='x'") == 1
    assert re.findall(r"<w:t\b[^>]*>(.*?)</w:t>", found) == [
        "Red apples", "RED APPLES", "42", "cell", "CELL", "LAST WORDS",
    ]  # fmt: skip
    ElementTree.fromstring(f"<x {WORD}>{found}</x>")


def test_a_copy_beside_a_translation_does_not_count() -> None:
    """Whether the number is a paragraph's own, its style's, or that of the style which this one is based on."""
    number = "<w:numPr><w:numId w:val='3'/></w:numPr>"
    styles = (
        f"<w:styles {WORD}><w:style w:styleId='L'><w:pPr>{number}</w:pPr></w:style><w:style w:styleId='M'>"
        "<w:basedOn w:val='L'/></w:style><w:style w:styleId='N'/></w:styles>"
    )
    given = ["<w:pStyle w:val='L'/><w:jc/>", "<w:pStyle w:val='M'/>", f"<w:pStyle w:val='N'/>{number}", number]
    plain = ["<w:pStyle w:val='N'/><w:jc/>", "<w:jc/>"]
    content = "".join(f"<w:p><w:pPr>{one}</w:pPr>{runs(('', 'Red apples'))}</w:p>" for one in given + plain)
    found = body(translated(word(content, styles=styles), "a.docx", upper, bilingual=True))
    properties = re.findall(r"<w:pPr>(.*?)</w:pPr>", found)  # of each source, and of its translation beside it
    off = '<w:numPr><w:numId w:val="0"/></w:numPr>'
    assert properties[::2] == [
        f"<w:pStyle w:val='L'/>{off}<w:jc/>", f"<w:pStyle w:val='M'/>{off}", f"<w:pStyle w:val='N'/>{off}", off, *plain
    ]  # fmt: skip
    assert properties[1::2] == given + plain


def test_a_document_of_another_program(made_docx: bytes) -> None:
    docx = pytest.importorskip("docx")
    assert sorted(texts(made_docx, "a.docx")) == sorted(
        ["The garden", "Hello brave new world, 안녕하세요 👩\u200d👧 שלום.", "one", "two", "three", "Cell <A> & b",
         "The header", "The footer", "A remark"]
    )  # fmt: skip
    assert members(translated(made_docx, "a.docx")) == members(made_docx)
    assert compressions(translated(made_docx, "a.docx")) == compressions(made_docx)
    found = docx.Document(io.BytesIO(translated(made_docx, "a.docx", upper)))
    assert [one.text for one in found.paragraphs] == [
        "THE GARDEN", "HELLO BRAVE NEW WORLD, 안녕하세요 👩\u200d👧 שלום.", "ONE\tTWO\nTHREE",
    ]  # fmt: skip
    assert [one.bold for one in found.paragraphs[1].runs][:3] == [None, True, None]
    assert found.tables[0].cell(0, 0).text == "CELL <A> & B"


@every
def test_any_translation_is_a_document(made_docx: bytes, translate: Translate) -> None:
    docx = pytest.importorskip("docx")
    for target in (None, "ar", "ko"):
        docx.Document(io.BytesIO(translated(made_docx, "a.docx", translate, target)))


LOOKS = st.sampled_from(["", "<w:b/>", "<w:i/>", "<w:vanish/>", "<w:lang w:val='x'/>"])
TEXT = st.text(st.sampled_from("ab é안다\u0301👩\u200dש.<&\t"), max_size=8).map(
    lambda text: text.replace("&", "&amp;").replace("<", "&lt;")
)
INLINE = st.recursive(
    st.one_of(
        st.builds(lambda look, text: runs((look, text)), LOOKS, TEXT),
        st.sampled_from([
            "<w:bookmarkStart w:id='1'/>", "<w:r><w:tab/></w:r>", "<w:r/>", "<w:proofErr/>", "<!-- x -->",
            "<w:r><w:t>a</w:t><w:br/><w:t>b c</w:t><w:drawing/></w:r>", field("PAGE", "7 x"), field("HYPERLINK", "x y"),
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>', '<w:r><w:fldChar w:fldCharType="end"/></w:r>', "\n ",
            f"<w:r><w:txbxContent><w:p>{runs(('', 'a box'))}</w:p></w:txbxContent></w:r>",
        ]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5).map("".join),
        inner.map(lambda text: f"<w:hyperlink>{text}</w:hyperlink>"),
        inner.map(lambda text: f"<w:sdt><w:sdtPr/><w:sdtContent>{text}</w:sdtContent></w:sdt>"),
    ),
    max_leaves=8,
)  # fmt: skip


def skeleton(text: str) -> list[str]:
    """Every element in order, but for those that runs are made of."""
    return re.findall(r"</?w:(?!(?:r|rPr|b|bCs|i|iCs|lang|t|proofErr|p|rtl|pPr|bidi)\b)[^>]*>", text)


@settings(max_examples=40, deadline=None)
@given(st.lists(INLINE, max_size=3), st.sampled_from(ALL), st.sampled_from([None, "ar"]))
def test_any_paragraphs(paragraphs: list[str], translate: Translate, target: str | None) -> None:
    content = word("".join(f"<w:p>{text}</w:p>" for text in paragraphs))
    assert members(translated(content, "a.docx")) == members(content)
    found = body(translated(content, "a.docx", translate, target))
    ElementTree.fromstring(f"<x {WORD}>{found}</x>")
    assert skeleton(found) == skeleton(body(content))
    outside = re.sub(r"<w:t\b[^>]*>[^<]*</w:t>|<w:instrText.*?</w:instrText>|<!--.*?-->|<[^>]*>", "", found)
    assert not outside.strip(), "a text stands in its element, and that in a run"
