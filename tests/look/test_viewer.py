"""The viewer in Chromium: what it shows is what the model did."""

import json
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS
from regard.look.inspection import Look
from regard.look.page import VIEWER, page
from regard.model.build import build
from regard.model.positions import sinusoids
from regard.saved.folder import LoadedModel
from regard.translate.translator import Options, Translator

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "The old woman sees 12 apples in the garden. 할머니가 🙂 봅니다!"
TABS = ("attention", "search", "next", "positions", "walk")
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def seen(translator: Translator) -> Look:
    return translator.look(TEXT)


@pytest.fixture
def open_page(browser: "Browser", tmp_path: Path) -> Iterator[Open]:
    """Opens a page from a file or an address; in the end nothing went wrong in it, and it asked for nothing else."""
    trouble: list[str] = []
    contexts = []

    def opened(look: str | None = None, address: str | None = None, **settings: Any) -> "Page":
        context = browser.new_context(**{"locale": "en", "viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        shown = context.new_page()
        shown.on("pageerror", lambda error: trouble.append(str(error)))
        shown.on("console", lambda message: trouble.append(message.text))
        if address is None:
            assert look is not None
            path = tmp_path / f"{len(contexts)}.html"
            path.write_text(page(look), encoding="utf-8")
            address = path.as_uri()
        home = address.split("?")[0]
        shown.on("request", lambda request: trouble.append(request.url) if not known(request.url, home) else None)
        shown.goto(address)
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def known(url: str, home: str) -> bool:
    return url.startswith(("data:", "blob:", home)) or url.endswith("/favicon.ico")


def test_every_number_shown_is_the_reference_engines(open_page: Open, seen: Look, translator: Translator) -> None:
    shown = open_page(seen.to_json())
    shown.click("[data-value=matrix]")
    sight = seen.sentences[0]
    source = translator.source_subwords.encode([sight.source.text])[0]
    target = translator.window([TEXT], Options(protect=False, force=True))[0].sentences[0].outputs[0].hypothesis.tokens
    attentions = translator.model.attentions(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
    count = 0
    for kind, name in (("encoder", "Encoder"), ("decoder", "Decoder"), ("cross", "Cross-attention")):
        for layer, weights_BHTS in enumerate(getattr(attentions, kind)):
            for head, weights_TS in enumerate(weights_BHTS[0]):
                shown.click(f'[aria-label="{name}, layer {layer + 1}, head {head + 1}"]')
                read = shown.eval_on_selector_all(".cells rect", "cells => cells.map(cell => +cell.dataset.weight)")
                torch.testing.assert_close(torch.tensor(read), weights_TS.flatten(), atol=2e-5, rtol=0)
                ink = shown.eval_on_selector_all(
                    ".cells rect", "cells => cells.map(cell => +cell.getAttribute('fill-opacity'))"
                )
                torch.testing.assert_close(torch.tensor(ink), weights_TS.flatten(), atol=1e-4, rtol=0)
                count += 1
    assert count == shown.locator(".thumbnail").count() == 2 + 2 * 2 * 2
    assert shown.text_content(".chosen h3") == "Cross-attention, layer 2, head 2"


def test_lines_between_tokens_and_between_words(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    sight = seen.sentences[0]
    weights_TS = sight.attention["cross"][0, 0]  # the last layer but one, at first
    drawn = shown.eval_on_selector_all(
        ".strands path", "lines => lines.map(({dataset: d}) => [+d.row, +d.column, +d.weight])"
    )
    assert len(drawn) == int((weights_TS >= 0.004).sum())
    assert all(abs(weights_TS[row, column] - weight) < 2e-5 for row, column, weight in drawn)
    shown.click("[data-value=words]")
    shown.click("[data-value=matrix]")
    target, source = torch.tensor(sight.target.word_of), torch.tensor(sight.source.word_of)
    summed_TN = torch.zeros(len(target), len(sight.source.words)).index_add_(1, source, weights_TS)
    words_MN = torch.stack([summed_TN[target == word].mean(0) for word in range(len(sight.target.words))])
    read = shown.eval_on_selector_all(".cells rect", "cells => cells.map(cell => +cell.dataset.weight)")
    torch.testing.assert_close(torch.tensor(read), words_MN.flatten(), atol=3e-5, rtol=0)
    assert shown.locator('.token[data-side="column"] text').all_text_contents() == [*sight.source.words[:-1], "end"]


def test_pointing_at_a_token_tells_its_weights(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    sight = seen.sentences[0]
    shown.hover('.token[data-side="row"][data-number="0"] text')
    weights_S = sight.attention["cross"][0, 0, 0]
    best = int(weights_S.argmax())
    told = shown.text_content(".told") or ""
    token = sight.source.tokens[best].lstrip("▁").replace("</s>", "end") or "␣"
    assert f"looks at {token} " in told.replace("·", "")
    assert shown.locator(".bundle.active").count() == 1
    marks = shown.locator('[data-side="column"] .mark').evaluate_all(
        "marks => marks.map(mark => +getComputedStyle(mark).fillOpacity)"
    )
    assert marks[best] == max(marks) > 0
    shown.hover(".chosen h3")
    assert shown.locator(".bundle.active").count() == 0


def test_pointing_at_a_word_lights_its_aligned_words(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    for source, target in seen.sentences[0].alignment:
        shown.hover(f".side:nth-child(2) [data-word='{target}']")
        lit = shown.locator(".side:nth-child(1) .lit").evaluate_all("words => words.map(word => +word.dataset.word)")
        assert lit == [source]
    source = seen.sentences[0].alignment[0][0]
    shown.focus(f".side:nth-child(1) [data-word='{source}']")
    lit = shown.locator(".side:nth-child(2) .lit").evaluate_all("words => words.map(word => +word.dataset.word)")
    assert lit == [target for other, target in seen.sentences[0].alignment if other == source]


def test_the_search_as_a_tree_and_greedy_beside_it(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    shown.click("[data-value=search]")
    sight = seen.sentences[0]
    assert shown.locator(".tree [data-branch]").count() == len(sight.branches) == shown.locator(".edges path").count()
    figures = [text.replace("−", "-") for text in shown.locator(".tree .figure").all_text_contents()]
    expected = [branch.score if branch.token == EOS else branch.log_probability for branch in sight.branches]
    assert [float(text) for text in figures] == pytest.approx(expected, abs=0.0051)
    best = shown.locator(".tree [data-branch].best").evaluate_all("nodes => nodes.map(node => +node.dataset.branch)")
    assert [sight.branch_tokens[number] for number in best] == list(sight.target.tokens)
    assert shown.locator("ol.found .text").all_text_contents() == [output.text or "∅" for output in sight.n_best]
    assert shown.text_content(".greedy .text") == sight.greedy.text
    assert f"score {sight.n_best[0].hypothesis.score:.3f}".replace("-", "−") in (shown.text_content(".figures") or "")


def test_what_was_probable_at_each_step(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    shown.click("[data-value=next]")
    sight = seen.sentences[0]
    for step, row in enumerate(sight.probable):
        if step:
            shown.press(".slider input", "ArrowRight")
        drawn = shown.locator(".bar").evaluate_all("bars => bars.map(({dataset: d}) => [d.token, +d.probability])")
        assert [token for token, _ in drawn] == [token for token, _ in row]
        assert [value for _, value in drawn] == pytest.approx([value for _, value in row], abs=1e-5)
        told = shown.get_attribute(".bars", "aria-label") or ""
        assert told.count(" (written)") == (sight.target.tokens[step] in dict(row))
        assert shown.text_content("output") == f"Token {step + 1} of {len(sight.probable)}"
    shown.click(".piece >> nth=0")
    assert shown.text_content("output") == f"Token 1 of {len(sight.probable)}"


def test_the_sinusoids_of_each_token(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json(), viewport={"width": 1280, "height": 2000})
    shown.click("[data-value=positions]")
    tokens = seen.sentences[0].source.tokens
    box = shown.locator(".heat image").bounding_box()
    assert box is not None
    table_PD = sinusoids(0, len(tokens), 16)
    for position, dimension in ((0, 0), (3, 1), (len(tokens) - 1, 15)):
        shown.mouse.move(
            box["x"] + box["width"] * (dimension + 0.5) / 16, box["y"] + box["height"] * (position + 0.5) / len(tokens)
        )
        told = (shown.text_content(".told") or "").replace("−", "-")
        assert f"position {position}, dimension {dimension}: " in told
        assert float(told.split()[-1]) == pytest.approx(float(table_PD[position, dimension]), abs=0.0006)
    assert shown.locator(".heat text:not(.figure)").count() == len(tokens)
    shown.click("[data-value=target]")
    assert shown.locator(".heat text:not(.figure)").count() == len(seen.sentences[0].target.tokens)


def test_saving(open_page: Open, seen: Look, tmp_path: Path) -> None:
    shown = open_page(seen.to_json())
    files = {}
    for form in ("SVG", "PNG", "HTML"):
        with shown.expect_download() as download:
            shown.click(f"[data-save={form}]")
        files[form] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[form])
    svg = ElementTree.fromstring(files["SVG"].read_text(encoding="utf-8"))
    assert len(svg.findall(".//{*}path")) == shown.locator(".strands path").count()
    assert "rgb" in svg.attrib["color"] and not svg.findall(".//*[@class]")
    assert files["PNG"].read_bytes().startswith(b"\x89PNG") and files["PNG"].stat().st_size > 2000
    again = open_page(address=files["HTML"].as_uri())
    assert again.locator(".strands path").count() == shown.locator(".strands path").count()
    kept, given = (json.loads(one.text_content("#regard-look-data") or "") for one in (again, shown))
    assert kept == given
    for tab in TABS[1:-1]:
        shown.click(f"[data-value={tab}]")
        with shown.expect_download() as download:
            shown.click("[data-save=PNG]")
        assert Path(download.value.path()).stat().st_size > 1000


def test_a_walk_through_one_sentence(open_page: Open, seen: Look) -> None:
    sight = seen.sentences[0]
    shown = open_page(seen.to_json())
    shown.click("[data-value=walk]")
    assert shown.locator(".chips li").count() == len(sight.source.tokens)
    titles = []
    for step in range(7):
        titles.append(shown.text_content(".walk h3") or "")
        assert shown.text_content(".turn output") == f"{step + 1} of 7"
        if "Feed-forward" in titles[-1]:
            assert sight.active_LS is not None
            read = shown.eval_on_selector_all("[data-share]", "bars => bars.map((bar) => +bar.dataset.share)")
            torch.testing.assert_close(torch.tensor(read), sight.active_LS.T.flatten(), atol=1e-3, rtol=0)
        if "decoder looks" in titles[-1]:
            shown.click(".walk .piece >> nth=1")
            rows = shown.eval_on_selector_all(".strands path", "lines => lines.map((line) => +line.dataset.row)")
            assert set(rows) == {1}
        if "next token" in titles[-1]:
            read = shown.eval_on_selector_all("[data-probability]", "all => all.map((bar) => +bar.dataset.probability)")
            assert read == pytest.approx([value for _, value in sight.probable[1]], abs=1e-4)
        if step < 6:
            shown.click(".step:last-of-type")
    assert len(set(titles)) == 7 and titles[0].startswith("1. The text")
    assert shown.locator(".chips li").count() == len(sight.target.tokens)
    assert shown.is_disabled(".step:last-of-type")
    shown.click(".step:first-of-type")
    assert shown.text_content(".walk h3") == titles[5]
    told = json.loads(seen.to_json())
    told["sentences"][0] |= {"attention": {}, "positions": None, "active": None}
    bare = open_page(json.dumps(told))
    bare.click("[data-value=walk]")
    assert bare.text_content(".turn output") == "1 of 3"


def test_a_tag_is_explained(open_page: Open, seen: Look) -> None:
    told = json.loads(seen.to_json())
    for side in ("source", "target"):
        tokens = told["sentences"][0][side]["tokens"]
        tokens[:] = ["▁a" if token.startswith("<0x") else token for token in tokens]
    assert open_page(json.dumps(told)).locator(".note.tag").count() == 0
    told["sentences"][0]["source"]["tokens"][0] = told["sentences"][0]["source"]["words"][0] = "<2de>"
    shown = open_page(json.dumps(told))
    assert "“→ de” is a token before the text" in (shown.text_content(".note.tag") or "")
    assert "<2de>" not in shown.locator("#regard-look").inner_text()
    told["sentences"][0]["source"]["tokens"][1] = "<0xEC>"
    shown = open_page(json.dumps(told))
    assert "“<0xEC>” is a byte" in (shown.text_content(".note.tag") or "")


def test_the_tree_is_as_high_as_the_beam_is_wide(open_page: Open, translator: Translator) -> None:
    shown = open_page(translator.look(TEXT, Options(beam=3)).to_json())
    shown.click("[data-value=search]")
    assert shown.locator(".node.ended").count() > 1
    assert shown.eval_on_selector(".tree", "tree => tree.height.baseVal.value") <= 3 * 46 + 4


def test_by_keyboard_alone(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json())
    shown.focus("[data-value=attention]")
    for tab in (*TABS[1:], TABS[0]):
        shown.keyboard.press("Home" if tab == TABS[0] else "ArrowRight")
        assert shown.get_attribute(f"[data-value={tab}]", "aria-selected") == "true"
        assert shown.get_attribute("[role=tabpanel]", "aria-label") == shown.text_content(f"[data-value={tab}]")
    shown.focus('.thumbnail[aria-checked="true"]')
    shown.keyboard.press("ArrowDown")
    assert shown.text_content(".chosen h3") == "Cross-attention, layer 2, head 1"
    shown.keyboard.press("ArrowRight")
    assert shown.text_content(".chosen h3") == "Cross-attention, layer 2, head 2"
    shown.keyboard.press("Tab")
    shown.keyboard.press("ArrowRight")
    assert shown.locator("svg.matrix").count() == 1
    ring = shown.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid", "the focus can be seen"
    shown.keyboard.press("Tab")
    shown.keyboard.press("Tab")
    shown.keyboard.press("ArrowDown")
    assert shown.locator('.token[data-side="row"][data-number="1"].active').count() == 1


@pytest.mark.parametrize(("width", "locale"), [(380, "en"), (380, "ko-KR"), (1280, "ko-KR")])
def test_no_page_is_wider_than_the_screen(open_page: Open, seen: Look, width: int, locale: str) -> None:
    shown = open_page(seen.to_json(), viewport={"width": width, "height": 800}, locale=locale)
    for tab in TABS:
        shown.click(f"[data-value={tab}]")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.click("[data-value=attention]")
    shown.click("[data-value=matrix]")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_korean(open_page: Open, seen: Look) -> None:
    shown = open_page(seen.to_json(), locale="ko-KR")
    assert shown.get_attribute("#regard-look", "lang") == "ko"
    assert shown.locator("[role=tab]").all_text_contents() == [
        "어텐션",
        "빔 서치",
        "다음 토큰",
        "위치",
        "차근차근 보기",
    ]
    assert "끝" in shown.locator(".token text").all_text_contents()


def test_light_and_dark(open_page: Open, seen: Look) -> None:
    colour = "getComputedStyle(document.getElementById('regard-look')).backgroundColor"
    light, dark = (open_page(seen.to_json(), color_scheme=scheme) for scheme in ("light", "dark"))
    assert light.evaluate(colour) != dark.evaluate(colour)
    wanted = dark.evaluate(colour)
    light.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert light.evaluate(colour) == wanted


def test_each_sentence_from_a_menu(open_page: Open, translator: Translator) -> None:
    seen = translator.look(f"{TEXT} Das Mädchen zählt Wörter.")
    assert len(seen.sentences) > 1
    shown = open_page(seen.to_json())
    for number in reversed(range(len(seen.sentences))):
        shown.select_option("select", str(number))
        sight = seen.sentences[number]
        assert shown.locator(".side:nth-child(1) .word").all_text_contents() == list(sight.source.words[:-1])
        assert shown.locator('.token[data-side="column"]').count() == len(sight.source.tokens)


def test_right_to_left(open_page: Open, translator: Translator) -> None:
    shown = open_page(translator.look("שלום (עולם) كلبان يلعبان").to_json())
    line = shown.locator(".side:nth-child(1) .words")
    assert line.evaluate("line => getComputedStyle(line).direction") == "rtl"
    boxes = [word.bounding_box() for word in shown.locator(".side:nth-child(1) .word").all()]
    lefts = [box["x"] for box in boxes if box is not None]
    assert len(lefts) == 4 and lefts == sorted(lefts, reverse=True), "the first word stands on the right"
    assert shown.locator(".words bdi").count() == shown.locator(".words .word").count()
    shown.focus(".side:nth-child(1) [data-word='0']")
    shown.keyboard.press("ArrowLeft")
    assert shown.evaluate("document.activeElement.dataset.word") == "1", "the next word stands on the left"


def test_models_that_have_less(open_page: Open, seen: Look) -> None:
    told = json.loads(seen.to_json())
    told["sentences"][0] |= {"attention": {"cross": told["sentences"][0]["attention"]["cross"]}, "positions": None}
    shown = open_page(json.dumps(told))
    assert shown.locator(".heads h4").all_text_contents() == ["Cross-attention"]
    shown.click("[data-value=positions]")
    assert shown.text_content(".panel") == "This model has none of this."
    told["sentences"][0]["attention"] = {}
    assert open_page(json.dumps(told)).text_content(".panel") == "This model has none of this."
    told["sentences"] = []
    assert open_page(json.dumps(told)).text_content("#regard-look") == "There is no sentence to look at."


def test_many_heads_of_a_long_sentence(open_page: Open, saved: LoadedModel) -> None:
    """8 heads in 6 layers of three kinds, and 60 tokens on either side."""
    torch.manual_seed(4)
    config = model_config(
        vocabulary=saved.config.vocabulary, encoder_layers=6, decoder_layers=6, d_model=32, d_ff=32, heads=8
    )
    model = build(config).eval().requires_grad_(False)
    decode = DecodeConfig(beam=2, extra_length=0)
    seen = Translator(replace(saved, model=model, config=config, decode=decode)).look("apples 봅니다 Bücher " * 12)
    assert len(seen.sentences[0].source.tokens) >= 60
    shown = open_page(seen.to_json())
    assert shown.locator(".thumbnail canvas").count() == 8 * 6 * 3
    shown.click("[data-value=matrix]")
    assert shown.locator(".cells rect").count() == len(seen.sentences[0].target.tokens) * len(
        seen.sentences[0].source.tokens
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(open_page: Open, translator: Translator, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe; pip install 'regard[dev]'")
    shown = open_page(translator.look(f"{TEXT} Das Mädchen.").to_json(), color_scheme=scheme)
    for tab in (*TABS, "matrix"):
        if tab == "matrix":
            shown.click("[data-value=attention]")
        shown.click("[data-value=matrix]" if tab == "matrix" else f"[data-value={tab}]")
        found = axe.Axe().run(shown).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == [], tab


def test_jupyters_frame(open_page: Open, seen: Look, tmp_path: Path) -> None:
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset='utf-8'>{seen._repr_html_()}", encoding="utf-8")
    shown = open_page(address=(tmp_path / "cell.html").as_uri())
    frame = shown.frame_locator("iframe")
    frame.locator(".thumbnail").first.wait_for()
    assert frame.locator(".strands path").count() > 0
    with shown.expect_download() as download:
        frame.locator("[data-save=SVG]").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("<svg")


SERVED = """<!doctype html>
<html lang="ko"><head><title>served</title><link rel="stylesheet" href="/viewer.css"></head>
<body><main id="place"></main><script type="module" src="/start.js"></script></body></html>"""
START = """import { mount } from "./viewer.js";
const look = await (await fetch("/look.json")).json();
window.viewer = mount(document.getElementById("place"), look, { lang: "ko", template: "/page.html" });
"""
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:"


@pytest.fixture
def served(seen: Look) -> Iterator[str]:
    """The modules as they are, over HTTP, in a page with a strict policy."""
    texts = {"/": SERVED, "/start.js": START, "/look.json": seen.to_json(), "/page.html": page()}
    kinds = {"js": "text/javascript", "css": "text/css", "json": "application/json"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = VIEWER / self.path[1:]
            text = texts.get(self.path) or (path.read_text(encoding="utf-8") if path.is_file() else None)
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", f"{kinds.get(self.path.split('.')[-1], 'text/html')}; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_modules_over_http(open_page: Open, served: str, seen: Look, tmp_path: Path) -> None:
    shown = open_page(address=served)
    shown.wait_for_selector(".thumbnail")
    assert shown.locator("[role=tab]").first.text_content() == "어텐션"
    weights = shown.evaluate("window.viewer.weights('decoder', 1, 0)")
    torch.testing.assert_close(
        torch.tensor(weights), seen.sentences[0].attention["decoder"][1, 0].flatten(), atol=2e-5, rtol=0
    )
    with shown.expect_download() as download:
        shown.click("[data-save=HTML]")
    download.value.save_as(tmp_path / "saved.html")
    again = open_page(address=(tmp_path / "saved.html").as_uri())
    assert again.locator(".thumbnail").count() == shown.locator(".thumbnail").count()
    same_keys = """async () => {
        const { strings } = await import("./strings.js");
        const kind = (value) => typeof value === "object" ? keys(value) : typeof value;
        const keys = (of) => Object.entries(of).map(([key, value]) => [key, kind(value)]);
        return JSON.stringify(keys(strings("ko"))) === JSON.stringify(keys(strings("en")));
    }"""
    assert shown.evaluate(same_keys), "both languages say the same things"
    shown.evaluate("window.viewer.destroy()")
    assert shown.locator("#place *").count() == 0
