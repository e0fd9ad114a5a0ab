"""Random files of formats that programs read: identity gives the same bytes, any translation the same keys."""

import re
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.files import members, translated
from tests.documents.samples.epub import BOOK, book
from tests.documents.translators import ALL, Translate, same

SIGNS = st.sampled_from("ab xyz.{}%'\"\\=:#!&<>;é안\u0301👩\u200dש\t\n")
VALUE = st.text(SIGNS, max_size=20)
KEY = st.text(st.sampled_from('ab.안 =:#!"\\é'), min_size=1, max_size=6)
ENTRIES = st.dictionaries(KEY, VALUE, max_size=5)
TRANSLATE = st.sampled_from(ALL)


def properties(entries: dict[str, str]) -> str:
    """As java.util.Properties.store writes them, but for the escapes of letters."""

    def spelt(text: str, special: str) -> str:
        named = {"\n": "\\n", "\t": "\\t", "\\": "\\\\"}
        return "".join(named.get(sign, f"\\{sign}" if sign in special else sign) for sign in text)

    return "#date\n" + "".join(
        f"{spelt(key, ' =:#!')}={_indented(spelt(value, '=:#!'))}\n" for key, value in entries.items()
    )


def _indented(value: str) -> str:
    return f"\\{value}" if value.startswith(" ") else value


def properties_keys(text: str) -> list[str]:
    """The keys, by a reader of this test's own: a logical line goes on after an odd number of backslashes."""
    found, logical = [], ""
    for line in text.split("\n"):
        logical += line.lstrip() if logical else line
        if (len(logical) - len(logical.rstrip("\\"))) % 2:
            logical = logical[:-1]
            continue
        key = re.match(r"\s*((?:[^\\=:\s]|\\.)*)", logical)
        if key is not None and key[1] and key[1][0] not in "#!":
            found.append(key[1])
        logical = ""
    return found


@settings(max_examples=60, deadline=None)
@given(ENTRIES, TRANSLATE)
def test_properties(entries: dict[str, str], translate: Translate) -> None:
    text = properties(entries)
    assert translated(text.encode(), "a.properties") == text.encode()
    found = translated(text.encode(), "a.properties", translate).decode()
    assert properties_keys(found) == properties_keys(text)
    assert len(properties_keys(text)) == len(entries)


def strings(entries: dict[str, str]) -> str:
    def spelt(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    return "".join(f'/* a "comment" = "x"; */\n{spelt(key)} = {spelt(value)};\n' for key, value in entries.items())


@settings(max_examples=60, deadline=None)
@given(ENTRIES, TRANSLATE)
def test_strings(entries: dict[str, str], translate: Translate) -> None:
    text = strings(entries)
    assert translated(text.encode(), "a.strings") == text.encode()
    found = translated(text.encode(), "a.strings", translate).decode()
    entry = re.compile(r'/\* a "comment" = "x"; \*/\n("(?:[^"\\]|\\.)*") = "(?:[^"\\]|\\.)*";\n', re.DOTALL)
    assert entry.sub("", found) == "", "nothing but entries"
    assert entry.findall(found) == entry.findall(text)
    assert len(entry.findall(text)) == len(entries)


INLINE = st.recursive(
    st.text(st.sampled_from("ab x.é안\u0301👩ש&<"), max_size=8).map(escape),
    lambda inner: st.lists(inner | st.just('<x id="1"/>'), max_size=3).map(
        lambda some: f'<g id="2">{"".join(some)}</g>'
    ),
    max_leaves=4,
)
UNITS = st.lists(st.lists(INLINE, min_size=1, max_size=3).map("".join), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(UNITS, TRANSLATE)
def test_xliff(units: list[str], translate: Translate) -> None:
    space = "urn:oasis:names:tc:xliff:document:1.2"
    body = "\n".join(
        f'<trans-unit id="{n}"><source>{text}</source><note>x y</note></trans-unit>' for n, text in enumerate(units)
    )
    content = f'<xliff xmlns="{space}"><file source-language="en"><body>{body}</body></file></xliff>'
    for one in (same, translate):
        found = translated(content.encode(), "a.xliff", one, "de").decode()
        without = re.sub("<target.*?</target>", "", found, flags=re.DOTALL).replace(' target-language="de"', "")
        assert without == content, "only targets are added"
        for unit in ElementTree.fromstring(found).iter(f"{{{space}}}trans-unit"):
            source, target = unit.find(f"{{{space}}}source"), unit.find(f"{{{space}}}target")
            assert source is not None
            if target is None:
                continue  # nothing to translate
            tags = [sorted(inner.tag for inner in outer.iter() if inner is not outer) for outer in (source, target)]
            assert tags[0] == tags[1]
            if one is same:
                assert " ".join("".join(target.itertext()).split()) == " ".join("".join(source.itertext()).split())


PAGE = st.recursive(
    st.text(st.sampled_from("ab x.é안\u0301👩ש&<"), max_size=8).map(escape),
    lambda inner: st.builds(
        lambda tag, some: f"<{tag}>{''.join(some)}</{tag}>",
        st.sampled_from(["b", "span", "p", "div", "code", "li"]),
        st.lists(inner | st.sampled_from(["<br/>", '<img src="a.jpg" alt="a picture"/>', "<!-- x y -->"]), max_size=3),
    ),
    max_leaves=6,
)
XHTML = "http://www.w3.org/1999/xhtml"


@settings(max_examples=40, deadline=None)
@given(st.lists(PAGE, min_size=1, max_size=3), TRANSLATE)
def test_epub(pages: list[str], translate: Translate) -> None:
    named = {f"OPS/text/{n}.xhtml": f'<html xmlns="{XHTML}"><body>{page}</body></html>' for n, page in enumerate(pages)}
    items = "".join(
        f'<item id="i{n}" href="text/{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(pages))
    )
    content = book(**named, **{"OPS/book.opf": BOOK.replace("<manifest>", f"<manifest>{items}")})
    assert members(translated(content, "a.epub")) == members(content)
    found = members(translated(content, "a.epub", translate))
    for name, page in named.items():
        before, after = ElementTree.fromstring(page), ElementTree.fromstring(found[name])
        assert sorted(e.tag for e in before.iter()) == sorted(e.tag for e in after.iter())
