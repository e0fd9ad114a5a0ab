r"""A third language for the bundled en-de: its vocabulary grown for French, beside a model from scratch.

    python experiments/tatoeba_en_de.py deu-eng.tsv.gz data/text
    python experiments/grow_french.py --texts data/text --french fra-eng.tsv.gz --root runs --results RESULTS

The French file is English TAB French. 1,000 English sentences of it are for testing (with all their translations), 500
for validation and 20,000 pairs for training; no pair with one of the held out sentences, or with a translation of one
of them, is trained on. The German texts are en-de's own; it has not seen the 2,000 test sentences.

1. `grown`: `regard prepare --subwords-from en-de --grow 2000`, then `regard train --from en-de`, for 1,500 steps:
   French twice in an epoch, and 20,000 of en-de's own pairs in each direction (replay), so that it keeps German.
2. `without-replay`: the same steps on French alone.
3. `scratch`: the preset `low-resource` on the same French pairs, for as many steps.

Each is tested once, at the end: BLEU into French, into German before and after, and into English before and after.
Stopped or killed, the same command goes on; what has figures in RESULTS/grow-french is not run again.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from tatoeba_en_de import place, write
from workers import STOPPED, Workers, begin, copy, done, known

import regard
from regard.code_version import MEASURING, code_version, training_version
from regard.files import write_json

TEST, VALID, TRAIN, REPLAY = 1000, 500, 20_000, 20_000
STEPS = 1500
SETTINGS = ["train.batch_tokens=2048", f"train.steps={STEPS}", "train.checkpoint_every=250", "train.precision=bf16"]


def write_french(path: Path, out: Path) -> None:
    """Write the French texts: pairs to train and validate, and the test with all its translations."""
    french: dict[str, list[str]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, target = line.rstrip("\n").split("\t")[:2]
            if target not in french[english]:
                french[english].append(target)
    order = sorted(french, key=place)
    test, valid, rest = order[:TEST], order[TEST : TEST + VALID], order[TEST + VALID :]
    held = {target for english in test + valid for target in french[english]}
    pairs = [(english, target) for english in rest for target in french[english] if target not in held]
    write(out / "train.en-fr.tsv", ["\t".join(pair) for pair in pairs[:TRAIN]])
    write(out / "valid.en-fr.tsv", [f"{english}\t{french[english][0]}" for english in valid])
    write(out / "french.en", test)
    most = max(len(french[english]) for english in test)
    for number in range(most):  # a sentence with fewer translations repeats its first, which changes no score
        known_ones = [french[english] for english in test]
        write(out / f"french.fr.{number}", [some[number] if number < len(some) else some[0] for some in known_ones])


class French(Workers):
    """The three models, and their figures."""

    @property
    def out(self) -> Path:
        """The folder of texts, data and runs of this code: those of other code are not mixed in."""
        folder: Path = self.given.root / "grow-french" / training_version("likelihood")
        return folder

    @property
    def text(self) -> Path:
        return self.out / "text"

    def texts(self) -> None:
        """Write the texts of both languages, unless that is done."""
        if self.text.exists():
            return
        part = self.text.with_name("text.part")
        part.mkdir(parents=True, exist_ok=True)
        for way in ("en-de", "de-en"):
            lines = (self.given.texts / f"train.{way}.tsv").read_text(encoding="utf-8").splitlines()
            write(part / f"replay.{way}.tsv", sorted(lines, key=place)[:REPLAY])
        for path in (*self.given.texts.glob("valid.*"), *self.given.texts.glob("test.*")):
            copy(path, part / path.name)
        write_french(self.given.french, part)
        part.rename(self.text)

    def prepare(self, name: str, *options: str) -> Path:
        folder = self.out / "data" / name
        if not folder.exists():
            more = ["--from", "en", "--to", "fr", "--out", str(folder)]
            done(self, self.out / f"prepare-{name}.out", "prepare", *options, *more, within=self.text)
        return folder

    def data(self, name: str) -> Path:
        grown = ["--subwords-from", "en-de", "--grow", "2000"]
        tagged = ["--train", "train.en-fr.tsv", "--tag", "<2fr>", "--weight", "2"]
        valid = ["--valid", "valid.en-fr.tsv", "--valid-tag", "<2fr>"]
        if name == "scratch":
            return self.prepare(name, "--train", "train.en-fr.tsv", "--valid", "valid.en-fr.tsv")
        if name == "grown":
            for way, tag in (("en-de", "<2de>"), ("de-en", "<2en>")):
                tagged += ["--train", f"replay.{way}.tsv", "--tag", tag, "--weight", "1"]
                valid += ["--valid", f"valid.{way}.tsv", "--valid-tag", tag]
        return self.prepare(name, *tagged, *valid, *grown)

    def run(self, name: str, data: Path) -> None:
        """Train a model, unless it has figures, and measure it."""
        kept: Path = self.given.results / "grow-french" / f"{name}.json"
        if known(kept):
            return
        run, start = self.out / name, ["--preset", "low-resource"] if name == "scratch" else ["--from", "en-de"]
        changed = [part for setting in SETTINGS for part in ("--set", setting)]
        command = ["train", *start, *changed, "--data", str(data), "--out", str(run)]
        code, cpu, wall = self.regard(self.out / f"{name}.out", *command)
        self.note(f"grow-french {name}", cpu, wall, code)
        if code == 0:
            kept.parent.mkdir(parents=True, exist_ok=True)
            ways = ("fr",) if name == "scratch" else ("fr", "de", "en")
            write_json(kept, {"code": code_version(MEASURING), **self.scores(str(run / "model"), ways)})

    def scores(self, model: str, ways: tuple[str, ...]) -> dict[str, Any]:
        """Return BLEU and chrF into each of these languages, on the test sentences."""
        translator, found = regard.load(model), {}
        for way in ways:
            name = "french" if way == "fr" else "test"
            english = (self.text / f"{name}.en").read_text(encoding="utf-8").splitlines()
            other = sorted(self.text.glob(f"{name}.fr.*" if way == "fr" else "test.de.*"))
            others = [path.read_text(encoding="utf-8").splitlines() for path in other]
            sources, references = (others[0], [english]) if way == "en" else (english, others)
            scores = regard.evaluate(translator, sources, references, regard.Options(target=way)).report.scores
            found[way] = {key: scores[key].value for key in ("bleu", "chrf")} | {"signature": scores["bleu"].signature}
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="the folder that tatoeba_en_de.py has written")
    parser.add_argument("--french", type=Path, required=True, help="gzipped: English TAB French")
    for folder, meaning in (("--root", "where texts, data and runs go"), ("--results", "where figures are kept")):
        parser.add_argument(folder, type=lambda name: Path(name).resolve(), required=True, help=meaning)
    parser.add_argument("--workers", type=int, default=2, help="how many runs at once, a core each")
    parser.add_argument("--pid", type=Path, help="write the id of the process group into this file")
    french = French(parser.parse_args())
    french.texts()
    begin(french)
    names = ("grown", "without-replay", "scratch")
    before: Path = french.given.results / "grow-french" / "before.json"
    if not known(before):
        before.parent.mkdir(parents=True, exist_ok=True)
        write_json(before, {"code": code_version(MEASURING), **french.scores("en-de", ("de", "en"))})
    data = {name: french.data(name) for name in names}
    french.all([partial(french.run, name, data[name]) for name in names])
    if french.stopped.is_set():
        sys.exit(STOPPED)
    paths = [before.with_name(f"{name}.json") for name in ("before", *names)]
    print(json.dumps({path.stem: json.loads(path.read_bytes()) for path in paths if path.exists()}, indent=1))
    missing = [path.stem for path in paths if not path.exists()]
    sys.exit(f"these failed; see their .out files in {french.out}: {', '.join(missing)}" if missing else 0)


if __name__ == "__main__":
    main()
