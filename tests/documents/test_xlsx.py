from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import compressions, kept, members, texts, translated, zipped
from tests.documents.samples.xlsx import KIND, SPACE, STRINGS, book, cells, row, shared, strings
from tests.documents.translators import ALL, Translate, every, upper

from regard.documents.segment import Translated


def test_shared_strings_headers_of_tables_and_hidden_sheets() -> None:
    sheet = row(1, shared("A1", 1), shared("B1", 3)) + row(
        2, shared("A2", 0), '<c r="B2" t="str"><f>A2</f><v>as is</v></c>'
    )
    hidden = row(1, shared("A1", 2), shared("B1", 0))
    content = book(STRINGS, sheet, hidden)
    assert texts(content, "a.xlsx") == ["Red apples", "A name", "On both"]
    assert kept(content, "a.xlsx") == {"formula": 1, "hidden sheet's cell": 1}
    tabled = book(STRINGS, sheet, hidden, header=True)
    assert texts(tabled, "a.xlsx") == ["Red apples"]
    assert kept(tabled, "a.xlsx") == {"formula": 1, "hidden sheet's cell": 1, "table header": 2}
    assert strings(translated(tabled, "a.xlsx", upper)) == ["RED APPLES", "A name", "Hidden words", "On both", "42"]


def test_formatting_readings_and_strings_in_cells() -> None:
    rich = '<si><r><t xml:space="preserve">Red </t></r><r><rPr><b/></rPr><t>apples</t></r><rPh><t>no</t></rPh></si>'
    content = book(rich, row(1, '<c r="A1" t="inlineStr"><is><t>in the cell</t></is></c>'))
    assert texts(content, "a.xlsx") == ["Red apples", "in the cell"]
    found = members(translated(content, "a.xlsx", upper))
    assert (
        b"<r><rPr><b/></rPr><t" in found["xl/sharedStrings.xml"]
        and b"<rPh><t>no</t></rPh>" in found["xl/sharedStrings.xml"]
    )
    assert b"<t>IN THE CELL</t>" in found["xl/worksheets/sheet1.xml"]


def test_a_text_that_is_a_cell_s_value() -> None:
    """As some programs write it; with a formula it is the formula's result, which stays."""
    cells = '<c r="A1" t="str"><v>Red &amp; green</v></c><c r="B1" t="str"><f>A1</f><v>Red</v></c><c r="C1" t="str"/>'
    content = book("", row(1, cells))
    assert texts(content, "a.xlsx") == ["Red & green"]
    assert members(translated(content, "a.xlsx")) == members(content)
    found = members(translated(content, "a.xlsx", upper))["xl/worksheets/sheet1.xml"].decode()
    assert '<c r="A1" t="str"><v>RED &amp; GREEN</v></c><c r="B1" t="str"><f>A1</f><v>Red</v></c>' in found


def test_the_lines_of_a_cell_are_texts_of_their_own() -> None:
    """In shared strings, with formatting or without, in the cell, as its value, and in a comment."""
    rich = "<si><r><t>Red_x000D_\n</t></r><r><rPr><b/></rPr><t>green\nblue</t></r><r><t> words</t></r></si>"
    inside = '<c r="A2" t="inlineStr"><is><t>in\nit</t></is></c><c r="B2" t="str"><v>a&amp;b&#10;\ncd</v></c>'
    content = book(f"<si><t>Line one\n \n  &lt;two&gt;&#xD;\n</t></si>{rich}", row(2, inside))
    assert texts(content, "a.xlsx") == ["Line one", "<two>", "Red", "green", "blue words", "in", "it", "a&b", "cd"]
    assert members(translated(content, "a.xlsx")) == members(content)
    made = translated(content, "a.xlsx", upper)
    assert strings(made) == ["LINE ONE\n \n  <TWO>\r\n", "RED_x000D_\nGREEN\nBLUE WORDS"]
    found = members(made)
    assert b">GREEN\nBLUE</t></r><r><t" in found["xl/sharedStrings.xml"]
    assert b"<is><t>IN\nIT</t></is>" in found["xl/worksheets/sheet1.xml"]
    assert b"<v>A&amp;B&#10;\nCD</v>" in found["xl/worksheets/sheet1.xml"]


def test_a_table_s_header_that_is_a_cell_s_value_stays() -> None:
    """Its text must equal the name of the column, wherever it is written, or Excel calls the file damaged."""
    cells = (
        '<c r="A1" t="str"><v>Some name</v></c><c r="B1" t="inlineStr"><is><t>Name</t></is></c>'
        '<c r="C1" t="str"><v>More</v></c>'
    )
    content = book("", row(1, cells), header=True)
    assert texts(content, "a.xlsx") == ["More"]
    assert kept(content, "a.xlsx") == {"table header": 2}


def test_the_names_of_a_pivot_table_s_fields_stay() -> None:
    """Excel drops a field whose name is no longer in the first row of its source."""
    given = members(book(STRINGS, row(1, shared("A1", 0), shared("B1", 1)) + row(2, shared("A2", 3))))
    part = "xl/pivotCache/pivotCacheDefinition1.xml"
    types = given["[Content_Types].xml"].decode()
    override = f'<Override PartName="/{part}" ContentType="{KIND}pivotCacheDefinition+xml"/></Types>'
    source = '<cacheSource type="worksheet"><worksheetSource ref="A1:A9" sheet="{}"/></cacheSource>'
    for sheet, stays in (("A b", 1), ("C", 0)):
        cache = f'<pivotCacheDefinition xmlns="{SPACE}">{source.format(sheet)}</pivotCacheDefinition>'
        content = {**given, "[Content_Types].xml": types.replace("</Types>", override), part: cache}
        assert kept(zipped(content), "a.xlsx").get("table header", 0) == stays


def test_all_cells_that_a_formula_fills_stay() -> None:
    first = '<c r="A1" t="str"><f t="array" ref="A1:A2">X1:X2</f><v>Red</v></c><c r="B1" t="str"><v>Green</v></c>'
    content = book("", row(1, first) + row(2, '<c r="A2" t="str"><v>Blue</v></c><c r="B2" t="str"><v>Grey</v></c>'))
    assert texts(content, "a.xlsx") == ["Green", "Grey"]


def test_side_by_side() -> None:
    sheet = row(1, shared("A1", 0), shared("B1", 4)) + row(3, shared("A3", 4), shared("B3", 3))
    found = members(translated(book(STRINGS, sheet), "a.xlsx", upper, bilingual=True))
    text = found["xl/worksheets/sheet1.xml"].decode()
    assert '<c r="C1" s="3" t="inlineStr"><is><t xml:space="preserve">RED APPLES</t></is></c></row>' in text
    assert '<c r="D3" s="3" t="inlineStr"><is><t xml:space="preserve">ON BOTH</t></is></c></row>' in text
    assert "spans=" not in text and "dimension" not in text
    assert b"Red apples" in found["xl/sharedStrings.xml"]


def test_headers_and_footers_keep_the_spelling_of_their_codes() -> None:
    code = "&amp;&quot;Times New Roman,Normal&quot;&amp;12"
    line = f"&amp;C{code}사과 &#38;&amp; &quot;apples&quot;&amp;A&amp;RPage &amp;P"
    content = book(STRINGS, f"<sheetData/><headerFooter><oddHeader>{line}</oddHeader></headerFooter>")
    assert members(translated(content, "a.xlsx")) == members(content)
    made = members(translated(content, "a.xlsx", upper))["xl/worksheets/sheet1.xml"].decode()
    assert f"{code}사과" in made and "APPLES" in made and "PAGE &amp;P" in made


def test_a_header_too_long_for_excel_stays() -> None:
    short, long = "&amp;LRed apples", "&amp;RWords &amp;amp; more" + " of them" * 20
    lines = f"<oddHeader>{short}</oddHeader><oddFooter>{long}</oddFooter>"
    content = book(STRINGS, f"<sheetData/><headerFooter>{lines}</headerFooter>")
    for target in ("de", "he"):
        made = translated(content, "a.xlsx", lambda text: Translated(f"{text} {text}"), target)
        found = members(made)["xl/worksheets/sheet1.xml"].decode()
        assert f"<oddHeader>{short} Red apples</oddHeader><oddFooter>{long}</oddFooter>" in found


def test_right_to_left() -> None:
    found = members(translated(book(STRINGS, ""), "a.xlsx", upper, "fa"))
    assert b'<sheetView rightToLeft="1"/>' in found["xl/worksheets/sheet1.xml"]


def test_a_workbook_of_another_program(made_xlsx: bytes) -> None:
    assert texts(made_xlsx, "a.xlsx") == ["Red apples", "안녕", "Report of & more", "A remark"]
    assert members(translated(made_xlsx, "a.xlsx")) == members(made_xlsx)
    assert compressions(translated(made_xlsx, "a.xlsx")) == compressions(made_xlsx)
    found = translated(made_xlsx, "a.xlsx", upper)
    assert cells(found) == [["Name", "Amount"], ["RED APPLES", 3], ["=UPPER(A2)", None], ["안녕", None]]
    assert b"&amp;CREPORT OF &amp;D &amp;&amp; MORE" in members(found)["xl/worksheets/sheet1.xml"]
    assert cells(translated(made_xlsx, "a.xlsx", upper, bilingual=True))[1] == ["Red apples", 3, "RED APPLES"]


@every
def test_any_translation_is_a_workbook(made_xlsx: bytes, translate: Translate) -> None:
    for target, bilingual in ((None, False), ("ar", False), ("ko", True)):
        found = cells(translated(made_xlsx, "a.xlsx", translate, target, bilingual=bilingual))
        assert found[0][:2] == ["Name", "Amount"] and found[2][0] == "=UPPER(A2)"


RUN = st.builds(
    lambda look, text: f"<r>{look}<t>{text}</t></r>",
    st.sampled_from(["", "<rPr><b/></rPr>", "<rPr><i/></rPr>"]),
    st.text(st.sampled_from("ab é안\u0301👩\u200dש. "), max_size=8),
)
STRING = st.one_of(st.lists(RUN, max_size=4).map("".join), st.sampled_from(["<t>a b</t>", "<t/>", ""]))


@settings(max_examples=40, deadline=None)
@given(st.lists(STRING, max_size=4), st.sampled_from(ALL))
def test_any_strings(given_strings: list[str], translate: Translate) -> None:
    content = book("".join(f"<si>{text}</si>" for text in given_strings), "")
    assert members(translated(content, "a.xlsx")) == members(content)
    assert len(strings(translated(content, "a.xlsx", translate))) == len(given_strings)
