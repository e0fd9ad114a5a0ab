"""The demo's page: whole, self-contained, and safe with any text."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from regard.demo.dates import DateExample
from regard.demo.demo_page import Findings, page
from regard.demo.lesson import Answered, Drawn

HOSTILE = "<script>alert('년')</script> & \"שלום\" e\u0301 🙂"
VOID = {"meta", "br", "img", "input", "link"}


@pytest.fixture
def found() -> Findings:
    right, wrong = (
        DateExample("2025년 5월 3일", "2025-05-03", "Korean"),
        DateExample("3 May 2025", "2025-05-03", "English"),
    )
    return Findings(
        trained=24_000, dates=0.995, formats=0.5, held_out=1000, by_language={"Korean": (1.0, 0.25)},
        examples=[Answered(right, "2025-05-03"), Answered(wrong, "2025-03-05")],
        picture=Drawn(["3", "일", "end"], ["0", "3"], [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), pictured="3일",
        loss=[(10, 2.0), (20, 0.5)], exact_match=[(10, 0.0), (20, 0.995)], seconds=123.4,
        commands=[("Again:", "regard demo")],
    )  # fmt: skip


class Reader(HTMLParser):
    """Tags that open and close in order, their attributes, and the text between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_tag_is_closed_and_the_figures_are_there(found: Findings) -> None:
    read = Reader(page(found))
    assert read.open == []
    assert {"99.5%", "50.0%", "123 s", "25.0%"} <= set(re.findall(r"[\d.]+(?:%| s)", read.text))
    assert read.tags.count("svg") == 3
    assert "2025-03-05 is 2025-05-03" in read.text, "a mistake is not hidden"


def test_nothing_is_loaded_and_nothing_runs(found: Findings) -> None:
    html = page(found)
    read = Reader(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "use", "image"} & set(read.tags)
    assert not {"src", "href", "xlink:href", "style", "srcset"} & {name for name, _ in read.attributes}
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert "http:" not in html and "https:" not in html and "url(" not in html and "@import" not in html


def test_the_policy_lets_the_style_pass(found: Findings) -> None:
    import hashlib
    from base64 import b64encode

    html = page(found)
    style = html[html.index("<style>") + 7 : html.index("</style>")]
    assert f"style-src 'sha256-{b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in html


def test_any_text_is_shown_as_text(found: Findings) -> None:
    plain = Reader(page(found))
    hostile = Answered(DateExample(HOSTILE, HOSTILE, "Korean"), HOSTILE + "!")
    picture = Drawn([HOSTILE, "일", "end"], ["0", HOSTILE], found.picture.weights_TS)
    changed = replace(
        found, examples=[hostile], picture=picture, pictured=HOSTILE, commands=[(HOSTILE, HOSTILE)],
        by_language={HOSTILE: (1.0, 1.0)},
    )  # fmt: skip
    read = Reader(page(changed))
    assert read.open == [] and set(read.tags) <= set(plain.tags)
    assert read.text.count(HOSTILE) >= 8
