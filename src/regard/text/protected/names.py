"""Proper names in a text that a model does not know, by capital letters and the model's vocabulary.

A name that is one piece of the vocabulary is known, and so is its translation: Monday, Germany. What is spelt in
several pieces is unknown; a name that is also a common word, as in "Mr Baker", would be translated as that word. A
vocabulary that two languages share also has words that only the target has: an English "Berg" is a name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from regard.text.protected.detect import WORDS
from regard.text.protected.spans import Span

# Words with a capital that are translated, although they stand inside a sentence: in lower case.
_TRANSLATED = frozenset(
    """
    mr mrs ms miss dr prof professor doctor sir madam lady lord king queen prince princess president minister
    chancellor general captain colonel major sergeant judge senator governor mayor pope bishop saint st uncle aunt
    grandma grandpa mother father mom mum dad brother sister god lord bible christmas easter halloween thanksgiving
    i internet north south east west northern southern eastern western central new old upper lower united states
    kingdom republic union nations world war street avenue road square park lake river mount mountain mountains
    island islands ocean sea bay coast valley city county state university college school church hospital hotel
    museum bridge tower station airport company bank court house parliament congress senate army earth moon sun mars
    venus jupiter saturn monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december spring summer autumn winter africa america asia australia
    austria belgium bavaria brazil bulgaria cambodia canada china croatia cyprus czech denmark egypt england estonia
    ethiopia europe finland france germany greece greenland hungary iceland india indonesia iraq ireland italy japan
    jordan kazakhstan kenya korea latvia lebanon libya lithuania luxembourg macedonia mexico moldova mongolia
    morocco netherlands norway pakistan palestine philippines poland portugal prussia romania russia saudi
    scandinavia scotland serbia siberia slovakia slovenia spain sweden switzerland syria taiwan tunisia turkey
    ukraine vatican wales yugoslavia antarctica arctic atlantic pacific mediterranean baltic caribbean danube rhine
    alps athens beijing belgrade brussels bucharest cairo copenhagen cologne florence geneva havana jerusalem lisbon
    milan moscow munich naples nuremberg prague rome seoul tokyo venice vienna warsaw zurich african american arab
    arabic asian australian austrian bavarian belgian brazilian british briton bulgarian canadian catalan catholic
    celtic chinese christian croatian cuban dane danish dutch egyptian english englishman estonian european
    finnish french frenchman german greek hebrew hindu hungarian icelandic indian indonesian iranian iraqi irish
    islam islamic israeli italian japanese jew jewish jews korean latin latvian lithuanian malay mexican mongolian
    muslim norwegian persian pole polish portuguese protestant roman romanian romans russian scot scottish serbian
    slovak slovenian spaniard spanish swede swedish swiss thai tibetan turk turkish ukrainian vietnamese welsh
    hi hello hey oh ah wow yeah ouch dear honey thanks sorry please congratulations
    esperanto zealand day eve year department embassy cabinet league standard time times civil police daddy mommy
    california britain arabia cuba algeria tanzania singapore quebec nile thames soviet viking neptune santa valentine
    one two three four five six seven eight nine ten eleven twelve
    thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty
    allies buddhism buddhist christianity communist democrat republican nazi olympics olympic renaissance marxism
    """.split()  # noqa: SIM905
)
_TITLES = frozenset("mr mrs ms miss dr prof professor herr frau herrn fräulein monsieur madame señor señora".split())  # noqa: SIM905
# What follows a name at the beginning of a sentence, and hardly another word that stands there without an article.
_AUXILIARIES = frozenset(
    """
    is was has had will would can could should must may might does did doesn't didn't isn't wasn't hasn't hadn't
    won't can't couldn't wouldn't shouldn't never always often also just still already only really probably and or
    almost seldom sometimes usually cannot ought quite rarely even once now no neither very soon
    """.split()  # noqa: SIM905
)
_VERBS = frozenset(
    """
    says tells asks goes comes gets gives takes makes knows thinks wants likes loves hates lives works plays looks
    seems writes sees hears feels needs tries speaks became began bit blew broke brought built bought caught chose
    cut dealt drew drank drove ate fell fed felt fought found flew forgot forgave froze got gave went grew hung
    heard hid hit held hurt kept knew laid led left lent let lay lit lost made meant met paid put quit read rode
    rang rose ran said saw sold sent set shook shot shut sang sat slept spoke spent spread stood stole stuck struck
    swore swept swam took taught tore told thought threw understood woke wore won wrote came awoke beat bent bet
    bound bred burst cast clung crept dug dreamt fled flung forbade foresaw ground knelt leapt leant misread mistook
    outgrew overcame overheard overslept overtook sank shed shone shrank slid slit sought spat sped spilt split spoilt
    sprang spun stank stung strode strove swung undid undertook upset wept withdrew wound wrung
    """.split()  # noqa: SIM905
)
# What follows a verb rather than a noun in the plural.
_AFTER_VERB = frozenset(
    """
    a an the to in on at my your his her its our their it that this with for from up down out me you him us them
    """.split()  # noqa: SIM905
)
_OBJECTS = _AFTER_VERB - frozenset("to in on at with for from up down out".split())  # noqa: SIM905
# Names that are also common words.
_WORD_NAMES = frozenset(
    """
    will mark rose grace joy faith bill frank jack chase drew gene grant guy iris ivy lance miles pat penny ray rich
    rob ruby sandy sue victor wade daisy lily violet heather olive hazel pearl amber jade cliff dale dean don earl
    forrest glen hunter jasper kit marsh max norm peg reed rusty wolf woody duke pierce
    """.split()  # noqa: SIM905
)
# Names that name things more often, and so only where no thing is meant: inside a sentence, or before a verb of people.
_SELDOM_NAMES = frozenset(
    """
    hope dawn art angel chance clay lane noble sage scarlet stone summer sunny trip autumn melody harmony charity
    destiny brook crystal opal basil herb ginger
    """.split()  # noqa: SIM905
)
# What tells that the first word of a sentence is a person.
_PERSON = frozenset("he his him himself she her hers herself who".split())  # noqa: SIM905
_BEFORE_THINGS = frozenset("the a an of this that".split())  # noqa: SIM905
_ADVERBS = frozenset("never always often also just still already almost seldom sometimes usually rarely".split())  # noqa: SIM905
_SINGULAR = frozenset("is was has does isn't wasn't hasn't doesn't".split())  # noqa: SIM905
# What follows a person far more often than a thing.
_OF_PEOPLE = _VERBS | (_AUXILIARIES - frozenset("is can will and or does should must often".split()))  # noqa: SIM905
_AFTER_PLURAL = frozenset("are were have do don't aren't weren't haven't and or of".split())  # noqa: SIM905
_SMALL = frozenset("a an the and or of in on at to for from by with as but nor is I".split())  # noqa: SIM905
_ASKS = frozenset("Is Are Was Were Do Does Did Has Can Will".split())  # noqa: SIM905
_NAMED = _WORD_NAMES | _SELDOM_NAMES
_COMMON_ENDINGS = (
    *("ing", "ion", "ment", "ly", "ity", "ism", "ous", "ss", "able", "ible", "ful", "ship", "hood", "ics", "ology"),
    *("sis", "ic", "ive", "wise", "ever", "ward", "wards", "more", "while", "thing", "one", "body", "ure", "dom"),
    *("ance", "ence", "age", "ery", "ty", "acy", "ogy", "omy"),
)
_NOUNS_CAPITAL = frozenset(("de", "lb"))  # languages in which every noun has a capital letter
_LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f])*+"
_WORD = re.compile(rf"(?<![\w'’.-]){_LETTERS}(?:[-'’]{_LETTERS})*+")
_ENDING = re.compile(r"['’](?:s|m|ve|ll|d|re)?$", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[\s(\"'“‘„«-])[^\W\d_a-z]")
_CAPITALISED = re.compile(rf"(?<![\w'’.-])(?=[^\W\d_a-z]){_LETTERS}(?:[-'’]{_LETTERS})*+")
_ANY_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"(?:^|[.!?:…]['\"”’)]*\s+|[\"“„«(—–]\s*|[\"'‘]\s*$)\W*$")
FREQUENT = WORDS["en"]
LETTERS = 3.1  # mean letters a piece below which the model has seldom read a word
FEW_LETTERS = 2.0  # the same for a word with an ending of common words
LOOK_BACK = 16  # characters before a word that are searched for the beginning of a sentence


@dataclass(frozen=True)
class Knowledge:
    """Functions that say whether a model knows a word, how it spells it, and which language the word looks like."""

    known: Callable[[str], bool]
    """Return whether a word is in the model's vocabulary."""
    pieces: Callable[[str], int]
    """Return the number of subwords of a word."""
    of_target: Callable[[str], bool]
    """Return whether a known word, in lower case, is the target language's rather than the source language's."""
    unlike_source: Callable[[str], bool]
    """Return whether an unknown word, in lower case, looks like another language than the source's."""


def find_names(text: str, language: str | None, model: Knowledge) -> list[Span]:
    """Return the names in a sentence that the model does not know.

    In CAPITALS and Title Case names can't be told from other words, so there are none.
    """
    if _all_known(text, language, model) or _CAPITAL.search(f" {text}") is None:
        return []
    words = list(_WORD.finditer(text))
    capital = [one.group()[0].isupper() for one in words]
    written = [big for big, one in zip(capital, words, strict=True) if _bare(one.group()) not in _SMALL | _ASKS]
    if len(words) > 2 and all(written) and len(written) > 2:
        return []
    found = [capital[n] and _is_name(text, words, n, language, model) for n in range(len(words))]
    _take_neighbours(text, words, capital, found, model.known)
    return _joined(text, words, found)


def _all_known(text: str, language: str | None, model: Knowledge) -> bool:
    """Return whether no word with a capital letter can be a name, by a check that is fast and true of most texts."""
    last = 0
    for found in _CAPITALISED.finditer(text):
        last = found.start()
        if language in _NOUNS_CAPITAL:
            continue
        word = _bare(found.group())
        lower = word.lower()
        if len(word) > 1 and lower not in _TRANSLATED and (lower in _NAMED or not model.known(word)):
            return False
        if language == "en" and _is_of_target(text, found, model):
            return False
    return not last or _TITLES.isdisjoint(_ANY_WORD.findall(text[:last].lower()))


def _is_name(
    text: str,
    words: list[re.Match[str]],
    number: int,
    language: str | None,
    model: Knowledge,
) -> bool:
    """Return whether a word with a capital letter is a name that the model would not keep."""
    word, known = _bare(words[number].group()), model.known
    lower = word.lower()
    if number and words[number - 1].group().lower() in _TITLES:
        return True
    if language in _NOUNS_CAPITAL or len(word) < 2 or lower.endswith(("n't", "n’t")):
        return False
    if lower in _TRANSLATED or lower.removesuffix("s") in _TRANSLATED:
        return False
    of_target = language == "en" and _is_of_target(text, words[number], model)
    if of_target or _opens(text, words[number]):
        return of_target or (language == "en" and _begins_as_name(text, words, number, model))
    if language != "en" or not known(lower):
        return (language == "en" and lower in _NAMED) or not (known(word) or known(lower))
    before, after = words[number - 1].group().lower(), text[words[number].end() :].lstrip()[:1]
    thing = before in _BEFORE_THINGS or after.isdigit()
    return lower in _NAMED or not (known(word) or thing)  # no other English word has a capital inside a sentence


def _is_of_target(text: str, found: re.Match[str], model: Knowledge) -> bool:
    """Return whether a word of an English sentence is in the vocabulary only as a word of the target language.

    Language identification of one word is unsure. So at the beginning of a sentence, where any word has a capital
    letter, it is asked only about what is followed by a verb of people.
    """
    word = _bare(found.group())
    lower = word.lower()
    if len(word) < 3 or lower in FREQUENT or word.isupper() or lower in _TRANSLATED or lower.endswith(_COMMON_ENDINGS):
        return False
    if _opens(text, found):
        acts = not word.isascii() or _acts_as_person(text, found.end())
        candidate = acts and (model.known(word) or model.known(lower))
    else:
        before = text[: found.start()].split()
        candidate = model.known(word) and not (before and before[-1].lower() in _BEFORE_THINGS)
    return candidate and model.of_target(lower)


def _acts_as_person(text: str, end: int) -> bool:
    """Return whether a verb of people follows the word that ends here: Berg admires the view."""
    words = [_bare(one.group()) for one in islice(_WORD.finditer(text, end), 2)]
    following, third = (*words, "", "")[:2]
    does = following.islower() and following.endswith("s") and following not in _SINGULAR and third in _OBJECTS
    return text[end : end + 1] == " " and (does or _is_past(following) or following in _OF_PEOPLE - {"no"})


def _is_past(word: str) -> bool:
    """Return whether a word is a verb in the past tense, or a verb of people in any."""
    regular = word.endswith("ed") and word not in ("hundred", "need", "used")
    return regular or word in _VERBS or word in ("didn't", "doesn't", "couldn't", "wouldn't", "hadn't")


def _begins_as_name(text: str, words: list[re.Match[str]], number: int, model: Knowledge) -> bool:
    """Return whether the first word of an English sentence is a name: a noun in the singular without an article.

    A word that the model has read often is spelt in few pieces, a name in many: sci-ence, d-im-it-ri-os.
    """
    whole = words[number].group()
    word = _bare(whole)
    lower, following = word.lower(), _bare(_at(words, number + 1))
    regular = following.islower() and following.endswith(("ed", "ly"))
    person = regular or following in _OF_PEOPLE or _speaks_of_person(text, words[number])
    if lower in _SELDOM_NAMES:
        return person
    if lower not in _WORD_NAMES:
        if model.known(word) or model.known(lower):
            return False
        surname = following[:1].isupper() and following.lower() not in _TRANSLATED
        if surname or not (word.isascii() and word[1:].islower()):
            return not (word.isascii() and lower.endswith(_COMMON_ENDINGS))  # Helen Keller, Éric, McAllister, Jean-Luc
    return whole != word or _is_subject(text, words, number, model, regular=regular)  # the first is the genitive


def _is_subject(text: str, words: list[re.Match[str]], number: int, model: Knowledge, *, regular: bool) -> bool:
    """Return whether what follows the first word of a sentence is said of a name; `regular`: a word in -ed or -ly."""
    lower, following, third = words[number].group().lower(), _bare(_at(words, number + 1)), _at(words, number + 2)
    does = following.islower() and following.endswith("s") and following not in _AFTER_VERB
    does = does and third not in _AFTER_PLURAL
    verb = regular or does or following in _VERBS or following in _AUXILIARIES
    wanted = None if lower in _WORD_NAMES else _wanted_after(lower, model)
    if wanted is not None and not (verb and _speaks_of_person(text, words[number])):
        if wanted is _OF_PEOPLE and (regular or does):
            return True
        singular = wanted >= _SINGULAR and _is_of_one(following, third)
        past = _is_past(following) or (following.endswith("ly") and _is_past(third))
        odd = past and not lower.endswith(("ers", "ors")) and model.unlike_source(lower)
        return following in wanted or singular or odd
    return verb or text[words[number].end() : words[number].end() + 1] == ","


def _speaks_of_person(text: str, word: re.Match[str]) -> bool:
    """Return whether a sentence speaks of its first word as of a person: Carlos misses his wife; Carlos and I."""
    rest = text[word.end() :]
    return rest.startswith(" and I ") or not _PERSON.isdisjoint(_ANY_WORD.findall(rest))


def _is_of_one(following: str, third: str) -> bool:
    """Return whether a verb in the singular follows a word that looks plural: Vargas writes, Evans usually eats."""
    if following in _ADVERBS or following.endswith("ly"):
        verb = third.islower() and len(third) > 3 and third.endswith("s") and not third.endswith(("ss", "us"))
        return verb and third not in _ADVERBS
    return following.endswith("s") and (following in _VERBS or (following.islower() and third in _AFTER_VERB))


def _wanted_after(word: str, model: Knowledge) -> frozenset[str] | None:
    """Return what must follow an unknown word for it to be a name; None if whatever can follow a name is enough."""
    pieces, stem = model.pieces, word[:-1]
    spelt = len(word) / pieces(word)
    if word.endswith(_COMMON_ENDINGS) and spelt > FEW_LETTERS:
        return _VERBS
    plural = word.endswith("s") and not word.endswith(("is", "us"))
    if plural and (model.known(stem) or pieces(stem) < pieces(word)):
        return _SINGULAR  # otherwise it is a noun in the plural
    if plural and spelt > FEW_LETTERS:
        return _SINGULAR | _VERBS
    return _OF_PEOPLE if spelt > LETTERS else None


def _at(words: list[re.Match[str]], number: int) -> str:
    return words[number].group() if number < len(words) else ""


def _opens(text: str, word: re.Match[str]) -> bool:
    """Return whether a word begins a sentence or a quotation."""
    return _OPENS.search(text[max(0, word.start() - LOOK_BACK) : word.start()]) is not None


def _take_neighbours(
    text: str, words: list[re.Match[str]], capital: list[bool], found: list[bool], known: Callable[[str], bool]
) -> None:
    """Add the capitalised words beside a name, as the first name of a surname; `found` is changed."""
    for number in range(len(words) - 1, 0, -1):
        before = words[number - 1]
        if found[number] and capital[number - 1] and text[before.end() : words[number].start()] == " ":
            name = known(before.group()) and not _opens(text, before) and before.group().lower() not in _TRANSLATED
            found[number - 1] = found[number - 1] or (name and len(before.group()) > 1)
    for number in range(1, len(words)):
        between = text[words[number - 1].end() : words[number].start()]
        if (
            found[number - 1]
            and capital[number]
            and between == " "
            and words[number].group().lower() not in _TRANSLATED
        ):
            found[number] = True


def _joined(text: str, words: list[re.Match[str]], found: list[bool]) -> list[Span]:
    """Return the spans of names; adjacent words are one name, and a possessive ending is none of it."""
    spans: list[Span] = []
    for one, name in zip(words, found, strict=True):
        if not name:
            continue
        end = one.start() + len(_bare(one.group()))
        if spans and text[spans[-1].end : one.start()] == " ":
            spans[-1] = Span(spans[-1].start, end, "name")
        else:
            spans.append(Span(one.start(), end, "name"))
    return spans


def _bare(word: str) -> str:
    return _ENDING.sub("", word) if "'" in word or "’" in word else word
