"""The page and the viewer in Chromium: how soon the page is painted, what it weighs, and how long many heads take.

    python benchmarks/page_speed.py [--json] [--rounds 9]

The server is a process of its own on loopback. Every round has a context of its own, so nothing is in its cache.
See README.md beside this file.
"""

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, Page, Response, sync_playwright
from serve_load import server

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.look.page import page
from regard.model.build import build
from regard.saved.bundled import DEFAULT, located
from regard.saved.folder import load_model
from regard.translate.translator import Translator

TOKENS = 60
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
# Draws, then waits until the browser has painted; what a person waits for.
CLICKED = """(selector) => new Promise((resolve) => {
  const start = performance.now();
  document.querySelector(selector).click();
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})"""
BLOCKED = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().map((task) => task.duration)))
    .observe({ type: "longtask", buffered: true });
  setTimeout(() => resolve([]), 500);
})"""


@contextmanager
def opened(browser: Browser, address: str, answers: list[Response] | None = None) -> Iterator[Page]:
    """A page in a context of its own; what it is sent joins `answers`, which takes time that a person has not."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en")
    shown = context.new_page()
    if answers is not None:
        shown.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108  # it wants a function of ours
    shown.goto(address, wait_until="load")
    shown.wait_for_timeout(300)
    yield shown
    context.close()


def first_paint(browser: Browser, rounds: int) -> dict[str, float]:
    """Milliseconds from the request to the first text on the screen, and the bytes of all that was sent."""
    paints = []
    answers: list[Response] = []
    with server(DEFAULT) as (port, _):
        address = f"http://127.0.0.1:{port}/"
        with opened(browser, address, answers):  # starts the browser, too, so that its paint does not count
            size = sum(len(answer.body()) for answer in answers)
        for _ in range(rounds):
            with opened(browser, address) as shown:
                paints.append(shown.evaluate(PAINT))
    return {"paint_ms": statistics.median(paints), "paint_worst_ms": max(paints), "bytes": size}


def many_heads(browser: Browser, rounds: int) -> dict[str, float]:
    """8 heads in 6 layers of three kinds over 60 tokens: until all are drawn, and from a click to what it asked for."""
    saved = load_model(located(DEFAULT))
    torch.manual_seed(1)
    config = model_config(vocabulary=saved.config.vocabulary, d_model=64, d_ff=64, d_k=8, d_v=8)
    model = build(config).eval().requires_grad_(False)
    changed = replace(saved, model=model, config=config, decode=DecodeConfig(beam=2, extra_length=0))
    seen = Translator(changed).look("the dog " * (TOKENS // 2))
    shown_ms, blocked, matrix, other = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "look.html"
        path.write_text(page(seen.to_json()), encoding="utf-8")
        for _ in range(rounds + 1):
            with opened(browser, path.as_uri()) as shown:
                assert shown.locator(".thumbnail canvas").count() == 8 * 6 * 3
                shown_ms.append(
                    shown.evaluate("() => performance.timing.loadEventEnd - performance.timing.navigationStart")
                )
                blocked.append(max(shown.evaluate(BLOCKED), default=0.0))
                other.append(shown.evaluate(CLICKED, ".thumbnail:nth-of-type(2)"))
                matrix.append(shown.evaluate(CLICKED, "[data-value=matrix]"))
    parts = {"loaded_ms": shown_ms, "longest_task_ms": blocked, "other_head_ms": other, "matrix_ms": matrix}
    return {
        "tokens": len(seen.sentences[0].source.tokens),
        **{key: statistics.median(found[1:]) for key, found in parts.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        parser.error("there is no Chromium here; install your system's package")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        report: dict[str, Any] = {
            "page": first_paint(browser, arguments.rounds),
            "viewer": many_heads(browser, arguments.rounds),
        }
        browser.close()
    if arguments.json:
        print(json.dumps(report))
        return
    for name, figures in report.items():
        print(name, *(f"{key} {value:,.0f}" for key, value in figures.items()), sep="  ")


if __name__ == "__main__":
    main()
