"""Choose installed fonts for matplotlib that have all characters of a text, by their glyphs and not by their names."""

from collections.abc import Iterable
from pathlib import Path

from matplotlib.font_manager import findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font

USUAL = "DejaVu Sans"  # comes with matplotlib
NOBODY = 0x10FFFD  # private use: a font that has this code point maps every character to the same box


def families(texts: Iterable[str]) -> tuple[list[str], str]:
    """Return names of fonts that together cover all characters of some texts, and the characters that no font has."""
    missing = {ord(character) for text in texts for character in text if not character.isspace()}
    missing -= _characters(findfont(USUAL))
    chosen = [USUAL]
    for path in sorted(findSystemFonts(), key=_plainest) if missing else ():
        if missing and (found := missing & _characters(path)):
            fontManager.addfont(path)
            chosen.append(FT2Font(path).family_name)
            missing -= found
    return chosen, "".join(map(chr, sorted(missing)))


def _plainest(path: str) -> tuple[bool, bool, str]:
    name = Path(path).name
    return "Regular" not in name, "Sans" not in name, name


def _characters(path: str) -> set[int]:
    try:
        characters = set(FT2Font(path).get_charmap())
    except RuntimeError:  # a colour emoji font
        return set()
    return characters if NOBODY not in characters else set()
