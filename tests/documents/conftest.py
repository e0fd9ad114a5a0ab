"""Documents as other programs write them."""

import io

import pytest


@pytest.fixture(scope="module")
def made_docx() -> bytes:
    """A document as python-docx writes it."""
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("The garden", 0)
    paragraph = document.add_paragraph("Hello ")
    paragraph.add_run("brave").bold = True
    paragraph.add_run(" new world, 안녕하세요 👩\u200d👧 שלום.")
    document.add_paragraph("one\ttwo\nthree", style="List Bullet")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "Cell <A> & b", "42"
    section = document.sections[0]
    section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "The header", "The footer"
    document.add_comment(paragraph.runs, "A remark", author="x")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def made_pptx() -> bytes:
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


@pytest.fixture(scope="module")
def made_xlsx() -> bytes:
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
