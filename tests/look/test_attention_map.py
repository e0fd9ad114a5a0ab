"""Attention as SVG."""

import xml.etree.ElementTree as ElementTree

from regard.look.attention_map import attention_map

SOURCE = ["2", "<b>&", "일", "é", "שלום", "🙂"]
WEIGHTS = [[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]


def test_a_square_for_every_pair_as_dark_as_its_weight() -> None:
    svg = ElementTree.fromstring(attention_map(WEIGHTS, SOURCE, ["0", "\"3'"]))
    squares = svg.findall(".//rect")
    assert [float(square.attrib["fill-opacity"]) for square in squares] == [*WEIGHTS[0], *WEIGHTS[1]]
    assert [square.findtext("title") for square in squares][8] == "\"3' ← 일: 100%"
    assert svg.attrib["aria-label"].endswith("0 from 2, \"3' from 일")
    assert {text.text for text in svg.iter("text")} == {*SOURCE, "0", "\"3'"}


def test_squares_and_texts_lie_inside_the_picture() -> None:
    svg = ElementTree.fromstring(attention_map(WEIGHTS, SOURCE, ["0", "3"]))
    width, height = (int(size) for size in svg.attrib["viewBox"].split()[2:])
    for square in svg.findall(".//rect"):
        x, y, wide, high = (float(square.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + wide <= width and y + high <= height
