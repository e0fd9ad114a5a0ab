"""Take the pictures of the README from the running product: `python tools/pictures.py` writes docs/pictures.

It needs playwright, Pillow and a Chromium, all of which `make test` installs.
"""

import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
TEXT = "I lost my keys yesterday, so I had to wait outside until my brother came home."
LOOKED_AT = "I lost my keys yesterday."
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
HEAD = ".block[data-kind=cross] .thumbnail >> nth=6"  # layer 2, head 3
COLOURS = 128  # enough for a page, and a third of the bytes


@contextmanager
def server() -> Iterator[str]:
    """The address of a server with the bundled model."""
    command = [sys.executable, "-m", "regard", "serve", "--model", "en-de", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stderr)))
            yield found[0]
        finally:
            process.terminate()


def save(png: bytes, name: str) -> None:
    """Write a picture with few colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(PICTURES / name, optimize=True)


def translating(browser: Browser, address: str) -> None:
    """The page with a translation, its alignment and other translations."""
    page = browser.new_page(viewport={"width": 1000, "height": 660}, locale="en", device_scale_factor=1.5)
    page.goto(f"{address}/?source=en&target=de")
    page.fill("#text", TEXT)
    expect(page.locator("#translation")).to_have_value(re.compile("Schlüssel"), timeout=60_000)
    expect(page.locator("#panel")).not_to_be_empty()
    expect(page.locator("ol.others li").first).to_be_visible(timeout=60_000)
    page.mouse.move(157, 166)  # at "keys", so that its translation lights up
    page.wait_for_load_state("networkidle")
    save(page.screenshot(), "page.png")


def attention(browser: Browser, folder: Path) -> None:
    """Cross-attention of one sentence, as the viewer draws it."""
    out = folder / "attention.html"
    subprocess.run([sys.executable, "-m", "regard", "look", LOOKED_AT, "--out", out], check=True)
    page = browser.new_page(viewport={"width": 1000, "height": 600}, locale="en", device_scale_factor=1.5)
    page.goto(out.as_uri())
    page.click(HEAD)
    save(page.screenshot(full_page=True), "attention.png")


def main() -> None:
    """Take both pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    with TemporaryDirectory() as folder, server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        translating(browser, address)
        attention(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
