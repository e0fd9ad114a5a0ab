import time

import pytest
from hypothesis import given, settings
from tests.support.texts import any_text

from regard.text.protected.spans import KINDS, find_spans


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.kind) for span in find_spans(text)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (
            "Send 12,450.75 euros to anna@example.com, see https://example.org/a?b=1 🎉",
            [
                ("12,450.75", "number"),
                ("anna@example.com", "email"),
                ("https://example.org/a?b=1", "url"),
                ("🎉", "emoji"),
            ],
        ),
        ("(see http://a.example/b_(c)).", [("http://a.example/b_(c)", "url")]),
        ("https://example.org/a를 보세요.", [("https://example.org/a", "url")]),
        ("https://ko.wikipedia.org/wiki/한국 참고", [("https://ko.wikipedia.org/wiki/한국", "url")]),
        ("انظر https://example.org/ar الآن", [("https://example.org/ar", "url")]),
        ("Visit example.com.", [("example.com", "url")]),
        ("Edit /etc/hosts or C:\\Temp\\a.txt.", [("/etc/hosts", "path"), ("C:\\Temp\\a.txt", "path")]),
        ("Open report.pdf and src/main.py now", [("report.pdf", "path"), ("src/main.py", "path")]),
        ("Run `make test` with --fast", [("`make test`", "code"), ("--fast", "code")]),
        ("max_length, getUser() and iPhone", [("max_length", "code"), ("getUser()", "code"), ("iPhone", "code")]),
        (
            "%s %1$d %(name)s {0} {{name}} ${x} %d%%",
            [(one, "placeholder") for one in ["%s", "%1$d", "%(name)s", "{0}", "{{name}}", "${x}", "%d"]],
        ),
        ("Click <b>Save</b> or <filename>", [("<b>", "tag"), ("</b>", "tag"), ("<filename>", "placeholder")]),
        ("<x>a</x>", [("<x>", "tag"), ("</x>", "tag")]),
        ("5 km, 20 °C, 12.5%, $19.99", [(one, "number") for one in ("5 km", "20 °C", "12.5%", "$19.99")]),
        ("3개월 2024년", [("3", "number"), ("2024", "number")]),
        ("👩‍👩‍👧 🇰🇷 👍🏽 ❤️", [("👩‍👩‍👧 🇰🇷 👍🏽 ❤️", "emoji")]),
        ("나는 😀 e\u0301 🏳️‍🌈", [("😀", "emoji"), ("🏳️‍🌈", "emoji")]),
        ("see you :-)", [(":-)", "emoji")]),
        ("\ue000 and \uf8ff", [("\ue000", "emoji"), ("\uf8ff", "emoji")]),
    ],
)
def test_spans_are_found(text: str, spans: list[tuple[str, str]]) -> None:
    assert found(text) == spans


@pytest.mark.parametrize(
    "text",
    [
        "Where is the station?",
        "and/or, e.g. the U.S. and a.m. or p.m.",
        "at 5 p.m. on the 31st, in the 90s",
        "a < b and c > d",
        "오늘 날씨가 좋네요.",
        "مرحبا بالعالم",
        "It's a well-known mother-in-law: yes (no)!",
        "",
    ],
)
def test_ordinary_text_has_none(text: str) -> None:
    assert found(text) == []


@settings(max_examples=300, deadline=None)
@given(any_text)
def test_spans_are_in_order_and_inside(text: str) -> None:
    spans = find_spans(text)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges) and all(span.start < span.end <= len(text) for span in spans)
    assert {span.kind for span in spans} <= set(KINDS)


@pytest.mark.parametrize(
    "unit", ["a.", "/", "<a ", "{", "1,", "`", "A1-", "www.", "<a b=c ", "a/", "a_", "😀 ", "a@b", "[["]
)
def test_time_is_linear(unit: str) -> None:
    """Doubling a hostile text about doubles the time; quadratic time would need minutes here."""
    began = time.process_time()
    find_spans(unit * 20_000)
    assert time.process_time() - began < 10
