"""Numbers as a target language writes them: 12,450.75 is 12.450,75 in German."""

import re

from regard.text.protected.languages import base

_POINT = "."
_COMMA = ","
_NARROW = "\u202f"
_NO_BREAK = "\u00a0"
# (thousands, decimals) by language; a language that is not here has no rule, and its numbers stay as they are.
SEPARATORS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("en", "ko", "ja", "zh", "he", "th"), (_COMMA, _POINT)),
    **dict.fromkeys(("de", "es", "it", "pt", "nl", "da", "tr", "el", "id", "ro", "hr", "sl", "sr"), (_POINT, _COMMA)),
    **dict.fromkeys(("pl", "cs", "sk", "ru", "uk", "bg", "sv", "nb", "no", "fi", "hu"), (_NO_BREAK, _COMMA)),
    "fr": (_NARROW, _COMMA),
}


def localised(number: str, source: str | None, target: str | None) -> str:
    """Return a number with the separators of the target language; unchanged without a rule for both languages.

    Dates, times, versions and numbers without separators stay, and so do signs, units and currencies.
    """
    read, written = SEPARATORS.get(base(source or "")), SEPARATORS.get(base(target or ""))
    if read is None or written is None or read == written:
        return number
    spaces = f"{_NO_BREAK}{_NARROW} "
    thousands = f"[{spaces}]" if read[0] in spaces else re.escape(read[0])
    pattern = rf"(?<![\d.,:/-])(\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)(?:{re.escape(read[1])}(\d+))?(?![\d.,:/-]*\d)"

    def changed(found: re.Match[str]) -> str:
        whole = re.sub(thousands, written[0], found[1])
        return whole if found[2] is None else f"{whole}{written[1]}{found[2]}"

    return re.sub(pattern, changed, number)
