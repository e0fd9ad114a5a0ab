"""A curve as SVG."""

import xml.etree.ElementTree as ElementTree

from regard.look.curve import curve


def test_a_point_for_every_step_higher_where_the_value_is() -> None:
    svg = ElementTree.fromstring(curve([(10, 0.25), (20, 1.0), (40, 0.5)], "Match & more", highest=1.0, form=".0%"))
    points = [(float(point.attrib["cx"]), float(point.attrib["cy"])) for point in svg.iter("circle")]
    (first, high, last) = points
    assert first[0] < high[0] < last[0] and high[1] < last[1] < first[1]
    assert abs((last[0] - first[0]) - 1.5 * (last[0] - high[0])) < 0.2, "steps are to scale"
    assert abs((first[1] - high[1]) - 1.5 * (last[1] - high[1])) < 0.2, "values are to scale"
    assert [point.findtext("title") for point in svg.iter("circle")] == [
        "step 10: 25%",
        "step 20: 100%",
        "step 40: 50%",
    ]
    assert svg.attrib["aria-label"] == "Match & more: 25% at step 10, 50% at 40"


def test_one_point_and_nothing_but_zeros_can_be_drawn() -> None:
    for points in ([(5, 0.0)], [(1, 0.0), (2, 0.0)]):
        assert len(list(ElementTree.fromstring(curve(points, "zero")).iter("circle"))) == len(points)
