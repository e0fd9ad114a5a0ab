r"""The life of a correction in a browser: a wrong answer, corrected, answered, tuned over, served by the new model.

    awk 'NR % 8 == 0' text/train.en-de.tsv | head -20000 > some.tsv
    regard prepare --subwords-from en-de --train some.tsv --tag '<2de>' --valid text/valid.en-de.tsv \
        --valid-tag '<2de>' --from en --to de --out data/mine
    python benchmarks/correction_life.py --data data/mine --sentences text/apart.en --references text/apart.de
    python benchmarks/correction_life.py --text text/train.en-de.tsv --sentences text/apart.en \
        --references text/apart.de

It starts `regard serve` with a copy of the bundled model and a memory, corrects five sentences on the page in Chromium,
tunes the model, mixed with its own translations of other text or with prepared data, puts the new model in place, sends
SIGHUP, and asks on the page again without the memory's pairs. After each step the same sentences are asked of the API,
too; told are the right answers of each. BLEU of the old and the new model is measured on `--sentences`; with `--data`,
tuning sees its validation set, and nothing of them. `--pictures` names a folder for pictures of the page.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from regard.memory.store import Memory
from regard.saved.saved_model import model_folder

CORRECTIONS = {
    "The quarterly flange report is overdue.": "Der Flanschbericht des Quartals ist überfällig.",
    "Please tighten the flange.": "Bitte ziehen Sie den Flansch fest.",
    "Where is the flange?": "Wo ist der Flansch?",
    "Two flanges are broken.": "Zwei Flansche sind kaputt.",
    "She bought a new flange yesterday.": "Sie hat gestern einen neuen Flansch gekauft.",
}
REGARD = [sys.executable, "-m", "regard"]
WAIT = 120_000  # milliseconds


def right(answers: list[str]) -> int:
    return sum(one == wanted for one, wanted in zip(answers, CORRECTIONS.values(), strict=True))


class Site:
    """A server, and Chromium that looks at its page."""

    def __init__(self, port: int, browser: Browser, pictures: Path | None) -> None:
        self.address, self.browser, self.pictures = f"http://127.0.0.1:{port}", browser, pictures

    def by_api(self) -> list[str]:
        fields = {"q": list(CORRECTIONS), "source": "en", "target": "de"}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/translate", json.dumps(fields).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            found: list[str] = json.load(answer)["translatedText"]
            return found

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Yield the page, opened anew, as somebody else would see it."""
        context = self.browser.new_context(locale="en", viewport={"width": 1280, "height": 800})
        context.set_default_timeout(WAIT)
        shown = context.new_page()
        shown.goto(f"{self.address}/?source=en&target=de")
        yield shown
        context.close()

    def answers(self, step: str, corrections: dict[str, str] | None = None) -> dict[str, int]:
        """Ask for each sentence by the API and on the page, and correct it there if asked to; count right answers."""
        found, by_api = [], right(self.by_api())
        with self.page() as shown:
            for number, text in enumerate(CORRECTIONS):
                with shown.expect_response("**/translate"):
                    shown.fill("#text", text)
                expect(shown.locator("#translation")).not_to_have_value("")
                expect(shown.locator("#answer")).to_have_attribute("aria-busy", "false")
                found.append(shown.input_value("#translation"))
                if self.pictures is not None and number == 0:
                    shown.wait_for_timeout(2000)
                    shown.screenshot(path=self.pictures / f"{step}.png")
                if corrections is not None:
                    shown.click("#correct")
                    shown.fill("#translation", corrections[text])
                    shown.click("#save")
                    expect(shown.locator("#remark")).to_have_text("Saved: this text is answered so from now on.")
                shown.click("#clear")
        return {"page": right(found), "api": by_api}


def tune(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [*REGARD, "tune", "--model", "model", "--memory", "work.db", "--out", "tuned", "--json"]
    command += ["--steps", str(arguments.steps), "--to", "de"]
    if arguments.data is not None:
        command += ["--data", str(arguments.data.resolve())]
    else:
        every = arguments.text.read_text(encoding="utf-8").splitlines()
        lines = every[:: max(1, len(every) // arguments.lines)]
        (folder / "text.txt").write_text("\n".join(line.split("\t")[0] for line in lines), encoding="utf-8")
        command += ["--text", "text.txt", *test_text(arguments)]
    if arguments.worse is not None:
        command += ["--worse", str(arguments.worse)]
    before = os.times()
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return {**json.loads(done.stdout.splitlines()[-1]), "cpu_seconds": round(spent)}


def test_text(arguments: argparse.Namespace) -> list[str]:
    return ["--source", str(arguments.sentences.resolve()), "--reference", str(arguments.references.resolve())]


def bleu(folder: Path, arguments: argparse.Namespace) -> float:
    """Return the BLEU of a model on the sentences."""
    command = [*REGARD, "evaluate", "--model", str(folder), "--to", "de", "--json", *test_text(arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["bleu"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mixed = parser.add_mutually_exclusive_group(required=True)
    mixed.add_argument("--text", type=Path, help="English lines, or TSV whose first column is; translated and mixed in")
    mixed.add_argument("--data", type=Path, help="prepared data that is mixed in")
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--worse", type=float, default=None, help="as for `regard tune`")
    parser.add_argument("--pictures", type=Path, default=None)
    arguments = parser.parse_args()
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        shutil.copytree(model_folder("en-de"), folder / "model")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        command = [*REGARD, "serve", "--quiet", "--model", "model", "--memory", "work.db", "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                port = int(re.findall(r":(\d+)/", server.stderr.readline())[0])
                site = Site(port, browser, arguments.pictures)
                told["before"] = site.answers("before", CORRECTIONS)
                told["corrected"] = site.answers("corrected")
                told["tune"] = tune(folder, arguments)
                (folder / "model").rename(folder / "old")
                (folder / "tuned" / "model").rename(folder / "model")
                with Memory(folder / "work.db") as memory:
                    memory.remove([pair.id for pair in memory.entries()])
                told["old_model_without_memory"] = site.answers("old")
                os.kill(server.pid, signal.SIGHUP)
                assert any("reloaded the models" in line for line in iter(server.stderr.readline, ""))
                told["new_model_without_memory"] = site.answers("new")
                told["bleu"] = [bleu(folder / name, arguments) for name in ("old", "model")]
            finally:
                browser.close()
                server.terminate()
                server.stderr.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
