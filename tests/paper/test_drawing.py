from pathlib import Path

import pytest

from regard.errors import UserError
from regard.paper.drawing import check_picture, picture


def test_same_drawing_same_bytes_in_every_form(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with picture(*(tmp_path / f"{name}.{form}" for form in ("svg", "png", "pdf")), size=(3, 2)) as figure:
            figure.subplots().plot([1, 2, 3])
    for form, begin in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        one = (tmp_path / f"one.{form}").read_bytes()
        assert one.startswith(begin)
        assert one == (tmp_path / f"two.{form}").read_bytes()


def test_words_of_any_script_are_drawn_without_complaint(tmp_path: Path) -> None:
    texts = ("나는 학생", "e\u0301\u0323", "שלום", "🙂")
    with picture(tmp_path / "words.png", size=(3, 2), texts=texts) as figure:
        axes = figure.subplots()
        axes.set_xticks(range(len(texts)), texts)
    assert (tmp_path / "words.png").stat().st_size > 0


def test_nothing_is_left_of_a_drawing_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "x.svg", size=(3, 2)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_drawn_is_refused_first(tmp_path: Path) -> None:
    check_picture(tmp_path / "x.svg")
    with pytest.raises(UserError, match=r"x.jpeg: a picture ends in .svg, .png or .pdf"):
        check_picture(tmp_path / "x.jpeg")
