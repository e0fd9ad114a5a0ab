"""A model's card: README.md in its folder."""

import re
from pathlib import Path

from regard.saved.bundled import located
from regard.translate.sentences import split

MOST_BYTES = 65_536
MOST_CHARACTERS = 300
WRITTEN = "Made by regard"  # how a card begins that nobody has written
_MARKDOWN = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*_`]")


def card_summary(model: str | Path) -> str | None:
    """Return the first sentence of a card's first paragraph as plain text; None if there is no card."""
    try:
        with (located(model) / "README.md").open("rb") as file:
            card = file.read(MOST_BYTES).decode("utf-8", errors="ignore")
    except OSError:
        return None
    paragraphs = (one.strip() for one in re.split(r"\n\s*\n", card))
    text = next((one for one in paragraphs if one and not one.startswith(("#", "|", "---", "<", WRITTEN))), "")
    parts = split(" ".join(_MARKDOWN.sub(r"\1", text).split())).parts
    return parts[0].text[:MOST_CHARACTERS] if parts else None
