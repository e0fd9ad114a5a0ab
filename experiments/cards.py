"""What the cards of the bundled models share."""

from collections.abc import Iterable

import regard
from regard.translate.translator import Translator


def examples(translator: Translator, sentences: Iterable[tuple[str, str]]) -> list[str]:
    """Return a table of sentences, each with its target language, and their translations, unedited."""
    lines = ["| source | translation |", "|---|---|"]
    for target, text in sentences:
        lines.append(f"| {text} | {translator.translate(text, regard.Options(target=target))} |")
    return lines
