"""XLIFF 1.2 and 2.x, and TMX: sources stay, targets are filled, codes are kept."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import kept, texts, translated
from tests.documents.samples.translators import MEMORY, NEW, OLD
from tests.documents.translators import ALL, Translate, every, upper

from regard.errors import UserError


def sources(text: str) -> list[str]:
    return re.findall(r"<(source|seg-source|note|seg)\b[^>]*>(.*?)</\1>", text, re.DOTALL)


def test_xliff_1_2() -> None:
    assert texts(OLD.encode(), "a.xlf") == ["Hello brave world", "안녕 친구", "One.", "Two it.", "Bold words"]
    assert kept(OLD.encode(), "a.xliff") == {"unit that has a translation, or is marked": 3}
    found = translated(OLD.encode(), "a.xliff", upper, "de").decode()
    machine = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    assert f'</source><target {machine}>HELLO <g id="1">BRAVE</g> <x id="2"/> WORLD</target></trans-unit>' in found
    assert f"<target {machine}>안녕 친구</target><note>" in found
    segments = '<mrk mtype="seg" mid="1">ONE.</mrk>\n   <mrk mtype="seg" mid="2">TWO IT.</mrk>'
    assert f"<target {machine}>{segments}</target>" in found
    assert '<target state="translated">Rote Äpfel</target>' in found and 'target-language="de"' in found
    assert '<bpt id="1">&lt;b&gt;</bpt>BOLD<ept id="1">&lt;/b&gt;</ept> WORDS <ph id="2">%s</ph></target>' in found
    assert sources(found) == sources(OLD)


def test_xliff_2() -> None:
    assert texts(NEW.encode(), "a.xlf") == ["Hello brave world", "Red apples"]
    found = translated(NEW.encode(), "a.xlf", upper, "de").decode()
    assert '<segment id="s1" state="translated"><source>' in found
    assert '<target>HELLO <pc id="1">BRAVE</pc> <ph id="2"/> WORLD</target></segment>' in found
    assert '<segment state="translated"><source>Red apples</source><target>RED APPLES</target></segment>' in found
    assert 'trgLang="de"' in found and found.count("<target>So</target>") == 1
    assert sources(found) == sources(NEW)


@pytest.mark.parametrize("version", ["1.2", "2.0"])
def test_a_target_keeps_space_as_its_source_does(version: str) -> None:
    unit = '<source xml:space="preserve">Two  words</source>'
    inside = (
        f'<trans-unit id="1">{unit}</trans-unit>' if version == "1.2" else f"<unit><segment>{unit}</segment></unit>"
    )
    space = f"urn:oasis:names:tc:xliff:document:{version}"
    found = translated(f'<xliff version="{version}" xmlns="{space}"><file>{inside}</file></xliff>'.encode(), "a.xlf")
    assert re.search(r"""<target[^>]* xml:space="preserve">Two  words</target>""", found.decode())


def unit(source: str) -> bytes:
    space = "urn:oasis:names:tc:xliff:document:1.2"
    inside = f'<trans-unit id="1"><source>{source}</source></trans-unit>'
    return f'<xliff version="1.2" xmlns="{space}"><file>{inside}</file></xliff>'.encode()


def test_placeholders_stay() -> None:
    """Those that are no codes, as programs export their messages; and what is marked as protected."""
    said = 'Hi %@, {{n}} of {0} &lt;b&gt;<g id="1">%1$d new</g>&lt;/b&gt; &amp;amp; <mrk mtype="protected">Old</mrk>'
    found = translated(unit(said), "a.xlf", upper).decode()
    target = 'HI %@, {{n}} OF {0} &lt;b&gt;<g id="1">%1$d NEW</g>&lt;/b&gt; &amp;amp; <mrk mtype="protected">Old</mrk>'
    assert f"{target}</target>" in found


def test_messages_with_plural_forms_stay() -> None:
    said = "{VAR_PLURAL, plural, =0 {just now} other {some minutes ago}}"
    assert texts(unit(said), "a.xlf") == []
    assert kept(unit(said), "a.xlf") == {"message with plural or select forms": 1}


def test_memory() -> None:
    assert texts(MEMORY.encode(), "a.tmx", "de", "en") == ["Hello brave world"]
    found = translated(MEMORY.encode(), "a.tmx", upper, "de", "en").decode()
    new = '<tuv xml:lang="de"><seg>HELLO <bpt i="1">&lt;b&gt;</bpt>BRAVE<ept i="1">&lt;/b&gt;</ept> WORLD</seg></tuv>'
    assert found.replace(new, "") == MEMORY
    assert texts(MEMORY.encode(), "a.tmx", "fr") == ["Hello brave world", "Red apples"]
    assert texts(MEMORY.encode(), "a.tmx", "en", "ko") == ["안녕"]


@every
@pytest.mark.parametrize(("name", "text"), [("a.xlf", OLD), ("b.xlf", NEW), ("a.tmx", MEMORY)])
def test_it_stays_xml(name: str, text: str, translate: Translate) -> None:
    found = translated(text.encode(), name, translate, "de", "en").decode()
    ElementTree.fromstring(found.encode())
    before, after = (len(re.findall(r"<(?:g|pc|x|bpt|ept|ph)\b", one)) for one in (text, found))
    assert after == 2 * before


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.xliff", b"<x/>", "is not XLIFF"),
        ("a.tmx", b"<x/>", "is not TMX"),
        ("a.tmx", MEMORY.encode(), "use --to"),
        ("a.xliff", b"<xliff>", "not well-formed"),
        ("a.tmx", b'<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><tmx>&b;</tmx>', "declares entities"),
    ],
)
def test_mistakes(name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        texts(content, name)


INLINE = st.recursive(
    st.sampled_from(
        ["a b", "안녕 ", " x", '<x id="1"/>', "<ph>%s</ph>", '<bx id="1"/>', '<ex id="1"/>', "&amp;", "<!-- c -->"]
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4).map("".join), inner.map(lambda text: f"<g>{text}</g>")),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(INLINE, st.sampled_from(ALL))
def test_any_unit(text: str, translate: Translate) -> None:
    head = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit>'
    content = f"{head}<source>{text}</source></trans-unit></body></file></xliff>"
    found = translated(content.encode(), "a.xlf", translate).decode()
    root = ElementTree.fromstring(found)
    source, target = next(iter(root.iter("{urn:oasis:names:tc:xliff:document:1.2}trans-unit")))
    assert [one.tag for one in source.iter()][1:] == [one.tag for one in target.iter()][1:]
    assert found.startswith(f"{head}<source>{text}</source><target")
