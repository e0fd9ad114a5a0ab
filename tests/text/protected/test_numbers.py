import pytest

from regard.text.protected.numbers import localised


@pytest.mark.parametrize(
    ("number", "target", "written"),
    [
        ("12,450.75", "de", "12.450,75"),
        ("$1,234,567.5", "de", "$1.234.567,5"),
        ("3.14 km", "de", "3,14 km"),
        ("12,450.75", "fr", "12\u202f450,75"),
        ("12,450.75", "ko", "12,450.75"),
        ("12,450.75", "tlh", "12,450.75"),
        ("1984", "de", "1984"),
        ("10:45", "de", "10:45"),
        ("192.168.0.1", "de", "192.168.0.1"),
        ("2024-05-01", "de", "2024-05-01"),
        ("12,34", "de", "12,34"),
    ],
)
def test_separators_of_the_target(number: str, target: str, written: str) -> None:
    assert localised(number, "en", target) == written


def test_german_numbers_in_english() -> None:
    assert localised("12.450,75 €", "de", "en") == "12,450.75 €"
    assert localised("12.450,75", None, "en") == "12.450,75"
