import re

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.translators import Translate, every, rebuilt, same, texts, upper
from tests.support.texts import any_text

from regard.documents.gettext import pieces
from regard.documents.segment import Translated


def message(text: str) -> str:
    return f'msgid "{text}"\nmsgstr ""\n'


def made_of(text: str, translate: Translate = upper) -> str:
    """The message that a translator makes of one."""
    return rebuilt(pieces(message(text)), translate).split("msgstr ")[1].strip()[1:-1]


def test_placeholders_stay_joined_to_what_they_were_joined_to() -> None:
    for text in ("PAGE %d/%d", "RANGE %d-%d BYTES", "EMAIL %s@%s SENT", "SAVE AS %s.TXT", "FILE '%s' NOT FOUND"):
        assert made_of(text) == text
    german = Translated("Datei '' nicht gefunden", ((0, 0), (1, 1), (2, 2), (3, 3)))
    assert made_of("File '%s' not found", lambda _: german) == "Datei '%s' nicht gefunden"
    assert made_of("%<PRIu64> bytes read") == "%<PRIu64> BYTES READ"


def test_columns_stay_where_they_are() -> None:
    assert made_of(r"-v, --verbose   be\tverbose") == r"-V, --VERBOSE   BE\tVERBOSE"


CATALOGUE = r"""# A comment.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: main.c:1
#, c-format
msgctxt "menu"
msgid "Delete %s from {folder}?"
msgstr ""

msgid "Done"
msgstr "Fertig"

#, fuzzy
msgid "Open it"
msgstr "Öffne"

msgid "%d file\n"
msgid_plural "%(count)d \"files\"\n"
msgstr[0] ""
msgstr[1] ""

msgid ""
"First line\n"
"  second <b>line</b>\n"
msgstr ""

msgid "100% done"
msgstr ""

#~ msgid "Gone"
#~ msgstr ""
"""


SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def messages(catalogue: str) -> list[tuple[str, str]]:
    """A second reading of a catalogue: its keywords with their strings."""
    found: list[tuple[str, str]] = []
    for line in catalogue.split("\n"):
        keyword, quote, rest = line.strip().partition('"')
        if not quote or line.startswith("#"):
            continue
        assert rest.endswith('"'), line
        text = re.sub(r"\\(.)", lambda one: SIGNS.get(one[1], one[1]), rest[:-1])
        if keyword.strip():
            found.append((keyword.strip(), text))
        else:
            found[-1] = (found[-1][0], found[-1][1] + text)
    return found


def test_what_is_translated() -> None:
    assert texts(pieces(CATALOGUE)) == ["Delete from?", "file", '"files"', "First line", "second line", "100% done"]


def test_a_translated_catalogue() -> None:
    found = dict.fromkeys(text for keyword, text in messages(rebuilt(pieces(CATALOGUE), upper)) if "msgstr" in keyword)
    assert list(found)[1:] == [
        "DELETE %s FROM {folder}?",
        "Fertig",
        "Öffne",
        "%d FILE\n",
        '%(count)d "FILES"\n',
        "FIRST LINE\n  SECOND <b>LINE</b>\n",
        "100% DONE",
    ]


def test_a_language_with_one_form_says_the_plural() -> None:
    entry = 'msgid "one dog"\nmsgid_plural "dogs"\nmsgstr[0] ""\n'
    assert texts(pieces(entry)) == ["dogs"]


@every
def test_all_else_stays(translate: Translate) -> None:
    found = rebuilt(pieces(CATALOGUE), translate)
    before = [line for line in CATALOGUE.split("\n") if not line.startswith(("msgstr", '"'))]
    assert [line for line in found.split("\n") if not line.startswith(("msgstr", '"'))] == before
    there = [one for one in messages(found) if not one[0].startswith("msgstr")]
    assert there == [one for one in messages(CATALOGUE) if not one[0].startswith("msgstr")]


line = st.one_of(
    st.sampled_from(["Save", "%s", "{x}", " ", "\n", '"', "\\", "저장", "שמור", "e\u0301👩\u200d👧"]), any_text
)


@settings(deadline=None)
@given(st.lists(st.lists(line, min_size=1, max_size=4).map("".join), max_size=4))
def test_a_copy_of_any_message_is_the_message(texts: list[str]) -> None:
    spelt = [
        "".join({"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}.get(sign, sign) for sign in text)
        for text in texts
    ]
    catalogue = "\n".join(f'msgid "{text}"\nmsgstr ""\n' for text in spelt)
    found = messages(rebuilt(pieces(catalogue), same))
    assert [text for keyword, text in found if keyword == "msgstr"] == texts


def test_time_is_linear() -> None:
    for message in ("<" + "a" * 200_000, "%(" * 50_000, "{" * 100_000, "%" + "1" * 100_000, "&a" * 50_000):
        catalogue = f'msgid "a {message}"\nmsgstr ""\n'
        assert rebuilt(pieces(catalogue), upper).count("msgstr") == 1
