import re

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.translators import Translate, every, rebuilt, same, texts, upper

from regard.documents.segment import Translated
from regard.documents.subtitles import srt, vtt

FILM = """1
00:00:01,000 --> 00:00:02,500
Hello, how
are <i>you</i>?

2
00:00:03,000 --> 00:00:04,000
- Fine.
- {\\an8}And you, 친구?

3
00:00:05,000 --> 00:00:06,000
♪ ♪
4
00:00:07,000 --> 00:00:08,000
42 is 42
"""


def timings(film: str) -> list[str]:
    return re.findall(r"[^\n]*\d --> \d[^\n]*", film)


def test_what_is_said() -> None:
    assert texts(srt(FILM)) == ["Hello, how are you?", "Fine.", "And you, 친구?", "42 is 42"]
    assert rebuilt(srt(FILM), upper) == (
        FILM.replace("Hello, how\nare <i>you</i>", "HELLO, HOW\nARE <i>YOU</i>")
        .replace("Fine", "FINE")
        .replace("And you", "AND YOU")
        .replace("is", "IS")
    )


def test_a_blank_line_inside_a_cue() -> None:
    film = "1\n00:00:01,000 --> 00:00:02,000\n\nFirst\n\nSecond\n\n2\n00:00:03,000 --> 00:00:04,000\nThird\n"
    assert texts(srt(film)) == ["First", "Second", "Third"]
    assert rebuilt(srt(film), same) == film


def test_speakers_inside_tags() -> None:
    assert texts(srt("1\n00:00:01,000 --> 00:00:02,000\n<i>- Hi.</i>\n<i>- Bye.</i>\n")) == ["Hi.", "Bye."]


def test_lines_are_as_many_as_there_were_but_never_blank() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\none two\nthree four\n"
    assert rebuilt(srt(cue), lambda _: Translated("eins zwei drei vier")).endswith("\neins zwei\ndrei vier\n")
    assert rebuilt(srt(cue), lambda _: Translated("eins")).endswith(",000\neins\n")


def test_webvtt() -> None:
    film = (
        "WEBVTT - a title\r\n\r\nNOTE not this\r\n\r\nSTYLE\r\n::cue { color: red }\r\n\r\nintro\r\n"
        "00:01.000 --> 00:02.000 line:0\r\n<v Ann>Salt &amp; pepper <00:01.500>now\r\n"
    )
    assert texts(vtt(film)) == ["Salt & pepper now"]
    assert rebuilt(vtt(film), same) == film
    assert rebuilt(vtt(film), upper) == film.replace("Salt &amp; pepper", "SALT &amp; PEPPER").replace("now\r", "NOW\r")


said = st.lists(
    st.sampled_from(
        ["Hi.", "- So?", "<b>한국어</b>", "שלום!", "e\u0301 👩\u200d👧", "a <i>b", "7", "{\\an8}", "--", "&"]
    ),
    min_size=1,
    max_size=4,
).map("\n".join)


@every
@settings(deadline=None)
@given(cues=st.lists(said, max_size=5), end=st.sampled_from(["\n", "\r\n"]))
def test_times_and_tags_stay(translate: Translate, cues: list[str], end: str) -> None:
    cue = "{0}\n00:00:0{0},000 --> 00:00:0{0},900\n{1}\n"
    film = "\n".join(cue.format(number + 1, text) for number, text in enumerate(cues)).replace("\n", end)
    for read in (srt, vtt):
        found = rebuilt(read(film), translate)
        assert timings(found) == timings(film)
        assert re.findall(r"</?[bi]>|\{\\an8\}", found) == re.findall(r"</?[bi]>|\{\\an8\}", film)
        assert len(re.split(r"(?:\r?\n){2,}", found)) == len(re.split(r"(?:\r?\n){2,}", film))
        if translate is same:
            assert found == film


def test_time_is_linear() -> None:
    for said in ("a <" + "i" * 50_000, "a\n" * 25_000, "<i>" * 12_000, "{\\" * 12_000):
        cue = f"1\n00:00 --> 00:01\n{said}"
        assert rebuilt(srt(cue), same) == cue
        assert rebuilt(srt(cue), upper).count("-->") == 1
