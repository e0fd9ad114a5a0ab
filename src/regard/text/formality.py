"""The speech level of a Korean sentence by its ending: 합니다 (formal), 해요 (polite), 해라 and 해 (plain)."""

import re
from hashlib import blake2b
from typing import Literal, get_args

SpeechLevel = Literal["formal", "polite", "plain"]
INTO_KOREAN = "<2ko>"
LEVEL_TAGS = tuple(f"<2ko:{level}>" for level in get_args(SpeechLevel))

_END = re.compile(r"[\W_]+$")  # marks, brackets, emoji
_STOPS = re.compile(r"[.!?。！？…][^\w]*$")
_BIEUP = 17  # the number of the final consonant ㅂ in a Hangul syllable
_SYLLABLES = range(0xAC00, 0xD7A4)
_NOUNS_IN_YO = ("필요", "중요", "수요", "개요", "주요", "소요", "민요", "동요", "목요", "토요", "일요")
# Last syllables of the plain level besides 다. They also end nouns, so they count only before a full stop.
_PLAIN = frozenset("어아해야지까니냐자라네군나래게걸데마봐와줘돼려져여워")


def speech_level(text: str) -> SpeechLevel | None:
    """Return the speech level of the last sentence of a Korean text, or None if its ending tells none.

    None is for nouns, headings, nominal endings such as 함 and 하기, and text in other scripts.
    """
    body = _END.sub("", text)
    stopped = bool(_STOPS.search(text))
    if not body or ord(body[-1]) not in _SYLLABLES:
        return None
    if body.endswith(("십시오", "시오")) or _ends_formally(body):
        return "formal"
    if body.endswith(("요", "죠")):
        return None if body.endswith(_NOUNS_IN_YO) else "polite"
    if (body.endswith("다") and (stopped or " " in body)) or (stopped and body[-1] in _PLAIN):
        return "plain"
    return None


def _ends_formally(body: str) -> bool:
    """Tell 합니다, 합니까 and 합시다 from 아니다, 하니까 and 역시다: ㅂ closes the syllable before the ending."""
    if not body.endswith(("니다", "니까", "시다")) or len(body) < 3 or ord(body[-3]) not in _SYLLABLES:
        return False
    return (ord(body[-3]) - 0xAC00) % 28 == _BIEUP


def level_tag(source: str, target: str) -> str:
    """Return the tag of a pair into Korean: <2ko:LEVEL> for half of those whose level is clear, else <2ko>.

    So a model can be asked for a level, and does without one, too. Which half depends on the pair alone.
    """
    level = speech_level(target)
    half = blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] % 2
    return f"<2ko:{level}>" if level and half else INTO_KOREAN
