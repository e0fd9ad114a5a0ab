"""Language codes: their names, and matching a client's code to a served language."""

import re
from collections.abc import Iterable

# ISO 639-1, for the most frequent languages of public corpora; others are shown by their code.
NAMES = dict(
    pair.split(":")
    for pair in """
    af:Afrikaans sq:Albanian am:Amharic ar:Arabic hy:Armenian az:Azerbaijani eu:Basque be:Belarusian bn:Bengali
    bs:Bosnian bg:Bulgarian my:Burmese ca:Catalan zh:Chinese hr:Croatian cs:Czech da:Danish nl:Dutch en:English
    eo:Esperanto et:Estonian fi:Finnish fr:French gl:Galician ka:Georgian de:German el:Greek gu:Gujarati ha:Hausa
    he:Hebrew hi:Hindi hu:Hungarian is:Icelandic ig:Igbo id:Indonesian ga:Irish it:Italian ja:Japanese kn:Kannada
    kk:Kazakh km:Khmer ko:Korean ku:Kurdish ky:Kyrgyz lo:Lao la:Latin lv:Latvian lt:Lithuanian mk:Macedonian ms:Malay
    ml:Malayalam mt:Maltese mr:Marathi mn:Mongolian ne:Nepali nb:Norwegian no:Norwegian ps:Pashto fa:Persian pl:Polish
    pt:Portuguese pa:Punjabi ro:Romanian ru:Russian sr:Serbian si:Sinhala sk:Slovak sl:Slovenian so:Somali es:Spanish
    sw:Swahili sv:Swedish tl:Tagalog tg:Tajik ta:Tamil tt:Tatar te:Telugu th:Thai tr:Turkish tk:Turkmen uk:Ukrainian
    ur:Urdu ug:Uyghur uz:Uzbek vi:Vietnamese cy:Welsh xh:Xhosa yi:Yiddish yo:Yoruba zu:Zulu
    """.split()  # noqa: SIM905
)
_REGION = r"(?:[-_][A-Za-z0-9]{1,8}){0,3}"


def name(code: str) -> str:
    return NAMES.get(base(code), code)


def base(code: str) -> str:
    """Return a code without its region or script: en for en-US."""
    return re.split("[-_]", code.lower(), maxsplit=1)[0]


def served(code: str, codes: Iterable[str]) -> str | None:
    """Return the served code that a code matches, in any case; `EN-us` matches `en` if en-US is not served."""
    by_spelling = {one.lower(): one for one in codes}
    wanted = code.lower()
    return by_spelling.get(wanted) or (
        by_spelling.get(base(wanted)) if re.fullmatch(rf"[a-z]+{_REGION}", wanted) else None
    )


def pattern(codes: Iterable[str]) -> str:
    """Return a regular expression of what `served` accepts, for the OpenAPI description."""
    spelt = ("".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else re.escape(c) for c in code) for code in codes)
    return f"^(?:{'|'.join(spelt)}){_REGION}$"
