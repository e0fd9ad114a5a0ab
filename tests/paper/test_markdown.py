"""Tables of figures."""

from regard.paper.markdown import number, table


def test_columns_are_even() -> None:
    assert table(["row", "BLEU"], [["base", number(25.81, ".1f")], ["A-1", number(None, ".1f")]]).splitlines() == [
        "| row  | BLEU |",
        "| ---- | ---: |",
        "| base | 25.8 |",
        "| A-1  |      |",
    ]
