import pytest

from regard.text.protected.reserved import PRIVATE
from regard.text.protected.sentence_end import without_added_end


@pytest.mark.parametrize(
    ("source", "text", "without"),
    [
        ("Red car", "Rotes Auto.", "Rotes Auto"),
        ("can you help me", "Kannst du mir helfen?", "Kannst du mir helfen"),
        ("빨간 차", "A red car.", "A red car"),
        ("Red car.", "Rotes Auto.", "Rotes Auto."),
        ("He said “no”", "Er sagte „nein“.", "Er sagte „nein“."),
        ("on the 3", "am 3.", "am 3."),
        ("and so on", "usw.", "usw."),
        ("Red", "...", "..."),
        ("", ".", "."),
        ("Rotes Auto", "سيارة حمراء؟", "سيارة حمراء"),
        (f"from {PRIVATE[3]}", f"von {PRIVATE[3]}.", f"von {PRIVATE[3]}"),
    ],
)
def test_a_fragment_gets_no_mark(source: str, text: str, without: str) -> None:
    assert without_added_end(source, text) == without
