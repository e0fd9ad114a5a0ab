"""The boundaries of words in each script, and the endings of Korean nouns."""

import re
import unicodedata

# Scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Korean particles, forms of 이다 and the plural; a word may end with up to three of them (학생들에게는).
_PARTICLES = """
    이 가 은 는 을 를 의 에 에서 에게 에게서 께 께서 한테 한테서 으로 로 으로서 로서 으로써
    로써 와 과 하고 랑 이랑 도 만 까지 부터 처럼 같이 보다 마다 조차 마저 밖에 뿐 대로 만큼
    나 이나 든지 이든지 라도 이라도 야 이야 아 여 이여 라 이라 라고 이라고 란 이란 라는 이라는 들
    네 님 씨 께는 엔 에는 에선 에도 에만 다 이다 이며 며 이고 고 였다 이었다 입니다 이에요 예요
    이었습니다 였습니다 인 인가 인지 일 이지만 지만 이니 이면 면 요
""".split()  # noqa: SIM905
_ENDING = re.compile(f"(?:{'|'.join(sorted(_PARTICLES, key=len, reverse=True))}){{1,3}}")
JOINER = "\u200d"  # of emoji that are drawn as one, and of letters
LONGEST_ENDING = 9  # syllables of three particles


def is_unspaced(character: str) -> bool:
    """Return whether a character is of a script that is written without spaces between words."""
    return _UNSPACED.match(character) is not None


def is_particle(text: str) -> bool:
    """Return whether a text may follow a Korean noun in the same word: up to three particles."""
    return len(text) <= LONGEST_ENDING and _ENDING.fullmatch(text) is not None


def joins(before: str, after: str) -> bool:
    """Return whether two adjacent characters belong to one word, or to one emoji."""
    if unicodedata.category(after)[0] == "M" or JOINER in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if is_unspaced(before) or is_unspaced(after):
        return False
    marked = before.isalnum() or before == "_" or unicodedata.category(before)[0] == "M"
    return marked and (after.isalnum() or after == "_")
