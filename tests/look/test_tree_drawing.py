"""Trees as pictures."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from tests.text.random_trees import trees

from regard.look.alignment_grid import width
from regard.look.tree_drawing import as_html, as_svg, as_text
from regard.look.tree_layout import layout
from regard.text.normalise import normalise
from regard.text.trees import Tree, read_trees, words

SPACE = "{http://www.w3.org/2000/svg}"


def tree(text: str) -> Tree:
    return next(read_trees([text], "here"))


CAT = tree("(S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))")
HANGUL = tree("(S (NP-SBJ (NPR 철수) (PCA 가)) (VP (NP-OBJ (NNC 밥) (PCA 을)) (VV 먹었다)) (SFN .))")


def test_from_the_root_down() -> None:
    assert as_text(CAT, 80).split("\n") == [
        "                S",
        "   ┌───────────┬┴────────────┐",
        "  NP          VP             .",
        " ┌─┴──┐    ┌───┴───┐         .",
        "DT   NN   VBD     PP",
        "The  cat  sat   ┌──┴──┐",
        "               IN    NP",
        "               on   ┌─┴──┐",
        "                   DT   NN",
        "                   the  mat",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert as_text(HANGUL, 80).split("\n") == [
        "                 S",
        "    ┌────────────┴─┬──────────┐",
        " NP-SBJ           VP         SFN",
        "  ┌─┴──┐      ┌────┴────┐     .",
        " NPR  PCA  NP-OBJ      VV",
        "철수  가    ┌─┴──┐   먹었다",
        "           NNC  PCA",
        "           밥   을",
    ]


def test_what_is_too_wide_goes_to_the_right() -> None:
    assert as_text(HANGUL, 20).split("\n") == [
        "S",
        "├─ NP-SBJ",
        "│  ├─ NPR  철수",
        "│  └─ PCA  가",
        "├─ VP",
        "│  ├─ NP-OBJ",
        "│  │  ├─ NNC  밥",
        "│  │  └─ PCA  을",
        "│  └─ VV  먹었다",
        "└─ SFN  .",
    ]
    widest = max(map(width, as_text(HANGUL, 80).split("\n")))
    assert as_text(HANGUL, widest) == as_text(HANGUL, 80)
    assert as_text(HANGUL, widest - 1) == as_text(HANGUL, 20)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("(NN cat)", ["NN", "cat"]),
        ("(TOP)", ["TOP"]),
        ("(LONGLABEL (X a))", ["LONGLABEL", "    │", "    X", "    a"]),
        ("(A (X a) (LONGLABEL (Y b)))", ["   A", "┌──┴───┐", "X  LONGLABEL", "a      │", "       Y", "       b"]),
    ],
)
def test_small_ones(text: str, drawn: list[str]) -> None:
    assert as_text(tree(text), 80).split("\n") == drawn


def test_the_terminal_tells_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert as_text(CAT) == as_text(CAT, 20)
    monkeypatch.setenv("COLUMNS", "100")
    assert as_text(CAT) == as_text(CAT, 100) != as_text(CAT, 20)


@settings(deadline=None)
@given(trees)
def test_nodes_do_not_reach_into_each_other(made: Tree) -> None:
    nodes = layout(made, width, gap=2)
    for node in nodes:
        for text in (node.label, node.word or ""):
            assert node.left <= node.centre - width(text) // 2
            assert node.centre - width(text) // 2 + width(text) <= node.left + max(node.span, 1)
        ends = [node.left - 2]
        for child in node.children:
            assert child.left >= ends[-1] + 2 and child.left + child.span <= node.left + node.span
            ends.append(child.left + child.span)
    assert [node.word for node in nodes if node.word is not None] == list(map(normalise, words(made)))


@settings(deadline=None)
@given(trees)
def test_every_word_is_drawn_in_every_way(made: Tree) -> None:
    shown = list(map(normalise, words(made)))
    for columns in (1, 10_000):
        lines = as_text(made, columns).split("\n")
        assert all(any(word in line for line in lines) for word in shown)
    svg = ElementTree.fromstring(as_svg(made))
    assert [text.text or "" for text in svg.find(f"{SPACE}g[@class='words']") or ()] == shown


def test_lines_and_texts_lie_inside_the_picture() -> None:
    for one in (CAT, HANGUL, tree("(WHADVPLONGLABEL (NP (X a)) (VERYLONGLABEL (Y b)))")):
        svg = ElementTree.fromstring(as_svg(one))
        wide, high = (int(size) for size in svg.attrib["viewBox"].split()[2:])
        assert (svg.attrib["width"], svg.attrib["height"]) == (str(wide), str(high))
        for line in svg.iter(f"{SPACE}line"):
            assert all(
                0 <= int(line.attrib[name]) <= size
                for name, size in zip(("x1", "x2", "y1", "y2"), (wide, wide, high, high), strict=True)
            )
            assert int(line.attrib["y1"]) < int(line.attrib["y2"])
        for text in svg.iter(f"{SPACE}text"):
            assert 0 < int(text.attrib["x"]) < wide and 0 < int(text.attrib["y"]) < high


def test_hostile_words_stay_text() -> None:
    hostile = Tree("S", (Tree('"><x', (), "</text><script>alert(1)</script>"), Tree("N", (), "\x1b[2J\0\u2028&")))
    svg = ElementTree.fromstring(as_svg(hostile))
    assert not list(svg.iter(f"{SPACE}script")) and "\x1b" not in as_text(hostile, 500) + as_text(hostile, 1)
    page = as_html([hostile])
    assert "<script" not in page and "\x1b" not in page and "\0" not in page


def test_a_page() -> None:
    page = as_html([CAT, HANGUL])
    assert page.count("<svg ") == 2 and '<figcaption dir="auto">철수 가 밥 을 먹었다 .</figcaption>' in page
    assert re.search(r"default-src 'none'; style-src 'sha256-[\w+/]+=*'\"", page)
    assert "<svg" not in as_html([])
