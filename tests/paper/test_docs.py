"""The paper beside the code: the snippets print what the page shows, in both languages, and what it names is there."""

import ast
import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("paper.md", "paper.ko.md")


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def snippets(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text(page), re.DOTALL | re.MULTILINE)


def test_snippets_print_what_the_page_shows() -> None:
    session = doctest.DocTestParser().get_doctest("\n".join(snippets(PAGES[0])), {}, PAGES[0], PAGES[0], 0)
    assert len(session.examples) > 80
    told: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(session, out=told.append)
    assert outcome.failed == 0, "".join(told)


def test_both_languages_show_the_same_snippets_and_pictures() -> None:
    assert snippets(PAGES[0]) == snippets(PAGES[1])
    headings, pictures, links = (
        [re.findall(pattern, text(page), re.MULTILINE) for page in PAGES]
        for pattern in (r"^## ([\d.]*)", r"!\[.*?\]\((.*?)\)", r"\[`.*?`\]\(.*?\)")
    )
    assert headings[0] == headings[1]
    assert pictures[0] == pictures[1]
    assert sorted(links[0]) == sorted(links[1])


@pytest.mark.parametrize("page", PAGES)
def test_every_function_and_picture_that_the_page_names_is_there(page: str) -> None:
    links = re.findall(r"\[`(\w+)`\]\((.*?\.py)\)", text(page))
    assert len(links) > 25
    for name, path in links:
        module = ast.parse((DOCS / path).read_text(encoding="utf-8"))
        defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert name in defined, f"{page}: {path} has no {name}"
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text(page)):
        assert 0 < (DOCS / picture).stat().st_size < 100_000


@pytest.mark.parametrize("page", PAGES)
def test_every_section_of_the_paper_is_there(page: str) -> None:
    sections = re.findall(r"^## ([\d.]+)", text(page), re.MULTILINE)
    assert " ".join(sections) == "3.1 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 4 5.1 5.2 5.3 5.4 6.1 6.2 6.3"
