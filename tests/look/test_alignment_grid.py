"""An alignment for a terminal."""

from regard.look.alignment_grid import alignment_grid, width


def test_a_dot_under_the_source_word_beside_the_target_word() -> None:
    grid = alignment_grid(["Two", "dogs", "play"], ["Hunde", "spielen", "zwei"], [(1, 0), (2, 1), (0, 2)])
    assert grid.split("\n") == [
        "        Two dogs play",
        "Hunde       ●",
        "spielen          ●",
        "zwei    ●",
    ]


def test_wide_characters_and_marks_keep_the_columns() -> None:
    head, row = alignment_grid(["년", "e\u0301", "שָ", "x"], ["0"], [(3, 0)]).split("\n")
    assert width(head[: head.index("x")]) == width(row[: row.index("●")])
    assert [width(text) for text in ("년", "e\u0301", "🙂", "abc", "")] == [2, 1, 2, 3, 0]


def test_nothing_to_align() -> None:
    assert alignment_grid([], [], []) == ""
