"""The page in Chromium, from a real server."""

import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docx
import pytest
import torch
from tests.serve.api.test_look import once
from tests.serve.running import Running, gated, running
from tests.serve.test_steady import LINES
from tests.support.waiting import until

from regard.look.page import VIEWER
from regard.serve.assets import PAGE
from regard.serve.limits.keys import new_key, read_keys
from regard.translate.load import load
from regard.translate.next_words import next_words
from regard.translate.protected.protect import Protector
from regard.translate.translator import Options, Translator

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright; pip install 'regard[dev]'")
expect = playwright.expect
expect.set_options(timeout=60_000)

TEXT = "The old woman sees 12 apples in the garden."
GERMAN = "Das Mädchen zählt große Bücher im Schnee, und der junge Mann sucht sie am Bahnhof."
KOREAN = "할머니가 정원에서 사과를 봅니다. 오늘은 날씨가 참 좋습니다."
PHONE = {"viewport": {"width": 380, "height": 780}}
Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: "Browser", served: Running) -> Iterator[Open]:
    """Opens the page; in the end nothing went wrong in it, and it asked nobody but its server."""
    trouble: list[str] = []
    contexts = []

    def opened(query: str = "?source=en&target=de", server: Running = served, **settings: Any) -> "Page":
        context = browser.new_context(**{"locale": "en", "viewport": {"width": 1280, "height": 900}, **settings})
        context.set_default_timeout(60_000)
        contexts.append(context)
        shown = context.new_page()
        shown.on("pageerror", lambda error: trouble.append(str(error)))
        shown.on("console", lambda message: trouble.append(message.text) if not refused(message.text) else None)
        shown.on("request", lambda request: trouble.append(request.url) if not at_home(request.url, server) else None)
        shown.goto(server.url + query)
        expect(shown.locator("#panel")).not_to_be_empty()
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def refused(line: str) -> bool:
    """What Chromium itself says of an answer that is none."""
    return line.startswith("Failed to load resource")


def at_home(url: str, server: Running) -> bool:
    return url.startswith((server.url, "data:", f"blob:{server.url}"))


def write(shown: "Page", text: str, translation: str) -> None:
    shown.fill("#text", text)
    expect(shown.locator("#translation")).to_have_value(translation)


@pytest.fixture(scope="module")
def translator(folders: dict[str, str]) -> Translator:
    return load(folders["en-de"])


@pytest.fixture(scope="module")
def aligned(translator: Translator) -> tuple[str, str, list[tuple[int, int]]]:
    """A text, its translation and their alignment."""
    found = (translator.window([text], Options(alignment=True))[0] for text in LINES)
    one = next(one for one in found if one.pairs and len({source for source, _ in one.pairs}) > 1)
    return one.source, one.text, list(one.pairs or ())


def test_translates_when_typing_pauses(open_page: Open, translator: Translator) -> None:
    shown = open_page()
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url) if request.url.endswith("/translate") else None)
    shown.clock.install()
    shown.clock.pause_at("2030-01-01")
    for letter in "A teacher":
        shown.press("#text", letter if letter != " " else "Space")
        shown.clock.run_for(200)
    assert asked == []
    shown.clock.run_for(100)
    expect(shown.locator("#translation")).to_have_value(translator.translate("A teacher"))
    assert len(asked) == 1
    shown.fill("#text", TEXT)
    shown.press("#text", "Control+Enter")  # no time passes
    expect(shown.locator("#translation")).to_have_value(translator.translate(TEXT))
    assert shown.text_content("#said") == f"German: {translator.translate(TEXT)}"
    shown.click("#clear")
    shown.clock.run_for(1)
    expect(shown.locator("#translation")).to_have_value("")
    assert len(asked) == 2


def test_stale_answers_are_dropped(open_page: Open, folders: dict[str, str], translator: Translator) -> None:
    with running(folders["en-de"]) as server, gated(server, folders["en-de"]) as gate:
        shown = open_page(server=server)
        shown.fill("#text", LINES[3])
        until(lambda: gate.entered == 1)
        assert shown.get_attribute("#answer", "aria-busy") == "true"
        shown.fill("#text", LINES[4])
        until(lambda: gate.entered == 2 or server.state.batcher.tokens > 0)
        gate.gate.set()
        expect(shown.locator("#translation")).to_have_value(translator.translate(LINES[4]))
        assert shown.get_attribute("#answer", "aria-busy") == "false"
        assert server.figure('regard_refused_total{reason="gone"}') == 1


def test_an_answer_to_what_was_typed_before(open_page: Open, folders: dict[str, str]) -> None:
    """It is dropped as soon as another letter is typed, not only when that is translated, too."""
    with running(folders["en-de"]) as server, gated(server, folders["en-de"]) as gate:
        shown = open_page(server=server)
        shown.clock.install()
        shown.clock.pause_at("2030-01-01")
        shown.fill("#text", LINES[3])
        shown.clock.run_for(300)
        until(lambda: gate.entered == 1)
        shown.fill("#text", LINES[4])
        gate.gate.set()
        until(lambda: server.state.at_work == 0)
        shown.wait_for_timeout(500)
        assert shown.input_value("#translation") == ""


def test_an_answer_that_comes_too_late(open_page: Open) -> None:
    """Even if nothing calls a request off, only the newest answer counts."""
    newest = """async () => {
        const { newest } = await import("/page/server.js");
        const request = newest(), counted = [], answers = [];
        const work = () => new Promise((...both) => answers.push(both));
        const runs = [1, 2, 3, 4].map(() => request.run(work, (n) => counted.push(n), (n) => counted.push(-n)));
        answers[1][0](1);
        answers[3][1](3);
        answers[0][1](0);
        answers[2][0](2);
        await Promise.all(runs);
        const late = request.run(work, (n) => counted.push(n), (n) => counted.push(-n));
        request.stop();
        answers[4][0](4);
        await late;
        return counted;
    }"""
    assert open_page().evaluate(newest) == [-3]


def test_languages(open_page: Open, folders: dict[str, str]) -> None:
    shown = open_page("")
    assert shown.locator("#source option").all_text_contents() == ["Detect language", "German", "English"]
    assert shown.input_value("#target") == "de"
    assert shown.is_disabled("#swap")
    shown.select_option("#target", "en")
    german = load(folders["de-en"]).translate(GERMAN)
    write(shown, GERMAN, german)
    assert shown.locator("#source option:checked").text_content() == "German (detected)"
    assert shown.url.endswith("/?source=auto&target=en")
    shown.click("#swap")
    assert (shown.input_value("#source"), shown.input_value("#target")) == ("en", "de")
    assert shown.input_value("#text") == german
    expect(shown.locator("#translation")).to_have_value(load(folders["en-de"]).translate(german))
    assert shown.url.endswith("/?source=en&target=de"), "no text gets into the address"
    shown.select_option("#source", "de")
    assert shown.input_value("#target") == "en", "a language is not translated into itself"
    assert shown.locator("#target option").all_text_contents() == ["English", "French"]
    shown.reload()
    expect(shown.locator("#source")).to_have_value("de")
    shown.select_option("#target", "fr")
    assert shown.is_disabled("#swap"), "nobody translates from French"
    again = open_page("?source=xx&target=fr")
    assert (again.input_value("#source"), again.input_value("#target")) == ("auto", "fr")
    again.select_option("#target", "de")
    write(again, GERMAN, german)
    expect(again.locator("#remark")).to_have_text("This is German, so it was translated into English.")


@pytest.mark.parametrize(
    ("locale", "remark", "part"),
    [
        ("en", "This is Korean, so it was left as it is.", "What is Korean was left as it is."),
        ("ko-KR", "한국어로 된 글이라 그대로 두었습니다.", "한국어로 된 부분은 그대로 두었습니다."),
    ],
)
@pytest.mark.parametrize("source", ["auto", "en"])
def test_a_text_in_another_language(
    open_page: Open, translator: Translator, source: str, locale: str, remark: str, part: str
) -> None:
    """It is left as it is, which is said; it is translated if one wants it, and only this text."""
    anyway = Options(force=True)
    shown = open_page(f"?source={source}&target=de", locale=locale)
    asked: list[Any] = []
    shown.on("request", lambda request: asked.append(request.post_data_json) if request.method == "POST" else None)
    write(shown, KOREAN, KOREAN)
    expect(shown.locator("#remark")).to_have_text(remark)
    assert shown.text_content("#said") == remark
    expect(shown.locator("#panel .note")).to_be_visible()
    shown.click("#tab-inside")
    expect(shown.locator("#panel .note")).to_be_visible()
    shown.click("#force")
    expect(shown.locator("#translation")).to_have_value(translator.translate(KOREAN, anyway))
    expect(shown.locator("#remark")).not_to_have_text(remark)
    expect(shown.locator("#force")).to_be_hidden()
    expect(shown.locator(".thumbnail").first).to_be_visible()
    assert shown.evaluate("document.activeElement.id") == "translation", "the button that was pressed is gone"
    shown.click("#tab-others")
    expect(shown.locator(".others li").first).to_be_visible()
    point(shown, "answer", 1)
    box = shown.locator("#answer [data-word='1']").bounding_box()
    assert box is not None
    shown.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(shown.locator(".words-menu [role=menuitem]").first).to_be_visible()
    shown.click("#tab-program")
    assert '"force":true' in (shown.text_content("pre") or "")
    shown.click("[data-value=python]")
    assert '"force": True' in (shown.text_content("pre") or "")
    asked.clear()
    both = f"{TEXT} {KOREAN}"
    write(shown, both, translator.translate(both))
    expect(shown.locator("#remark")).to_have_text(part)
    assert not any("force" in one for one in asked), "another text is not forced"
    shown.click("#force")
    expect(shown.locator("#translation")).to_have_value(translator.translate(both, anyway))


def test_a_text_in_the_target_language_without_a_way_back(
    open_page: Open, folders: dict[str, str], translator: Translator
) -> None:
    with running(folders["en-de"]) as server:
        shown = open_page(server=server)
        write(shown, GERMAN, GERMAN)
        expect(shown.locator("#remark")).to_have_text("This is German already.")
        shown.click("#force")
        expect(shown.locator("#translation")).to_have_value(translator.translate(GERMAN, Options(force=True)))
        shown.select_option("#source", "auto")
        expect(shown.locator("#translation")).to_have_value(GERMAN)
        expect(shown.locator("#remark")).to_have_text("This is German already.")
        expect(shown.locator("#force")).to_be_hidden()


@pytest.mark.parametrize(
    ("locale", "source", "remark"),
    [
        ("en", "auto", "This is German, so it was translated into English."),
        ("en", "en", "This is German, so it was translated into English."),
        ("ko-KR", "auto", "독일어로 된 글이라 영어로 번역했습니다."),
    ],
)
def test_a_text_in_the_target_language(
    open_page: Open, folders: dict[str, str], translator: Translator, locale: str, source: str, remark: str
) -> None:
    """It is translated the other way, which is said, until another text is typed."""
    shown = open_page(f"?source={source}&target=de", locale=locale)
    back = load(folders["de-en"]).translate(GERMAN)
    write(shown, GERMAN, back)
    expect(shown.locator("#remark")).to_contain_text(remark)
    assert remark in (shown.text_content("#said") or "")
    expect(shown.locator("#target")).to_have_value("en")
    assert shown.input_value("#source") == ("auto" if source == "auto" else "de")
    expect(shown.locator(".others li").first).to_be_visible()
    shown.click("#tab-program")
    assert '"target":"en"' in (shown.text_content("pre") or "")
    write(shown, TEXT, translator.translate(TEXT))
    expect(shown.locator("#target")).to_have_value("de")
    assert shown.input_value("#source") == source
    expect(shown.locator("#remark")).not_to_contain_text(remark)
    write(shown, GERMAN, back)
    shown.click("#swap")
    assert (shown.input_value("#source"), shown.input_value("#target")) == ("en", "de")
    assert shown.input_value("#text") == back


@pytest.mark.parametrize(
    ("locale", "target"), [("en-GB", "de"), ("de-AT", "de"), ("fr-CA", "fr"), ("ko-KR", "de"), ("ar", "de")]
)
def test_the_first_visit_is_in_the_visitors_language(open_page: Open, locale: str, target: str) -> None:
    shown = open_page("", locale=locale)
    assert (shown.input_value("#source"), shown.input_value("#target")) == ("auto", target)
    asked = open_page("?target=en", locale=locale)
    assert asked.input_value("#target") == "en", "the address comes first"


def test_copy(open_page: Open, translator: Translator) -> None:
    shown = open_page(permissions=["clipboard-read", "clipboard-write"])
    write(shown, TEXT, translator.translate(TEXT))
    shown.click("#copy")
    expect(shown.locator("#copy")).to_have_text("Copied")
    assert shown.evaluate("navigator.clipboard.readText()") == translator.translate(TEXT)
    forbidden = "{ configurable: true, value: { writeText: () => Promise.reject(new Error('not allowed')) } }"
    shown.evaluate(f"Object.defineProperty(navigator, 'clipboard', {forbidden})")
    expect(shown.locator("#copy")).to_have_text("Copy")
    shown.click("#copy")
    expect(shown.locator("#copy")).to_have_text("Copied")
    shown.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    shown.click("#tab-program")
    shown.click("#panel button:has-text('Copy')")
    expect(shown.locator("#panel .quiet")).to_have_text("Copied")


def test_the_counter_and_its_limit(open_page: Open, folders: dict[str, str], translator: Translator) -> None:
    with running(folders["en-de"], characters=20, look_characters=10) as server:
        shown = open_page(server=server)
        asked: list[str] = []
        shown.on("request", lambda request: asked.append(request.url))
        shown.fill("#text", "🙂 봅니다 " * 4)
        expect(shown.locator("#trouble")).to_have_text("This is too long: 20 characters are allowed.")
        assert (shown.text_content("#count"), shown.get_attribute("#count", "class")) == ("24 / 20", "over")
        assert asked == []
        write(shown, "A teacher finds it.", translator.translate("A teacher finds it."))
        assert (shown.text_content("#count"), shown.get_attribute("#count", "class")) == ("19 / 20", "")
        expect(shown.locator("#trouble")).to_be_empty()
        shown.click("#tab-inside")
        expect(shown.locator("#panel .trouble")).to_have_text("This is too long: 10 characters are allowed.")


def test_a_long_text_leaves_the_rest_in_sight(open_page: Open) -> None:
    """It scrolls in its own place, and the words behind it with it."""
    shown = open_page()
    shown.fill("#text", "A teacher finds bicycles. " * 190)
    expect(shown.locator("#translation")).not_to_have_value("")
    expect(shown.locator("#count")).to_be_in_viewport()
    expect(shown.locator("#copy")).to_be_in_viewport()
    shown.press("#text", "Control+End")
    point(shown, "given", 3)
    last = shown.locator("#given [data-word]").last
    last.scroll_into_view_if_needed()
    assert last.text_content() == "bicycles."
    heights = shown.eval_on_selector_all("#given .sheet > *", "both => both.map((one) => one.offsetHeight)")
    assert heights[0] == heights[1] > 900


def test_alternatives_beside_the_translation(open_page: Open, translator: Translator) -> None:
    """The best is not repeated, words that it lacks are marked, and a bar is the probability beside the best's."""
    shown = open_page()
    write(shown, TEXT, translator.translate(TEXT))
    best, found = (translator.window([TEXT], Options(n_best=n_best))[0] for n_best in (1, 4))
    wanted = [(text, score) for text, score in once(found) if text != best.text][:3]
    expect(shown.locator(".others li")).to_have_count(len(wanted))
    assert shown.locator(".others .text").all_text_contents() == [text for text, _ in wanted] != []
    bars = shown.locator(".bar span").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.inlineSize))")
    assert bars == pytest.approx([100 * min(1, math.exp(score - best.score)) for _, score in wanted], abs=0.2)
    for item, (text, _) in zip(shown.locator(".others li").all(), wanted, strict=True):
        marked = item.locator("mark").all_text_contents()
        assert {word for word in text.split() if word not in best.text.split()} <= set(marked) < {*text.split(), ""}


def test_what_is_shown_of_the_text_before_is_marked(
    open_page: Open, folders: dict[str, str], translator: Translator
) -> None:
    with running(folders["en-de"]) as server:
        shown = open_page(server=server)
        write(shown, LINES[3], translator.translate(LINES[3]))
        shown.click("#tab-inside")
        expect(shown.locator(".thumbnail").first).to_be_visible()
        with gated(server, folders["en-de"]) as gate:
            shown.fill("#text", LINES[4])
            expect(shown.locator("#panel.stale")).to_have_count(1)
            until(lambda: gate.entered == 1)
            shown.click("#tab-others")
            shown.click("#tab-inside")
            expect(shown.locator("#panel.stale .thumbnail").first).to_be_visible()
            label = shown.evaluate("getComputedStyle(document.getElementById('panel'), '::before').content")
            assert "From the previous text" in shown.evaluate("document.getElementById('panel').dataset.stale")
            assert label != "none"
            gate.gate.set()
            expect(shown.locator("#translation")).to_have_value(translator.translate(LINES[4]))
            expect(shown.locator("#panel.stale")).to_have_count(0)


def test_another_word(open_page: Open, translator: Translator) -> None:
    """By click or by Enter; what follows is searched again, and it can be undone."""
    shown = open_page()
    best = translator.translate(TEXT)
    write(shown, TEXT, best)
    point(shown, "answer", 1)
    box = shown.locator("#answer [data-word='1']").bounding_box()
    assert box is not None
    shown.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    items = shown.locator(".words-menu [role=menuitem]")
    expect(items.first).to_be_visible()
    beginning = best.split()[0]
    wanted = [one for one in next_words(translator, TEXT, beginning) if one.word != best.split()[1]]
    assert items.locator("bdi").all_text_contents() == [one.word for one in wanted] != []
    items.last.click()
    expect(shown.locator("#translation")).to_have_value(wanted[-1].text)
    expect(shown.locator("#remark")).to_have_text("With a word you chose.")
    shown.click("#undo")
    expect(shown.locator("#translation")).to_have_value(best)
    expect(shown.locator("#undo")).to_be_hidden()
    shown.focus("#translation")
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("Enter")
    expect(items.first).to_be_focused()
    shown.keyboard.press("Escape")
    expect(shown.locator(".words-menu")).to_have_count(0)
    assert shown.evaluate("document.activeElement.id") == "translation"


def test_weak_words_are_underlined(open_page: Open) -> None:
    """With what else was probable; not those of a text that was corrected or of another choice."""
    text = "The quarterly flange report is overdue."
    with running("en-de") as server:
        best = server.state.models.loaded("en-de").translator.window([text], Options(target="de", token_scores=True))[0]
        assert best.weak_words, "a model of everyday sentences is not sure of this one"
        shown = open_page(server=server)
        write(shown, text, best.text)
        weak = shown.locator("#answer .mirror .weak")
        expect(weak).to_have_count(len(best.weak_words))
        assert weak.all_text_contents() == [best.text.split()[number] for number in best.weak_words]
        (number, probability), *_ = best.weak_words.items()
        box = shown.locator(f"#answer [data-word='{number}']").bounding_box()
        assert box is not None
        shown.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        percent = 100 * probability
        said = f"The model was not sure of this word ({percent:.{1 if percent < 9.95 else 0}f} %)."
        expect(shown.locator(".words-menu .note")).to_have_text(said)
        shown.locator(".words-menu [role=menuitem]").first.click()
        expect(shown.locator("#undo")).to_be_visible()
        expect(weak).to_have_count(0)
        shown.click("#undo")
        expect(weak).to_have_count(len(best.weak_words))


def test_a_correction_takes_effect(
    open_page: Open, folders: dict[str, str], translator: Translator, tmp_path: Path
) -> None:
    best, better = translator.translate(TEXT), "Die alte Frau sieht 12 Äpfel. 🙂"
    with running(folders["en-de"], memory=tmp_path / "work.db") as server:
        shown = open_page(server=server)
        expect(shown.locator("#correct")).to_be_hidden()
        write(shown, TEXT, best)
        shown.click("#correct")
        shown.fill("#translation", "no")
        shown.keyboard.press("Escape")
        expect(shown.locator("#translation")).to_have_value(best)
        shown.click("#correct")
        shown.fill("#translation", better)
        shown.click("#save")
        expect(shown.locator("#remark")).to_have_text("Saved. From now on this text is translated like this.")
        assert server.post("/translate", {"q": TEXT, "source": "en", "target": "de"}).json["translatedText"] == better
        again = open_page(server=server)
        write(again, TEXT, better)
        expect(again.locator("#remark")).to_have_text("This is a saved correction.")
    shown = open_page()
    write(shown, TEXT, best)
    expect(shown.locator("#correct")).to_be_hidden()


def test_examples_and_what_the_model_is_good_for(open_page: Open) -> None:
    with running("en-de") as server:
        shown = open_page(server=server)
        expect(shown.locator(".examples button")).to_have_count(3)
        good_for = "The model here: A small Transformer for everyday sentences."
        expect(shown.locator("#welcome .note")).to_have_text(good_for)
        shown.click("#speak")
        expect(shown.locator("#welcome .note span")).to_have_text("일상적인 문장에 알맞은 작은 트랜스포머 모델입니다.")
        expect(shown.locator("#welcome .note span")).to_have_attribute("lang", "ko")
        shown.click("#speak")
        expect(shown.locator("#welcome .note span")).to_have_attribute("lang", "en")
        shown.select_option("#source", "de")
        shown.select_option("#target", "en")
        expect(shown.locator(".examples button").first).to_have_text("Wo ist der Bahnhof?")
        shown.locator(".examples button").first.click()
        expect(shown.locator("#translation")).to_have_value("Where's the station?")
        expect(shown.locator("#welcome")).to_be_hidden()


def test_one_taps_where_there_is_no_pointer(open_page: Open, translator: Translator) -> None:
    shown = open_page(has_touch=True, is_mobile=True, **PHONE)
    assert shown.get_attribute("#text", "placeholder") == "Type or paste a text"  # there is no file to drop
    write(shown, TEXT, translator.translate(TEXT))
    expect(shown.locator("#panel .note")).to_contain_text("Tap a word")


def test_files(open_page: Open, served: Running, folders: dict[str, str]) -> None:
    """Chosen or dropped: with progress, and a link in the end."""
    content = f"{LINES[8]}\n\n{LINES[9]} 🙂\n"
    others = set(served.state.downloads._files)  # what other tests left on the server that all of them share
    shown = open_page()
    with gated(served, folders["en-de"]) as gate:
        with shown.expect_file_chooser() as chooser:
            shown.click("#choose")
        chooser.value.set_files({"name": "a.txt", "mimeType": "text/plain", "buffer": content.encode()})
        expect(shown.locator("#files .state")).to_have_text("Translating")
        assert shown.get_attribute("#files progress", "value") is None, "nothing is translated yet"
        assert shown.get_attribute("#files progress", "aria-label") == "a.txt"
        drop(shown, "b.md", f"# {LINES[8]}\n")
        drop(shown, "c.txt", "called off")
        shown.click("#files li:nth-child(3) button")
        assert shown.locator("#files li").count() == 2
        gate.gate.set()
        expect(shown.locator("#files a")).to_have_count(2)
    with shown.expect_download() as download:
        shown.click("#files a >> nth=0")
    assert download.value.suggested_filename == "a.de.txt"
    translate = load(folders["en-de"]).translate
    translated = f"{translate(LINES[8])}\n\n{translate(f'{LINES[9]} 🙂')}\n"
    assert Path(download.value.path()).read_text(encoding="utf-8") == translated
    drop(shown, "photo.png", "…")
    expect(shown.locator("#files .bad")).to_contain_text("can't be translated. These can: .htm .html")
    assert set(served.state.downloads._files) <= others, "the page has its own"


def test_files_left_in_another_language_are_told(open_page: Open) -> None:
    """With the language: of a part of a file, or of all of it; in a file that is translated, nothing is said."""
    shown = open_page()
    drop(shown, "a.txt", f"{LINES[8]}\n\n{KOREAN}\n")
    drop(shown, "b.txt", f"{KOREAN}\n")
    drop(shown, "c.txt", f"{LINES[8]}\n")
    expect(shown.locator("#files a")).to_have_count(3)
    rows = [shown.locator(f"#files li:nth-child({number})") for number in (1, 2, 3)]
    expect(rows[0].get_by_role("status")).to_have_text("What is Korean was left as it is.")
    expect(rows[1].get_by_role("status")).to_have_text("This is Korean, so it was left as it is.")
    expect(rows[2].get_by_role("status")).to_have_count(0)


def word(*paragraphs: str) -> bytes:
    document, out = docx.Document(), io.BytesIO()
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


def test_an_office_document_by_keyboard(open_page: Open, folders: dict[str, str]) -> None:
    """Chosen with the keyboard, with progress, and downloaded with the keyboard, in Korean."""
    model = folders["en-de"]
    with running(model) as server:
        shown = open_page(server=server, locale="ko")
        expect(shown.locator("#file")).to_have_attribute("accept", re.compile(r"\.docx"))
        with gated(server, model):
            shown.locator("#choose").focus()
            expect(shown.locator("#choose")).to_be_focused()
            with shown.expect_file_chooser() as chooser:
                shown.locator("#choose").press("Enter")
            content = word(LINES[8], LINES[9])
            chooser.value.set_files({"name": "보고서.docx", "mimeType": "application/zip", "buffer": content})
            until(lambda: any(job.status == "translating" for job in server.state.jobs._jobs.values()))
            (job,) = server.state.jobs._jobs.values()
            job.progress = 0.4
            expect(shown.locator("#files progress")).to_have_js_property("value", 0.4)
            expect(shown.locator("#files .state")).to_have_text("번역하는 중")
            shown.focus("#files button")
        link = shown.locator("#files a")
        expect(link).to_have_text("내려받기")
        expect(link).to_be_focused()
        with shown.expect_download() as download:
            shown.keyboard.press("Enter")
    assert download.value.suggested_filename == "보고서.de.docx"
    document = docx.Document(str(download.value.path()))
    assert [one.text for one in document.paragraphs] == load(model).translate([LINES[8], LINES[9]])


def test_a_file_that_cannot_be_read_is_told_in_a_sentence(open_page: Open) -> None:
    shown = open_page(locale="ko")
    shown.evaluate(DRAG, ["drop", "a.docx", "no document"])
    expect(shown.locator("#files .bad")).to_have_text(re.compile(r"^문제가 생겼습니다. a.docx: is not a whole file"))
    shown.evaluate(DRAG, ["drop", "a.txt", "x" * (4 << 20)])
    expect(shown.locator("#files .bad >> nth=1")).to_have_text("내용이 너무 깁니다.")


def test_a_file_called_off_is_not_translated(open_page: Open, folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model) as server, gated(server, model) as gate:
        shown = open_page(server=server)
        drop(shown, "a.txt", LINES[8])
        until(lambda: gate.entered == 1)
        expect(shown.locator("#files .state")).to_have_text("Translating")
        shown.click("#files button")
        until(lambda: not server.state.jobs._jobs)
        drop(shown, "b.txt", LINES[9])
        until(lambda: len(server.state.jobs._jobs) == 1)
        expect(shown.locator("#files .state")).to_have_text("Translating")
        shown.goto("about:blank")
        until(lambda: not server.state.jobs._jobs)
        gate.gate.set()


DRAG = """([kind, name, content]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([content], name));
    document.getElementById("text").dispatchEvent(
        new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
}"""


def drop(shown: "Page", name: str, content: str) -> None:
    shown.evaluate(DRAG, ["dragover", name, content])
    expect(shown.locator(".drop")).to_have_text("Drop a file here to translate it into German")
    shown.evaluate(DRAG, ["drop", name, content])
    expect(shown.locator(".drop")).to_be_hidden()


def test_words_light_up_with_those_they_are_aligned_with(
    open_page: Open, aligned: tuple[str, str, list[tuple[int, int]]]
) -> None:
    text, translation, pairs = aligned
    shown = open_page()
    write(shown, text, translation)
    sides = ("given", "answer")
    for side, other in ((1, 0), (0, 1)):
        for number in {pair[side] for pair in pairs}:
            point(shown, sides[side], number)
            wanted = sorted({pair[other] for pair in pairs if pair[side] == number})
            until(lambda: lit(shown, sides[other]) == wanted and number in lit(shown, sides[side]))  # noqa: B023
    shown.mouse.move(0, 0)
    expect(shown.locator(".lit")).to_have_count(0)
    words = shown.locator("#given [data-word]").all_text_contents()
    assert words == text.split()
    shown.focus("#translation")
    for number in range(len(translation.split())):
        shown.keyboard.press("ArrowRight")
        wanted = [source for source, target in pairs if target == number]
        until(lambda: lit(shown, "given") == wanted and number in lit(shown, "answer"))  # noqa: B023
    shown.press("#text", "End")
    shown.press("#text", "!")
    expect(shown.locator(".lit")).to_have_count(0)


def point(shown: "Page", side: str, number: int) -> None:
    """Move to a word, which the mirror behind the text knows the place of."""
    field = shown.locator(f"#{side} textarea").bounding_box()
    assert field is not None
    shown.mouse.move(field["x"] + 5, field["y"] + 5)
    box = shown.locator(f"#{side} [data-word='{number}']").bounding_box()
    assert box is not None
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def lit(shown: "Page", side: str) -> list[int]:
    found: list[int] = shown.locator(f"#{side} .lit").evaluate_all("words => words.map(word => +word.dataset.word)")
    return found


def test_the_request_as_programs_write_it(open_page: Open, translator: Translator) -> None:
    text = 'It\'s "12" apples\\n $HOME\n`봅니다` 🙂'
    shown = open_page()
    write(shown, text, translator.translate(text))
    shown.click("#tab-program")
    curl = shown.text_content("pre") or ""
    shown.click("[data-value=python]")
    python = shown.text_content("pre") or ""
    shown.fill("#text", TEXT)
    assert TEXT in (shown.text_content("pre") or ""), "it is always the present one"
    printed = subprocess.run([sys.executable, "-c", python], capture_output=True, check=True, encoding="utf-8").stdout
    assert printed.rstrip("\n") == translator.translate(text)
    if subprocess.run(["which", "curl"], capture_output=True, check=False).returncode == 0:
        answer = subprocess.run(["sh", "-c", curl], capture_output=True, check=True, encoding="utf-8").stdout
        assert json.loads(answer)["translatedText"] == translator.translate(text)


def test_the_server_is_gone(open_page: Open, translator: Translator) -> None:
    shown = open_page()
    write(shown, TEXT, translator.translate(TEXT))
    shown.context.set_offline(True)
    shown.fill("#text", LINES[12])
    expect(shown.locator("#trouble")).to_contain_text("The server does not answer. Trying again in 2 s.")
    expect(shown.locator("#trouble")).to_contain_text("Trying again in 4 s.")  # longer each time
    shown.context.set_offline(False)
    shown.click("#trouble button")
    expect(shown.locator("#translation")).to_have_value(translator.translate(LINES[12]))
    expect(shown.locator("#trouble")).to_be_empty()


def test_the_server_is_busy(open_page: Open, folders: dict[str, str], translator: Translator) -> None:
    """It is tried again after the time that the server says."""
    model = folders["en-de"]
    with running(model, requests=1) as server, gated(server, model) as gate, ThreadPoolExecutor(1) as pool:
        shown = open_page(server=server)
        other = pool.submit(server.post, "/translate", {"q": LINES[0], "source": "en", "target": "de"})
        until(lambda: gate.entered == 1)
        shown.fill("#text", TEXT)
        expect(shown.locator("#trouble")).to_contain_text("The server is busy. Trying again in 1 s.")
        gate.gate.set()
        expect(shown.locator("#translation")).to_have_value(translator.translate(TEXT))
        assert other.result().status == 200


def test_a_key_and_its_rate(open_page: Open, folders: dict[str, str], translator: Translator, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.txt", "anna")
    with running(folders["en-de"], keys=read_keys(tmp_path / "keys.txt"), key_rate=6) as server:
        server.state.rates.clock = lambda: 0.0  # so that no time passes
        shown = open_page(server=server)
        expect(shown.locator("#key")).to_be_visible()
        shown.fill("#text", TEXT)
        expect(shown.locator("#trouble")).to_have_text("This server needs a valid key.")
        shown.fill("#secret", "wrong")
        shown.press("#secret", "Enter")
        expect(shown.locator("#trouble")).to_have_text("This server needs a valid key.")
        shown.fill("#secret", key)
        shown.click("#key button")
        expect(shown.locator("#translation")).to_have_value(translator.translate(TEXT))
        expect(shown.locator("#key")).to_be_hidden()
        assert shown.evaluate("[sessionStorage.length, localStorage.length]") == [1, 0]
        expect(shown.locator("#panel .trouble")).to_contain_text("Too many requests in a short time.")
        shown.fill("#text", GERMAN)
        expect(shown.locator("#trouble")).to_contain_text(re.compile("Too many .* Trying again in [0-9]+ s."))
        shown.click("#tab-program")
        assert "YOUR KEY" in (shown.text_content("pre") or "") and key not in shown.content()


def test_light_and_dark(open_page: Open) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    shown, dark = open_page(), open_page(color_scheme="dark")
    light = shown.evaluate(colour)
    assert dark.evaluate(colour) != light
    assert (shown.get_attribute("#theme", "aria-pressed"), dark.get_attribute("#theme", "aria-pressed")) == (
        "false",
        "true",
    )
    shown.click("#theme")
    assert shown.evaluate(colour) == dark.evaluate(colour)
    shown.reload()
    assert shown.evaluate(colour) == dark.evaluate(colour), "it is remembered"
    shown.click("#theme")
    assert shown.evaluate(colour) == light
    shown.emulate_media(color_scheme="dark")
    assert shown.evaluate(colour) == dark.evaluate(colour), "what the system says holds again"


def test_english_and_korean(open_page: Open, translator: Translator) -> None:
    shown = open_page(locale="ko-KR")
    assert shown.get_attribute("html", "lang") == "ko"
    assert shown.locator("#source option").all_text_contents() == ["언어 감지", "독일어", "영어"]
    write(shown, TEXT, translator.translate(TEXT))
    expect(shown.locator("#panel .note")).to_contain_text("다른 단어")
    shown.click("#tab-inside")
    expect(shown.locator("#panel [data-value=attention]")).to_have_text("어텐션")
    shown.click("#speak")
    expect(shown.locator("#panel [data-value=attention]")).to_have_text("Attention")
    assert shown.locator("#source option").all_text_contents() == ["Detect language", "German", "English"]
    assert shown.input_value("#text") == TEXT
    shown.reload()
    assert shown.get_attribute("html", "lang") == "en", "it is remembered"
    same_keys = """async () => {
        const { say, speak } = await import("/page/strings.js");
        const keys = (of) => Object.entries(of).map(([key, value]) =>
            [key, typeof value === "object" ? keys(value) : typeof value]);
        const [english, korean] = ["en", "ko"].map((lang) => {
            speak(lang);
            return JSON.stringify(keys(say()));
        });
        return english === korean;
    }"""
    assert shown.evaluate(same_keys), "both languages say the same things"


@pytest.mark.parametrize("locale", ["en", "ko-KR"])
def test_a_phone(open_page: Open, translator: Translator, locale: str) -> None:
    shown = open_page(locale=locale, **PHONE)
    write(shown, TEXT, translator.translate(TEXT))
    above, below = (shown.locator(pane).bounding_box() for pane in ("#given", "#answer"))
    assert above is not None and below is not None
    assert above["y"] + above["height"] <= below["y"] and above["width"] > 300
    for tab in ("others", "inside", "program"):
        shown.click(f"#tab-{tab}")
        expect(shown.locator("#panel .others, #panel .thumbnail, #panel pre").first).to_be_visible()
        assert shown.evaluate("document.documentElement.scrollWidth") <= 380


def test_by_keyboard_alone(open_page: Open, translator: Translator) -> None:
    shown = open_page()
    assert shown.evaluate("document.activeElement.id") == "text", "one can begin to type"
    write(shown, TEXT, translator.translate(TEXT))
    expect(shown.locator(".others")).to_be_visible()
    order = []
    shown.focus("#speak")
    for _ in range(10):
        ring = shown.evaluate(
            """() => [document.activeElement, document.activeElement.closest(".pane") ?? document.body]
                .some((element) => getComputedStyle(element).outlineStyle === "solid"
                    || getComputedStyle(element).boxShadow !== "none")"""
        )
        order.append(shown.evaluate("document.activeElement.id"))
        assert ring, f"the focus on {order[-1]} can be seen"
        shown.keyboard.press("Tab")
    wanted = ["speak", "theme", "source", "swap", "target", "text", "choose", "clear", "translation", "copy"]
    assert order == wanted
    assert shown.evaluate("document.activeElement.id") == "tab-others"
    shown.keyboard.press("ArrowRight")
    assert shown.get_attribute("#tab-inside", "aria-selected") == "true"
    expect(shown.locator(".thumbnail").first).to_be_visible()
    assert shown.get_attribute("#panel", "aria-labelledby") == "tab-inside"


def test_right_to_left(open_page: Open) -> None:
    shown = open_page()
    shown.fill("#text", "مرحبا (يا) عالم 123")
    for selector in ("#text", "#given .mirror"):
        assert shown.eval_on_selector(selector, "field => getComputedStyle(field).direction") == "rtl"
    expect(shown.locator("#translation")).not_to_have_value("")
    field = shown.locator("#text").bounding_box()
    assert field is not None
    shown.mouse.move(field["x"] + field["width"] / 2, field["y"] + 10)
    boxes = [word.bounding_box() for word in shown.locator("#given [data-word]").all()]
    lefts = [box["x"] for box in boxes if box is not None]
    assert len(lefts) == 4 and lefts == sorted(lefts, reverse=True), "the first word stands on the right"


def test_attention_is_that_of_the_reference(open_page: Open, translator: Translator, folders: dict[str, str]) -> None:
    """Every number of every head, read from the page; the viewer comes when it is wanted, and not before."""
    shown = open_page()
    fetched: list[str] = []
    shown.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    write(shown, TEXT, translator.translate(TEXT))
    expect(shown.locator(".others")).to_be_visible()
    assert not {"viewer.js", "look"} & set(fetched)
    shown.click("#tab-inside")
    shown.click("[data-value=matrix]")
    assert {"viewer.js", "look"} <= set(fetched)
    model = load(folders["en-de"], engine="torch")
    sight = model.look(TEXT).sentences[0]
    count = 0
    for kind, name in (("encoder", "Encoder"), ("decoder", "Decoder"), ("cross", "Cross-attention")):
        for layer, weights_HTS in enumerate(sight.attention[kind]):  # type: ignore[index]
            for head, weights_TS in enumerate(weights_HTS):
                shown.click(f'[aria-label="{name}, layer {layer + 1}, head {head + 1}"]')
                read = shown.eval_on_selector_all(".cells rect", "cells => cells.map(cell => +cell.dataset.weight)")
                torch.testing.assert_close(torch.tensor(read), weights_TS.flatten(), atol=2e-5, rtol=0)
                count += 1
    assert count == shown.locator(".thumbnail").count() > 0


def test_all_views_and_saving_under_the_strict_policy(
    open_page: Open, translator: Translator, served: Running, tmp_path: Path
) -> None:
    policy = served.get("/").headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self' 'sha256-" in policy and "unsafe" not in policy
    shown = open_page()
    write(shown, TEXT, translator.translate(TEXT))
    shown.click("#tab-inside")
    drawn = {"search": ".tree", "next": ".bars", "positions": ".heat", "walk": ".chips", "attention": ".lines"}
    for tab, selector in drawn.items():
        shown.click(f"[data-value={tab}]")
        expect(shown.locator(f"#panel {selector}")).to_be_visible()
    shown.click('[aria-label="Decoder, layer 2, head 1"]')
    shown.click("#tab-others")
    shown.click("#tab-inside")
    assert shown.text_content(".chosen h3") == "Decoder, layer 2, head 1", "it is as it was left"
    files = {}
    for form in ("SVG", "PNG", "HTML"):
        with shown.expect_download() as download:
            shown.click(f"[data-save={form}]")
        files[form] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[form])
    assert files["SVG"].read_text(encoding="utf-8").startswith("<svg")
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    assert TEXT in files["HTML"].read_text(encoding="utf-8")


def test_looking_into_the_last_of_two_models(open_page: Open, served: Running) -> None:
    shown = open_page("?source=en&target=fr")
    wanted = served.post("/translate", {"q": TEXT, "source": "en", "target": "fr"}).json["translatedText"]
    write(shown, TEXT, wanted)
    shown.click("#tab-inside")
    expect(shown.locator(".inside > .note")).to_have_text(
        "No model translates this directly. This is the last step, from German to French."
    )
    expect(shown.locator(".thumbnail").first).to_be_visible()


def test_the_whole_page_is_small(open_page: Open, translator: Translator) -> None:
    """All that is fetched, with the viewer and what it shows of a sentence."""
    shown = open_page()
    write(shown, TEXT, translator.translate(TEXT))
    shown.click("#tab-inside")
    expect(shown.locator(".thumbnail").first).to_be_visible()
    sizes = shown.evaluate(
        """["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .map((entry) => entry.decodedBodySize)"""
    )
    assert 6 < len(sizes) < 15
    assert sum(sizes) < 300_000
    assert sum(path.stat().st_size for folder in (PAGE, VIEWER) for path in folder.iterdir()) < 300_000


@pytest.mark.parametrize(
    "settings",
    [{}, {"color_scheme": "dark"}, {"locale": "ko-KR", **PHONE}, {"locale": "ko-KR", "color_scheme": "dark", **PHONE}],
    ids=["desktop", "desktop-dark", "phone-korean", "phone-korean-dark"],
)
def test_accessible(open_page: Open, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Protector, "other_languages", lambda self, text, parts: [None] * len(parts))  # it is Arabic
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe; pip install 'regard[dev]'")

    def check(state: str) -> None:
        found = axe.Axe().run(shown).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == [], state

    shown = open_page(**settings)
    check("empty")
    shown.fill("#text", "مرحبا (يا) عالم 123")
    expect(shown.locator(".others")).to_be_visible()
    point(shown, "answer", 0)
    check("translated")
    shown.evaluate(DRAG, ["drop", "a.txt", "A teacher."])
    shown.evaluate(DRAG, ["drop", "a.png", "A teacher."])
    expect(shown.locator("#files a")).to_be_visible()
    shown.click("#tab-inside")
    expect(shown.locator(".thumbnail").first).to_be_visible()
    check("inside")
    shown.click("#tab-program")
    shown.evaluate("document.dispatchEvent(new Event('key-wanted'))")
    shown.fill("#text", "x" * 6000)
    expect(shown.locator("#trouble")).not_to_be_empty()
    check("in trouble")


@pytest.mark.parametrize("settings", [{"color_scheme": "dark"}, {"locale": "ko-KR", **PHONE}], ids=["dark", "phone"])
def test_a_text_left_as_it_is_is_accessible(open_page: Open, settings: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe; pip install 'regard[dev]'")
    shown = open_page("?source=auto&target=de", **settings)
    write(shown, KOREAN, KOREAN)
    expect(shown.locator("#force")).to_be_visible()
    assert axe.Axe().run(shown).response["violations"] == []
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
