"""The messages of programs: keys, placeholders and layout stay, whatever a translation says."""

import json
import re
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import kept, texts, translated
from tests.documents.samples.resources import ANDROID, FILES, JSON, PROPERTIES, RESX, STRINGS, YAML
from tests.documents.translators import ALL, Translate, every, longer, same, upper

from regard.documents.segment import Translated
from regard.errors import UserError


@pytest.mark.parametrize("name", FILES)
def test_round_trip(name: str) -> None:
    content = FILES[name].encode()
    assert translated(content, name) == content
    marked = "\ufeff".encode() + content
    assert translated(marked, name) == marked
    ends = content.replace(b"\n", b"\r\n")
    assert translated(ends, name) == ends


def test_what_is_translated() -> None:
    assert texts(JSON.encode(), "a.json") == [
        "The garden", 'Hello, you have new "messages".', "See!", "one word", "두 단어", "café 😀",
    ]  # fmt: skip
    assert texts(YAML.encode(), "a.yml") == [
        "The garden", "It's a tree", "Two", 'lines é and "quotes"', "see now", "a sentence that goes on here",
        "First line.", "indented line", "Last line.", "One text over two lines.", "A paragraph.", "red apples",
        "one tree", "two, trees", "세계 여러분", "some words", "shown words", "first thing", "second thing",
    ]  # fmt: skip
    assert texts(PROPERTIES.encode(), "a.properties") == [
        "The garden", "one line and another", "It's of", "It's here", "café",
    ]  # fmt: skip
    assert texts(STRINGS.encode(), "a.strings") == ["The garden", 'You have "new" messages', "Two words"]
    assert texts(ANDROID.encode(), "strings.xml") == [
        "The garden", "Don't go & \"stay\"", "has trees", "and more", "Hello brave world", "As it is",
        "Monday morning", "화요일",
        "tree", "trees",
    ]  # fmt: skip
    assert texts(RESX.encode(), "a.resx") == ["The garden", "of trees"]
    assert kept(JSON.encode(), "a.json") == {
        "address, name of a file, or key": 2,
        "message with plural or select forms": 1,
    }


def values(node: object) -> list[object]:
    if isinstance(node, dict):
        return [one for value in node.values() for one in values(value)]
    return [one for value in node for one in values(value)] if isinstance(node, list) else [node]


def keys(node: object) -> object:
    if isinstance(node, dict):
        return {key: keys(value) for key, value in node.items()}
    return [keys(value) for value in node] if isinstance(node, list) else type(node)


@every
def test_json_stays_json(translate: Translate) -> None:
    found = json.loads(translated(JSON.encode(), "a.json", translate))
    assert keys(found) == keys(json.loads(JSON))
    assert re.findall(r"\{name\}|%d|\{\{page\}\}", found["greeting"]) == ["{name}", "%d", "{{page}}"]
    assert found["url"] == "https://x.org/a?b=c" and found["@title"] == {"description": "do not touch"}


class Loader(yaml.SafeLoader):  # type: ignore[misc]  # untyped
    pass


Loader.add_constructor("!secret", lambda loader, node: f"secret {node.value}")


@every
def test_yaml_stays_yaml(translate: Translate) -> None:
    before, found = (
        yaml.load(text, Loader=Loader) for text in (YAML, translated(YAML.encode(), "a.yaml", translate).decode())
    )
    assert keys(found) == keys(before)
    assert found["en"]["tagged"] == "secret hidden words"
    assert "%{name}" in found["en"]["other"] and "{name}" in found["en"]["plain"]
    assert found["en"]["block"].count("\n") == before["en"]["block"].count("\n")
    assert found["en"]["anchor"] == found["en"]["alias"]


def test_yaml_quotes_what_would_be_no_string() -> None:
    def no(text: str):  # type: ignore[no-untyped-def]
        return type(same(""))({"one": "no", "two": "12", "three": "a: b", "four": "x, y"}[text])

    content = b"a: one\nb: two\nc: three\nd: [four]\n"
    assert translated(content, "a.yaml", no) == b'a: "no"\nb: "12"\nc: "a: b"\nd: ["x, y"]\n'


def test_properties_are_written_so_that_old_programs_and_new_read_them() -> None:
    assert translated(b"a=tree\n", "a.properties", longer).isascii()
    assert b"\\uc548\\ub155" in translated(b"a=tree\n", "a.properties", longer)
    assert "안녕".encode() in translated("a=tree\nb=나무\n".encode(), "a.properties", longer)
    assert translated(b"a=It''s {0} here\nb=It's\n", "a.properties", upper) == b"a=IT''S {0} HERE\nb=IT'S\n"
    assert translated("a=Bäume\n".encode("latin-1"), "a.properties", upper) == b"a=B\\u00c4UME\n"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("a.json", r"Hello,\r\nyou", r"HELLO,\r\nYOU"),
        ("a.json", r"\tred\tapples\u0020", r"\tRED\tAPPLES\u0020"),
        ("a.json", "%d%% of {a}{b}", "%d%% OF {a}{b}"),
        ("a.properties", "one,\\\n  two,\\\n", "ONE,TWO,\\\n"),
        ("a.properties", r"one\ttwo\ ", r"ONE\tTWO\ "),
        ("strings.xml", '"It\'s  here "', '"IT\\\'S HERE "'),
        ("strings.xml", 'Say "it" now', "SAY IT NOW"),
        ("strings.xml", "Words that\n        go on", "WORDS THAT GO ON"),
        ("strings.xml", '"A <b>big</b> tree"', "A <b>BIG</b> TREE"),
        ("strings.xml", '"<b>big</b>"', '"<b>BIG</b>"'),
    ],
)
def test_what_is_around_a_text_stays(name: str, value: str, wanted: str) -> None:
    frame = {"a.json": '{"k": "…"}', "a.properties": "k=…", "strings.xml": "<resources><string>…</string></resources>"}
    content = frame[name].replace("…", value).encode()
    assert translated(content, name) == content
    assert translated(content, name, upper).decode() == content.decode().replace(value, wanted)


def test_escapes_are_written_again() -> None:
    assert b'"You have %d' not in translated(STRINGS.encode(), "a.strings", upper)
    assert rb'"YOU HAVE %d \"NEW\" MESSAGES\n%@"' in translated(STRINGS.encode(), "a.strings", upper)
    found = translated(ANDROID.encode(), "strings.xml", upper).decode()
    assert r">DON\'T GO &amp; \"STAY\"<" in found
    assert r">%1$s HAS %2$d TREES\nAND MORE<" in found
    assert '>HELLO <b>BRAVE</b> <xliff:g id="x" example="Kim">%s</xliff:g> WORLD<' in found
    assert translated(STRINGS.encode("utf-16"), "a.strings", upper).decode("utf-16").count("THE GARDEN") == 1


SECTIONS = {
    "strings.xml": "<resources><string name='a'>{}</string></resources>",
    "a.resx": "<root><data name='a'><value>{}</value></data></root>",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_messages_in_cdata(name: str) -> None:
    """They are translated, with the tags in them; a translation can't end the section."""
    content = SECTIONS[name].format("\n <![CDATA[Some <b>bold</b> words & %d more]]> ").encode()
    assert texts(content, name) == ["Some bold words & more"]
    assert translated(content, name) == content
    assert b"<![CDATA[SOME <b>BOLD</b> WORDS & %d MORE]]>" in translated(content, name, upper)
    ends = translated(content, name, lambda _: Translated("a ]]> b \x01"))
    assert "".join(ElementTree.fromstring(ends).itertext()).replace("%d", "").split() == ["a", "<b>]]></b>", "b"]
    mixed = SECTIONS[name].format("one <![CDATA[two]]>").encode()
    assert texts(mixed, name) == [] and sum(kept(mixed, name).values()) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_strings_in_utf_16(encoding: str) -> None:
    """With a byte order mark, and without one."""
    content = STRINGS.encode(encoding)
    assert texts(content, "a.strings") == texts(STRINGS.encode(), "a.strings")
    made = translated(content, "a.strings", upper)
    assert made.decode(encoding) == translated(STRINGS.encode(), "a.strings", upper).decode()


def test_symbols_stay() -> None:
    """Ruby's, as in the order of the parts of a date."""
    content = b"order:\n- :year\n- :month_name\ntext: ': a word'\n"
    assert texts(content, "a.yml") == [": a word"]


@every
@pytest.mark.parametrize("name", ["strings.xml", "a.resx"])
def test_xml_stays_xml(name: str, translate: Translate) -> None:
    found = translated(FILES[name].encode(), name, translate)
    names = [[(one.tag, one.attrib) for one in ElementTree.fromstring(text).iter()] for text in (FILES[name], found)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", b'{"a": 1,\n}', "a.json, line 2: not valid JSON"),
        ("a.json", b"[" * 100_000, "a.json: nested too deeply"),
        ("a.json", b'"\xff"', "a.json, line 1: not UTF-8"),
        ("a.yaml", b"a: [1\nb: 2", "not valid YAML"),
        ("a.yaml", b"[" * 50_000, "a.yaml: nested more than"),
        ("a.yaml", b"- " * 50_000, "a.yaml: nested more than"),
        ("a.xml", b"<page>text</page>", "not Android's"),
        ("a.xml", b"<page>text", "a.xml, line 1: is not well-formed"),
        ("a.xml", b'<!DOCTYPE r [<!ENTITY a "aaa">]><resources/>', "declares entities"),
        ("a.resx", b"<resources/>", "not a .NET resource file"),
        ("a.strings", b"bplist00\xd1\x01\xff", "binary form"),
    ],
)
def test_mistakes(name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)) as told:
        texts(content, name)
    assert "\n" not in str(told.value)


VALUE = st.recursive(
    st.one_of(st.text(max_size=30), st.integers(), st.booleans(), st.none(), st.sampled_from(["a b", "- x: y", "#no"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=30, deadline=None)
@given(VALUE, st.booleans(), st.sampled_from(ALL))
def test_any_json(value: object, ascii_only: bool, translate: Translate) -> None:
    content = json.dumps(value, ensure_ascii=ascii_only, indent=1).encode("utf-8", "surrogatepass")
    assert translated(content, "a.json") == content
    assert keys(json.loads(translated(content, "a.json", translate))) == keys(json.loads(content))


@settings(max_examples=30, deadline=None)
@given(VALUE, st.booleans(), st.sampled_from(['"', "'", "|", ">", None]), st.sampled_from(ALL))
def test_any_yaml(value: object, flow: bool, style: str | None, translate: Translate) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, default_style=style, allow_unicode=True)
    assert translated(text.encode(), "a.yaml") == text.encode()
    found = yaml.safe_load(translated(text.encode(), "a.yaml", translate))
    assert keys(found) == keys(yaml.safe_load(text))


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["a.properties", "a.strings"]), st.sampled_from(ALL))
def test_any_text(text: str, name: str, translate: Translate) -> None:
    content = (text + '\nkey = some words\n"key" = "more words";\n').encode("utf-8", "replace")
    assert translated(content, name) == content
    translated(content, name, translate)
