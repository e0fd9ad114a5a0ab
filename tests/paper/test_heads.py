from pathlib import Path

from regard.paper.heads import draw_heads, see_first


def test_heads_of_any_script_and_of_a_word_only_where_it_is(folder: Path, tmp_path: Path) -> None:
    korean, english = (see_first(folder, text) for text in ("나는 학생이다. 🙂 שלום", "Here it was. And not that."))
    for name, sight in (("korean", korean), ("english", english)):
        drawn = draw_heads(sight, lambda picture: [tmp_path / f"{name}-{picture}.svg"])  # noqa: B023
        assert drawn[:3] == ["heads-encoder", "heads-decoder", "heads-cross"]
        assert drawn[3:] == (["heads-of-it"] if name == "english" else [])
        assert sorted(path.name for path in tmp_path.glob(f"{name}-*")) == sorted(f"{name}-{one}.svg" for one in drawn)
