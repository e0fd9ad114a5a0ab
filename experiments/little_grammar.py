"""Write English-Korean pairs from a little grammar: enough to train a first model on, and free of any licence.

    python experiments/little_grammar.py pairs            # pairs/train.en, train.ko, val.en, val.ko, test.en, test.ko
    python experiments/little_grammar.py fish fish=생선   # the same number of pairs, all about a fish

English puts the verb in the middle and Korean puts it at the end. A Korean particle depends on the last letter of the
word before it (친구가, 학생이). "Old" is 나이 든 of a person and 오래된 of a thing. So there is something to learn.
"""

import random
import sys
from pathlib import Path

WHOSE = {"the": "", "my": "내 ", "this": "이 ", "that": "그 "}
PERSONS = (
    {"": "", "kind ": "친절한 ", "young ": "젊은 ", "old ": "나이 든 ", "tall ": "키가 큰 ", "quiet ": "조용한 "},
    {"student": "학생", "teacher": "선생님", "friend": "친구", "doctor": "의사", "writer": "작가", "neighbour": "이웃"},
)
THINGS = (
    {"": "", "small ": "작은 ", "big ": "큰 ", "old ": "오래된 ", "new ": "새 ", "red ": "빨간 ", "white ": "하얀 "},
    {"book": "책", "letter": "편지", "picture": "그림", "door": "문", "house": "집", "car": "자동차", "flower": "꽃",
     "chair": "의자", "table": "식탁", "newspaper": "신문"},
)  # fmt: skip
VERBS = {  # English: base form, third person, past. Korean: stem, present, past, future.
    ("see", "sees", "saw"): ("보", "본다", "보았다", "볼"),
    ("buy", "buys", "bought"): ("사", "산다", "샀다", "살"),
    ("draw", "draws", "drew"): ("그리", "그린다", "그렸다", "그릴"),
    ("find", "finds", "found"): ("찾", "찾는다", "찾았다", "찾을"),
    ("like", "likes", "liked"): ("좋아하", "좋아한다", "좋아했다", "좋아할"),
    ("sell", "sells", "sold"): ("팔", "판다", "팔았다", "팔"),
    ("need", "needs", "needed"): ("필요로 하", "필요로 한다", "필요로 했다", "필요로 할"),
    ("describe", "describes", "described"): ("묘사하", "묘사한다", "묘사했다", "묘사할"),
}
TIMES = {"today": "오늘", "every day": "매일", "yesterday": "어제", "last week": "지난주에", "tomorrow": "내일"}
PLACES = {
    "": "",
    " at home": "집에서 ",
    " at school": "학교에서 ",
    " in the park": "공원에서 ",
    " at the station": "역에서 ",
}
SIZES = {"train": 20_000, "val": 500, "test": 500}


def particle(word: str, after_consonant: str, after_vowel: str) -> str:
    """A word with the particle that its last syllable asks for: Hangul syllables come in rows of 28 finals."""
    return word + (after_consonant if (ord(word[-1]) - ord("가")) % 28 else after_vowel)


def phrase(draw: random.Random, kinds: dict[str, str], nouns: dict[str, str]) -> tuple[str, str]:
    """A noun with a determiner and perhaps an adjective, in both languages."""
    whose, kind, noun = (draw.choice(list(words)) for words in (WHOSE, kinds, nouns))
    return f"{whose} {kind}{noun}", f"{WHOSE[whose]}{kinds[kind]}{nouns[noun]}"


def verb(draw: random.Random, time: str) -> tuple[str, str]:
    """A verb in the tense of the time, at times negated."""
    (base, third, past), (stem, now, before, later) = draw.choice(list(VERBS.items()))
    negated = draw.random() < 0.3
    if time in ("yesterday", "last week"):
        return (f"did not {base}", f"{stem}지 않았다") if negated else (past, before)
    if time == "tomorrow":
        return (f"will not {base}", f"{stem}지 않을 것이다") if negated else (f"will {base}", f"{later} 것이다")
    return (f"does not {base}", f"{stem}지 않는다") if negated else (third, now)


def pair(draw: random.Random, things: dict[str, str]) -> tuple[str, str]:
    """One sentence in both languages."""
    time, place = draw.choice(list(TIMES)), draw.choice(list(PLACES))
    (subject, who), (object_, what) = phrase(draw, *PERSONS), phrase(draw, THINGS[0], things)
    action, does = verb(draw, time)
    english = f"{time.capitalize()} {subject} {action} {object_}{place}."
    return english, f"{TIMES[time]} {particle(who, '이', '가')} {PLACES[place]}{particle(what, '을', '를')} {does}."


def main(folder: Path, things: dict[str, str]) -> None:
    """Write every split; no sentence is in two of them."""
    draw, wanted = random.Random(1), sum(SIZES.values())
    pairs: dict[str, str] = {}
    while len(pairs) < wanted:
        pairs.setdefault(*pair(draw, things))
    rest = iter(pairs.items())
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        english, korean = zip(*(next(rest) for _ in range(size)), strict=True)
        for language, lines in (("en", english), ("ko", korean)):
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{folder}/{name}.en, {name}.ko: {size:,} pairs, such as {english[0]} = {korean[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:]) or THINGS[1])
