"""One head as a file."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.look.figure import one_head, shown, write_head
from regard.look.fonts import families
from regard.look.inspection import Look
from regard.translate.translator import Translator

NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def seen(translator: Translator) -> Look:
    return translator.look("The old woman sees 사과를 <b>&")


def test_svg_has_the_weights(seen: Look, tmp_path: Path) -> None:
    sight = seen.sentences[0]
    for kind in sight.attention:
        assert write_head(tmp_path / "head.svg", "svg", sight, kind, 1, 2) == ""
        svg = ElementTree.fromstring((tmp_path / "head.svg").read_text(encoding="utf-8"))
        assert svg.tag == f"{NAMESPACE}svg"
        drawn = [float(square.attrib["fill-opacity"]) for square in svg.iter(f"{NAMESPACE}rect")]
        assert drawn == pytest.approx(sight.attention[kind][0, 1].flatten().tolist(), abs=1e-3)
        texts = [text.text for text in svg.iter(f"{NAMESPACE}text")]
        assert texts == [*map(shown, sight.columns(kind)), *map(shown, sight.rows(kind))]


@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_matplotlib_draws_the_others(seen: Look, tmp_path: Path, form: str, begins: bytes) -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib; pip install 'regard[paper]'")
    write_head(tmp_path / "head", form, seen.sentences[0], "cross", 2, 1)
    assert (tmp_path / "head").read_bytes().startswith(begins)


def test_out_of_range(seen: Look) -> None:
    sight = seen.sentences[0]
    for layer, head, told in ((0, 1, "no layer 0"), (3, 1, "are 1 to 2"), (1, 3, "no head 3"), (1, -1, "no head -1")):
        with pytest.raises(UserError, match=told):
            one_head(sight, "cross", layer, head)


def test_fonts_by_what_is_in_them() -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib; pip install 'regard[paper]'")
    names, missing = families(["The", "▁·"])
    assert (len(names), missing) == (1, "")
    assert families(["a\U0010fffd b"])[1] == "\U0010fffd", "no font has a character of private use"
    names, missing = families(["한국"])
    assert (len(names) > 1) == (missing == ""), "either another font has Hangul, or it is told"


def test_tokens_as_people_read_them() -> None:
    assert [shown(token) for token in ("▁The", "n", "▁", "</s>", "<0xE2>")] == ["The", "·n", "␣", "</s>", "<0xE2>"]
