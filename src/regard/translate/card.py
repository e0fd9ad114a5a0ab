"""A model's card: README.md in its folder."""

import re
from pathlib import Path

from regard.saved.bundled import located
from regard.text.language import is_hangul
from regard.translate.sentences import split

MOST_BYTES = 65_536
MOST_CHARACTERS = 300
WRITTEN = "Made by regard"  # how a card begins that nobody has written
_MARKDOWN = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*_`]")


def card_summaries(model: str | Path) -> dict[str, str]:
    """Return the first sentence of a model card's introduction, in each language that it has.

    The introduction ends with the first heading after it. A paragraph in Hangul is Korean (`ko`), any other English.
    """
    try:
        with (located(model) / "README.md").open("rb") as file:
            card = file.read(MOST_BYTES).decode("utf-8", errors="ignore")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for paragraph in map(str.strip, re.split(r"\n\s*\n", card)):
        if paragraph.startswith("#") and found:
            break
        parts = split(" ".join(_MARKDOWN.sub(r"\1", paragraph).split())).parts
        if parts and not paragraph.startswith(("#", "|", "---", "<", WRITTEN)):
            sentence = parts[0].text[:MOST_CHARACTERS]
            found.setdefault("ko" if any(map(is_hangul, sentence)) else "en", sentence)
    return found
