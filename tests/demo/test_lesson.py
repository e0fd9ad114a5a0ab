"""How the demo's model is examined."""

from regard.demo.dates import LANGUAGES, Example
from regard.demo.lesson import Answered, Drawn, by_language, exact_match


def test_exact_match_is_the_share_that_is_right() -> None:
    answered = [
        Answered(Example("", "2025-05-03", language), "2025-05-03" if language != "German" else "2025-05-04")
        for language in LANGUAGES
    ]
    assert exact_match(answered) == 5 / 6
    assert by_language(answered) == {language: float(language != "German") for language in LANGUAGES}


def test_the_strongest_source_token_of_each() -> None:
    assert Drawn(["a", "b"], ["x", "y"], [[0.1, 0.9], [0.6, 0.4]]).pairs == [(1, 0), (0, 1)]
