import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.translators import Translate, every, rebuilt, same, texts, upper
from tests.support.texts import any_text

from regard.documents.markdown import pieces
from regard.documents.segment import Translated

NOTES = """---
title: Not this
---

# A heading #

Some *soft* and **strong words**, a [link](http://x.org/a_(b) "t") and `code`
that go on. See <https://example.org> or https://example.org/a_b.\\
New line with ![a picture](p.png) and [a reference][ref] or [ref].

- one
  - [ ] two
    goes on

    and on
1. 첫째 & 둘째

> quoted
> text

    indented code

```python
print("**no**")
```

| Name | `x|y` |
|:-----|---|
| red car | 5 \\| 6 |

Under
=====

<div translate="no">stay</div>
<p>go <b>on</b></p>

***

A note.[^1]

[^1]: Its text.
[ref]: http://y.org "Title"
"""


def test_what_is_translated() -> None:
    assert texts(pieces(NOTES)) == [
        "A heading",
        "Some soft and strong words, a link and that go on. See or.",
        "New line with and a reference or.",
        "one",
        "two goes on",
        "and on",
        "첫째 & 둘째",
        "quoted text",
        "Name",
        "red car",
        "Under",
        "go on",
        "A note.",
        "Its text.",
    ]


def test_notes_in_capitals() -> None:
    found = rebuilt(pieces(NOTES), upper)
    for line in (
        "# A HEADING #",
        'SOME *SOFT* AND **STRONG WORDS**, A [LINK](http://x.org/a_(b) "t") AND `code` THAT GO ON. '
        "SEE <https://example.org> OR https://example.org/a_b.\\",
        "NEW LINE WITH ![a picture](p.png) AND [A REFERENCE][ref] OR [ref].",
        "  - [ ] TWO GOES ON",
        "    AND ON",
        "> QUOTED TEXT",
        "    indented code",
        'print("**no**")',
        "| NAME | `x|y` |",
        "| RED CAR | 5 \\| 6 |",
        '<div translate="no">stay</div>',
        "<p>GO <b>ON</b></p>",
        "A NOTE.[^1]",
        "[^1]: ITS TEXT.",
        '[ref]: http://y.org "Title"',
    ):
        assert line in found.split("\n"), line


def test_emphasis() -> None:
    for line in (
        "***both***",
        "**strong *and soft***",
        "*soft **and strong***",
        "~~gone~~ snake_case _so_ 5 * 3 a * b",
    ):
        assert rebuilt(pieces(line), upper).replace("\\", "") == line.upper()
    assert texts(pieces("a **b and *c")) == ["a **b and *c"]


def test_a_translation_makes_no_structure() -> None:
    for text in ("# x", "- x", "1. x", "> x", "+ x", "* x", "``` x", "<div>", "[a](b)", "a *b* _c_", "| x", "=== x"):
        found = rebuilt(pieces("word\n"), lambda _, text=text: Translated(text))  # type: ignore[misc]
        assert texts(pieces(found)) == [text], found


def structure(notes: str) -> list[str]:
    return re.findall(r"```[^`]*```|`[^`\n]+`|\]\([^()\s]*\)|^#+ |^- |^> |^\|.*-\|$", notes, re.MULTILINE)


BLOCKS = [
    "# Heading",
    "- item one",
    "> said so",
    "plain 한국어 text.",
    "a **strong** and `code x` here",
    "see [the link](http://x.org) now",
    "```\nkeep **this**\n```",
    "| a | b |\n|---|---|\n| c | d |",
    "שלום e\u0301 👩\u200d👧",
]


@every
@settings(deadline=None)
@given(blocks=st.lists(st.sampled_from(BLOCKS), max_size=6))
def test_code_addresses_and_blocks_stay(translate: Translate, blocks: list[str]) -> None:
    notes = "\n\n".join(blocks)
    found = rebuilt(pieces(notes), translate)
    assert structure(re.sub(r"\\.", "", found)) == structure(notes)
    assert len(re.split(r"\n\n+", found)) == len(re.split(r"\n\n+", notes))


signs = st.text(st.sampled_from("*_`~[]()!<>#-+|\\ \n\t1.a한:&;="), max_size=40)


@settings(deadline=None)
@given(st.one_of(signs, any_text))
def test_nothing_is_lost(notes: str) -> None:
    assert rebuilt(pieces(notes), same) == notes
    rebuilt(pieces(notes), upper)


def test_time_is_linear() -> None:
    for notes in (
        "[" * 20_000,
        "*a " * 20_000,
        "`" * 20_000,
        "`a" * 20_001,
        "> " * 20_000,
        "<a " * 20_000,
        "![" * 20_000,
        "# x" + " " * 200_000 + "y",
        "- " + " " * 200_000 + "x",
        "x|\n" + " " * 200_000 + "x|",
        "x|\n-" + " " * 200_000 + "x|",
        "*a " * 40_000 + "[b](c) " * 40_000,
        "a".join("`" * length for length in range(1_500)),
    ):
        assert rebuilt(pieces(notes), same) == notes


@pytest.mark.parametrize(
    ("heading", "said"),
    [("# a #", "a"), ("## a ##  ", "a"), ("# a #b", "a #b"), ("# C#", "C#"), ("#\t a \t##", "a"), ("# a # #", "a #")],
)
def test_a_heading_may_be_closed(heading: str, said: str) -> None:
    assert texts(pieces(f"{heading}\n")) == [said]
    assert rebuilt(pieces(f"{heading}\n"), upper) == f"{heading.upper()}\n"


def test_the_id_of_a_heading_stays() -> None:
    assert rebuilt(pieces("# A garden {#garden .big}\n"), upper) == "# A GARDEN {#garden .big}\n"
    assert rebuilt(pieces("## a *tree* {: #x }\n"), upper) == "## A *TREE* {: #x }\n"
    assert texts(pieces("# a {name} b\n")) == ["a {name} b"]


def test_breaks_part_texts() -> None:
    assert texts(pieces("| a | First line<br>second<br/><br />third |\n| - | - |\n")) == [
        "a",
        "First line",
        "second",
        "third",
    ]
    assert rebuilt(pieces("one<br/>two\n"), upper) == "ONE<br/>TWO\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Press <kbd>Ctrl</kbd>+<kbd>C</kbd> now.", "PRESS <kbd>Ctrl</kbd>\\+<kbd>C</kbd> NOW."),
        ("to <code>stop it</code> now", "TO <code>stop it</code> NOW"),
        ("> [!NOTE]\n> Be careful.", "> [!NOTE]\n> BE CAREFUL."),
        ("so $a_b + c_d$ it is", "SO $a_b + c_d$ IT IS"),
        ("from $5 to $6 each", "FROM $5 TO $6 EACH"),
        ("text <!-- a > b --> more", "TEXT<!-- a > b --> MORE"),
    ],
)
def test_what_is_no_prose_stays(text: str, wanted: str) -> None:
    assert rebuilt(pieces(text), upper) == wanted
