import io
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import TYPES, compressions, kept, members, texts, translated, zipped
from tests.documents.translators import ALL, Translate, every, upper

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml."


def book(strings: str, sheet: str, hidden: str = "", header: bool = False) -> bytes:
    """A workbook with a sheet, one that is hidden, and a table over A1:B2 whose first row are its headers."""
    names = {"xl/workbook": "sheet.main", "xl/sharedStrings": "sharedStrings", "xl/worksheets/sheet1": "worksheet",
             "xl/worksheets/sheet2": "worksheet", "xl/tables/table1": "table"}  # fmt: skip
    types = "".join(
        f'<Override PartName="/{name}.xml" ContentType="{KIND}{kind}+xml"/>' for name, kind in names.items()
    )
    relations = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
    one = '<Relationship Id="{}" Type="x/{}" Target="{}"/>'
    sheets = '<sheets><sheet name="A b" r:id="r1"/><sheet name="C" state="hidden" r:id="r2"/></sheets>'
    sheet_xml = (
        '<worksheet xmlns="{}"><dimension ref="A1"/><sheetViews><sheetView/></sheetViews>'
        "<sheetData>{}</sheetData></worksheet>"
    )
    found = {
        "[Content_Types].xml": TYPES.format(types),
        "xl/workbook.xml": f'<workbook xmlns="{SPACE}" xmlns:r="{RELATIONS}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": relations.format(
            one.format("r1", "worksheet", "worksheets/sheet1.xml")
            + one.format("r2", "worksheet", "/xl/worksheets/sheet2.xml")
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{SPACE}">{strings}</sst>',
        "xl/worksheets/sheet1.xml": sheet_xml.format(SPACE, sheet),
        "xl/worksheets/sheet2.xml": sheet_xml.format(SPACE, hidden),
        "xl/tables/table1.xml": f'<table xmlns="{SPACE}" ref="A1:B2"/>',
    }
    if header:
        found["xl/worksheets/_rels/sheet1.xml.rels"] = relations.format(
            one.format("t", "table", "../tables/table1.xml")
        )
    return zipped(found)


def row(number: int, *cells: str) -> str:
    return f'<row r="{number}" spans="1:2">{"".join(cells)}</row>'


def shared(place: str, number: int) -> str:
    return f'<c r="{place}" s="3" t="s"><v>{number}</v></c>'


def strings(content: bytes) -> list[str]:
    root = ElementTree.fromstring(members(content)["xl/sharedStrings.xml"])
    return ["".join(one.itertext()) for one in root]


STRINGS = "".join(f"<si><t>{text}</t></si>" for text in ("Red apples", "A name", "Hidden words", "On both", "42"))


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


def test_side_by_side() -> None:
    sheet = row(1, shared("A1", 0), shared("B1", 4)) + row(3, shared("A3", 4), shared("B3", 3))
    found = members(translated(book(STRINGS, sheet), "a.xlsx", upper, bilingual=True))
    text = found["xl/worksheets/sheet1.xml"].decode()
    assert '<c r="C1" s="3" t="inlineStr"><is><t xml:space="preserve">RED APPLES</t></is></c></row>' in text
    assert '<c r="D3" s="3" t="inlineStr"><is><t xml:space="preserve">ON BOTH</t></is></c></row>' in text
    assert "spans=" not in text and "dimension" not in text
    assert b"Red apples" in found["xl/sharedStrings.xml"]


def test_right_to_left() -> None:
    found = members(translated(book(STRINGS, ""), "a.xlsx", upper, "fa"))
    assert b'<sheetView rightToLeft="1"/>' in found["xl/worksheets/sheet1.xml"]


@pytest.fixture(scope="module")
def made() -> bytes:
    """A workbook as openpyxl writes it."""
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.comments import Comment
    from openpyxl.worksheet.table import Table

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for place, value in {
        "A1": "Name",
        "B1": "Amount",
        "A2": "Red apples",
        "B2": 3,
        "A3": "=UPPER(A2)",
        "A4": "안녕",
    }.items():
        sheet[place] = value
    sheet.add_table(Table(displayName="T", ref="A1:B2"))
    sheet.oddHeader.center.text = "Report of &D & more"
    sheet["A2"].comment = Comment("A remark", "me")
    workbook.create_sheet("Hidden")["A1"] = "Hidden words"
    workbook["Hidden"].sheet_state = "hidden"
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def cells(content: bytes) -> list[list[Any]]:
    openpyxl = pytest.importorskip("openpyxl")
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(io.BytesIO(content)).active.iter_rows()]


def test_a_workbook_of_another_program(made: bytes) -> None:
    assert texts(made, "a.xlsx") == ["Red apples", "안녕", "Report of & more", "A remark"]
    assert members(translated(made, "a.xlsx")) == members(made)
    assert compressions(translated(made, "a.xlsx")) == compressions(made)
    found = translated(made, "a.xlsx", upper)
    assert cells(found) == [["Name", "Amount"], ["RED APPLES", 3], ["=UPPER(A2)", None], ["안녕", None]]
    assert b"&amp;CREPORT OF &amp;D &amp;&amp; MORE" in members(found)["xl/worksheets/sheet1.xml"]
    assert cells(translated(made, "a.xlsx", upper, bilingual=True))[1] == ["Red apples", 3, "RED APPLES"]


@every
def test_any_translation_is_a_workbook(made: bytes, translate: Translate) -> None:
    for target, bilingual in ((None, False), ("ar", False), ("ko", True)):
        found = cells(translated(made, "a.xlsx", translate, target, bilingual=bilingual))
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
