"""Language codes, their names, and the scripts in which they are written."""

import re
from functools import lru_cache

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
# Languages that are not written in Latin letters, with their scripts; all others are.
SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ru", "uk", "bg", "mk", "be", "kk", "ky", "mn", "tg", "tt"), ("cyrillic",)),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug"), ("arabic",)),
    **dict.fromkeys(("he", "yi"), ("hebrew",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("devanagari",)),
    "sr": ("cyrillic", "latin"),
    "az": ("latin", "cyrillic", "arabic"),
    "uz": ("latin", "cyrillic"),
    "ku": ("latin", "arabic"),
    "ko": ("hangul", "han"),
    "ja": ("kana", "han"),
    "zh": ("han",),
    "el": ("greek",),
    "th": ("thai",),
    "hy": ("armenian",),
    "ka": ("georgian",),
    "am": ("ethiopic",),
    "bn": ("bengali",),
    "pa": ("gurmukhi",),
    "gu": ("gujarati",),
    "ta": ("tamil",),
    "te": ("telugu",),
    "kn": ("kannada",),
    "ml": ("malayalam",),
    "si": ("sinhala",),
    "lo": ("lao",),
    "my": ("myanmar",),
    "km": ("khmer",),
}
_RANGES = (
    ("greek", "\u0370", "\u03ff"), ("cyrillic", "\u0400", "\u052f"), ("armenian", "\u0530", "\u058f"),
    ("hebrew", "\u0590", "\u05ff"), ("arabic", "\u0600", "\u077f"), ("devanagari", "\u0900", "\u097f"),
    ("bengali", "\u0980", "\u09ff"), ("gurmukhi", "\u0a00", "\u0a7f"), ("gujarati", "\u0a80", "\u0aff"),
    ("tamil", "\u0b80", "\u0bff"), ("telugu", "\u0c00", "\u0c7f"), ("kannada", "\u0c80", "\u0cff"),
    ("malayalam", "\u0d00", "\u0d7f"), ("sinhala", "\u0d80", "\u0dff"), ("thai", "\u0e00", "\u0e7f"),
    ("lao", "\u0e80", "\u0eff"), ("myanmar", "\u1000", "\u109f"), ("georgian", "\u10a0", "\u10ff"),
    ("hangul", "\u1100", "\u11ff"), ("ethiopic", "\u1200", "\u139f"), ("khmer", "\u1780", "\u17ff"),
    ("greek", "\u1f00", "\u1fff"), ("kana", "\u3040", "\u30ff"), ("hangul", "\u3130", "\u318f"),
    ("han", "\u3400", "\u9fff"), ("hangul", "\uac00", "\ud7a3"), ("han", "\uf900", "\ufaff"),
    ("hangul", "\uffa1", "\uffdc"), ("han", "\U00020000", "\U0003ffff"),
)  # fmt: skip


def name(code: str) -> str:
    return NAMES.get(base(code), code)


@lru_cache(maxsize=1024)
def base(code: str) -> str:
    """Return a code without its region or script: en for en-US."""
    return re.split("[-_]", code.lower(), maxsplit=1)[0]


def script_of(letter: str) -> str:
    """Return the script of a letter; Latin for one of a script that is not listed."""
    return next((name for name, first, last in _RANGES if first <= letter <= last), "latin")


def scripts_of(language: str) -> tuple[str, ...]:
    """Return the scripts in which a language is written."""
    return SCRIPTS.get(base(language), ("latin",))


def is_language(code: str | None) -> bool:
    """Return whether a code is that of a natural language."""
    return code is not None and base(code) in NAMES
