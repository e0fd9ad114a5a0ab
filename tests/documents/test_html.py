from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.translators import ALL, Translate, every, rebuilt, same, texts, upper, wild
from tests.support.texts import any_text

from regard.documents.html import beside_words, pieces
from regard.documents.html_attributes import SEEN

PAGE = """<!DOCTYPE html>
<html lang="en" class='x'>
<head><meta charset=utf-8><title>A &amp; B</title>
<script>if (a < b) document.write("<p>no</p>");</script><style>p { color: red }</style></head>
<body>
  <!-- a comment -->
  <p>Hello <b>brave</b> new <a href="x.html?a=1&amp;b=2" title="Not me">world</a>!</p>
  <p translate="no">Keep <i>this</i></p><p class="big notranslate">And this</p>
  <ul><li>first<li>second</ul>
  <p>Type <code>ls -l</code>, then press <kbd>Enter</kbd>.</p>
  <pre>int main()</pre><br>
  <table><tr><td>안녕하세요</td><td>42</td></tr></table>
</body></html>
"""


def test_links_without_a_space_between_are_texts_of_their_own() -> None:
    menu = '<nav><a href="/">Home</a><a href="/about">About us</a><a href="/c">연락처</a></nav>'
    assert texts(pieces(menu)) == ["Home", "About us", "연락처"]
    assert rebuilt(pieces(menu), upper) == menu.replace("Home", "HOME").replace("About us", "ABOUT US")


def test_elements_of_a_writers_own() -> None:
    """As DeepL's documents have them, and Weblate's placeholders."""
    text = "Please open the page <x>Settings</x> to configure <x/> it."
    assert texts(pieces(text, kept=["x"])) == ["Please open the page to configure it."]
    assert rebuilt(pieces(text, kept=["x"]), upper) == "PLEASE OPEN THE PAGE <x>Settings</x> TO CONFIGURE <x/> IT."
    document = "<document><par>The <hi>old</hi> man<br/>sleeps.</par><par>안녕 <ph/> 친구</par></document>"
    assert beside_words(document) == {"hi", "ph"}
    assert texts(pieces(document, inside=beside_words(document))) == ["The old man", "sleeps.", "안녕 친구"]
    assert rebuilt(pieces(document, inside=beside_words(document)), same) == document
    assert len(texts(pieces("<par>one</par><par>two <hi>three</hi></par>", inside=["hi"]))) == 2


@pytest.mark.parametrize(
    "page",
    [
        "<p>ABOUT 10<sup>6</sup> CELLS</p>",
        "<p>H<sub>2</sub>O IS WATER</p>",
        "<p>5 M<sup>2</sup>.</p>",
        "<p>IT WORKS.<sup>[1]</sup> THEN</p>",
        "<p><b>A</b>/<b>B</b> TEST</p>",
    ],
)
def test_a_tag_inside_a_word_stays_there(page: str) -> None:
    assert rebuilt(pieces(page), upper) == page


class Tags(HTMLParser):
    """The tags of a page as Python's own parser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        others = [pair for pair in attrs if pair[0] not in SEEN]  # those are translated
        self.found.append(("start", f"{tag} {len(attrs)} {others}"))

    def handle_endtag(self, tag: str) -> None:
        self.found.append(("end", tag))

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("declaration", decl))


def test_what_is_translated() -> None:
    assert texts(pieces(PAGE)) == [
        "A & B",
        "Not me",
        "Hello brave new world!",
        "first",
        "second",
        "Type, then press.",
        "안녕하세요",
    ]


def test_attributes_that_a_reader_sees() -> None:
    page = (
        '<meta name="description" content="small page"><meta name="generator" content="by hand">'
        "<p>see <img src=a.png alt='red car'> and <a href=x title=\"the &quot;end&quot;\">here</a></p>"
        '<input type=submit value=send name=q placeholder="이름 👩\u200d👧"><input value=keep>'
        '<p translate=no>x <img alt="no"></p><div aria-label="القائمة"><code title="no">make</code></div>'
    )
    found = pieces(page)
    seen = ["small page", "red car", 'the "end"', "see and here", "send", "이름 👩\u200d👧", "القائمة"]
    assert texts(found) == seen
    assert rebuilt(found, same) == page
    changed = rebuilt(found, upper)
    for written in ('content="SMALL PAGE"', 'alt="RED CAR"', 'title="THE &quot;END&quot;"', 'value="SEND"'):
        assert written in changed
    for kept in ('content="by hand"', "src=a.png", "value=keep", 'alt="no"', 'title="no"', "href=x"):
        assert kept in changed
    assert rebuilt(found, same) == page, "pieces can be written again"
    assert texts(pieces(page, attributes=False)) == ["see and here"]


def test_tags_go_with_their_words() -> None:
    page = '<p>The <b>red</b> car, "<a href=x>here</a>".</p>'
    assert texts(pieces(page)) == ['The red car, "here".']
    assert rebuilt(pieces(page), upper) == '<p>THE <b>RED</b> CAR, "<a href=x>HERE</a>".</p>'


def test_tags_follow_an_alignment_that_turns_words_round() -> None:
    from regard.documents.segment import Translated

    def turned(text: str) -> Translated:
        return Translated("Gestern ging die alte Frau.", ((4, 0), (3, 1), (0, 2), (1, 3), (2, 4)))

    found = rebuilt(pieces("<p>The <i>old <b>woman</b></i> went yesterday.</p>"), turned)
    assert found == "<p>Gestern ging die <i>alte <b>Frau</b></i>.</p>"


def test_without_an_alignment_tags_keep_their_proportion() -> None:
    from regard.documents.segment import Translated

    def german(text: str) -> Translated:
        return Translated("Hallo schöne neue Welt!")

    found = rebuilt(pieces("<p>Hello <b>brave</b> new world!</p>"), german)
    assert found == "<p>Hallo <b>schöne</b> neue Welt!</p>"


def test_no_element_is_emptied_while_there_are_words() -> None:
    found = rebuilt(pieces("<p><b>one</b> <i>two</i> <u>three</u></p>"), wild)
    assert found == "<p><b>x</b> <i>y</i> <u>z</u></p>"


def test_words_that_stay_keep_their_spaces() -> None:
    page = "<p>Type <code>ls</code>, then <kbd>Enter</kbd> twice (<var>n</var>).</p>"
    assert rebuilt(pieces(page), upper) == "<p>TYPE <code>ls</code>, THEN <kbd>Enter</kbd> TWICE (<var>n</var>).</p>"


def test_what_a_translation_writes_is_no_markup() -> None:
    from regard.documents.segment import Translated

    assert rebuilt(pieces("<p>a</p>"), lambda _: Translated("<script> & co")) == "<p>&lt;script&gt; &amp; co</p>"


def test_the_language_of_the_page() -> None:
    found = rebuilt(pieces(PAGE, "ko"), same)
    assert found == PAGE.replace('lang="en"', 'lang="ko"')
    assert rebuilt(pieces("<html lang=en-US data-lang='q'>x", "de"), same) == "<html lang=\"de\" data-lang='q'>x"
    assert rebuilt(pieces("<html>x", "de"), same) == "<html>x"


def test_exemptions_nest_and_end() -> None:
    page = "<div translate=no>a <p translate='YES'>b <b translate=no>c</b></p> d</div> e <p translate=no>f<p>g"
    assert texts(pieces(page)) == ["b", "e", "g"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a < b & c <3 d", ["a < b & c <3 d"]),
        ("x <b", ["x"]),
        ('x <b title="y>z', ["x"]),
        ("x <!-- y", ["x"]),
        ("x <!-- y > <b>z</b>", ["x"]),
        ("x <script>y", ["x"]),
        ("x <svg><text>y", ["x"]),
        ("</p></b>x</i></b>", ["x"]),
        ("<b><i>x</b></i> y", ["x y"]),
        ("<p>x &#" + "9" * 5000 + "; &#xfffffffff; &nosuch; &eacute", ["x \ufffd \ufffd &nosuch; é"]),
        ("<p>x &nbsp; y", ["x \xa0 y"]),
        ("<?php echo 1 ?><![CDATA[x]]></ y>z", ["z"]),
        ("<P>x</P><SCRIPT>y</sCript >z", ["x", "z"]),
        ("", []),
    ],
)
def test_broken_pages(page: str, expected: list[str]) -> None:
    assert texts(pieces(page)) == expected
    assert rebuilt(pieces(page), same) == page
    for translate in ALL:
        assert Tags(rebuilt(pieces(page), translate)).found == Tags(page).found


NAMES = ["p", "div", "b", "i", "a", "span", "code", "li", "td", "h1", "em", "section", "pre", "my-tag"]
ATTRIBUTES = ["", ' class="x y"', " translate=no", ' class="notranslate"', " href='a>b'", ' title="<b>"', " hidden"]
LOOSE = ["<br>", "<img src=x alt='y'>", "<!-- <b> -->", "<hr/>", "<script>a<b>'</script>", "<wbr>", "</b>", "<i>"]
words = st.one_of(
    st.sampled_from(
        ["Hello", "world.", " ", "\n  ", "&amp;", "&lt;b&gt;", "한국어", "שלום", "e\u0301", "👩\u200d👧", "中文。"]
    ),
    any_text.map(lambda text: text.replace("<", "").replace("&", "").encode("utf-8", "replace").decode()),
)


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tagged = st.builds(
        lambda name, attribute, inside: f"<{name}{attribute}>{inside}</{name}>",
        st.sampled_from(NAMES),
        st.sampled_from(ATTRIBUTES),
        inner,
    )
    return st.lists(st.one_of(tagged, inner), max_size=4).map(" ".join)


documents = st.recursive(st.one_of(words, st.sampled_from(LOOSE)), element, max_leaves=25)


@every
@settings(deadline=None)
@given(page=documents)
def test_tags_out_are_tags_in(translate: Translate, page: str) -> None:
    found = rebuilt(pieces(page), translate)
    assert Tags(found).found == Tags(page).found
    if translate is same:
        assert found == page


@settings(deadline=None)
@given(st.text(st.sampled_from("<>/!-='\"& abp\n한"), max_size=60))
def test_nothing_is_refused_and_nothing_lost(page: str) -> None:
    assert rebuilt(pieces(page), same) == page
    rebuilt(pieces(page), upper)


def test_time_is_linear() -> None:
    """Each of these took minutes if any part were quadratic."""
    for page in (
        "<a " * 50_000 + '=">"',
        "<b>" * 50_000 + "x",
        "</b>" * 50_000,
        "&#" * 50_000,
        "<!--" * 50_000,
        "<!--x>" * 50_000,
    ):
        assert rebuilt(pieces(page), same) == page
    inside = "<p>" + "a <b>b</b> " * 5_000
    assert rebuilt(pieces(inside), upper).count("<b>") == 5_000


def test_pictures_in_a_line_have_their_spaces_and_texts() -> None:
    page = '<p>Words <img alt="one"><img alt="two"> here <code title="stays">x</code> too</p>'
    assert rebuilt(pieces(page), same) == page
    wanted = '<p>WORDS <img alt="ONE"><img alt="TWO"> HERE <code title="stays">x</code> TOO</p>'
    assert rebuilt(pieces(page), upper) == wanted
