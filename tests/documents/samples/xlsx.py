"""A small workbook."""

import io
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.documents.files import TYPES, members, zipped

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


def cells(content: bytes) -> list[list[Any]]:
    openpyxl = pytest.importorskip("openpyxl")
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(io.BytesIO(content)).active.iter_rows()]
