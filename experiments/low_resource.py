r"""What each step of docs/guides/low-resource.md adds: Korean from Tatoeba's few pairs, with three seeds.

    python experiments/low_resource.py --pairs kor-eng.tsv.gz --mono text.tsv.gz --root runs --results RESULTS

--pairs is English TAB Korean. Of --mono, English TAB Korean TAB source, the columns are used as text in one language
each: everyday sentences, as those of the pairs are, by their source, and up to 100,000 others of at most 12 words. 600
English sentences are for testing and 300 for validation, chosen by a hash of the sentence. No pair with one of them, or
with a translation of one of them, is trained on, and all these sentences are taken out of the text.

The steps, each with the seeds 1 to 3 and the settings of low-resource.toml:

1. from scratch with the preset `tiny`, as without the guide, and the same batches
2. the preset `low-resource`
3. and subword sampling
4. started from a model that has learned to fill in spans (denoising) of 4,000 batches of text in both languages, four
   times as often of everyday sentences, half as often of the others; its subwords are those of the pairs and 200 more
5. and trained on the back-translations of 40,000 Korean sentences, too, the everyday ones first, which make up half of
   its batches

The models of denoising and of back-translation are trained once, with seed 1. The test set is translated once by each
model, at the end; nothing is chosen by it. The same command goes on where it was stopped; what has figures in
RESULTS/low-resource is not run again. `kill PID` stops after the current step with everything saved. At the end it
prints a table: BLEU (ko-mecab) and chrF with the difference to the step before, paired by seed, and its 95 % interval.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from korean_en_ko import EVERYDAY, LEFT_OUT
from workers import STOPPED, Workers, begin, done, known

from regard.code_version import MEASURING, code_version, training_version
from regard.evaluate.bleu import bleu, chrf
from regard.files import write_json
from regard.paper.table3.paired import Values, interval, pooled

TEST, VALID = 600, 300
SEEDS = (1, 2, 3)
BACK, DENOISING = 40_000, 4000  # lines that are translated back, and updates of denoising
OTHERS, WORDS = 100_000, 12  # lines of text that are not everyday sentences, and their most words
STEPS = ("scratch", "preset", "sampling", "denoising", "back-translation")
RECIPE = str(Path(__file__).parent / "low-resource.toml")
COPY = "the source, copied"

Pair = tuple[str, str]
Job = Callable[[], object]


def place(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def read(path: Path) -> list[Pair]:
    return [(row[0], row[1]) for row in rows_of(path)]


def rows_of(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def lines(path: Path, texts: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def write_texts(pairs: list[Pair], mono: list[list[str]], out: Path) -> None:
    """Write training, validation and test pairs, and the text in each language without the held out sentences."""
    korean: dict[str, list[str]] = defaultdict(list)
    for english, target in pairs:
        korean[english].append(target)
    order = sorted(korean, key=place)
    test, valid, rest = order[:TEST], order[TEST : TEST + VALID], order[TEST + VALID :]
    held = {target for english in test + valid for target in korean[english]}
    train = [(english, target) for english in rest for target in korean[english] if target not in held]
    sides = {"train": train} | {
        name: [(english, korean[english][0]) for english in some] for name, some in (("valid", valid), ("test", test))
    }
    for name, some in sides.items():
        lines(out / f"{name}.en-ko.tsv", ["\t".join(pair) for pair in some])
        lines(out / f"{name}.ko-en.tsv", ["\t".join(reversed(pair)) for pair in some])
        for side, language in enumerate(("en", "ko")):
            lines(out / f"{name}.{language}", [pair[side] for pair in some])
    apart, mono = {*test, *valid, *held}, [row for row in mono if row[2] not in LEFT_OUT]
    for side, language in enumerate(("en", "ko")):
        everyday = sorted({row[side] for row in mono if row[2] in EVERYDAY} - apart, key=place)
        others = sorted({row[side] for row in mono} - apart - {*everyday}, key=place)
        short = [text for text in others if len(text.split()) <= WORDS][:OTHERS]
        lines(out / f"everyday.{language}", everyday)
        lines(out / f"others.{language}", short)
        lines(out / f"back.{language}", [*everyday, *short][:BACK])


class Ladder(Workers):
    """The steps of the ladder, the models that they need, and their figures."""

    @property
    def out(self) -> Path:
        """The folder of texts, data and runs of this code: those of other code are not mixed in."""
        folder: Path = self.given.root / "low-resource" / training_version("likelihood")
        return folder

    def kept(self, step: str, seed: int) -> Path:
        folder: Path = self.given.results / "low-resource"
        return folder / f"{step}-{seed}.json"

    def prepare(self, name: str, *options: str, way: str = "en-ko") -> Path:
        """Prepare data from one language to the other, unless that is done, and return the folder."""
        folder, (source, target) = self.out / "data" / name, way.split("-")
        if not folder.exists():
            languages = ["--from", source, "--to", target, "--out", str(folder)]
            done(self, self.out / "prepare.out", "prepare", *options, *languages, within=self.out / "text")
        return folder

    def pairs(self, name: str, way: str, *options: str) -> Path:
        return self.prepare(name, "--train", f"train.{way}.tsv", "--valid", f"valid.{way}.tsv", *options, way=way)

    def train(self, name: str, data: Path, seed: int, *options: str) -> Path | None:
        """Train a model, unless that is done, and return it; None if the run was stopped or failed."""
        run = self.out / name
        command = ["train", *options, "--set", f"train.seed={seed}", "--data", str(data), "--out", str(run)]
        code, cpu, wall = self.regard(self.out / f"{name}.out", *command)
        self.note(f"low-resource {name}", cpu, wall, code)
        return None if code else run / "model"

    def step(self, step: str, seed: int, data: Path, *options: str) -> None:
        """Train and measure a step with a seed, and keep the figures."""
        kept = self.kept(step, seed)
        if known(kept):
            return
        model = self.train(f"{step}-{seed}", data, seed, *options)
        if model is None:
            return
        text, printed = self.out / "text", self.out / f"{step}-{seed}.json"
        sides = ["--source", str(text / "test.en"), "--reference", str(text / "test.ko"), "--tokenize", "ko-mecab"]
        code, _, _ = self.regard(
            self.out / f"{step}-{seed}.out", "evaluate", "--model", str(model), *sides, "--json", output=printed
        )
        if code == 0:
            said = json.loads(printed.read_text(encoding="utf-8"))
            figures = {key: said[key] for key in ("bleu", "signature", "chrf", "chrf_signature")}
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_json(kept, {"step": step, "seed": seed, "code": code_version(MEASURING), **figures})

    def run(self) -> None:
        """Run all steps; models that others start from come first."""
        plain = ["--set", "train.subword_sampling="]
        scratch, more = ["--preset", "tiny"], ["train.steps=2000", "train.warmup=200", "train.checkpoint_every=200"]
        more.append("train.batch_tokens=1024")
        scratch += [part for setting in more for part in ("--set", setting)]
        data = self.pairs("pairs", "en-ko")
        text = ["--text", "everyday.ko", "everyday.en", "others.ko", "others.en"]
        text += [part for weight in ("4", "4", "0.5", "0.5") for part in ("--weight", weight)]
        mono = self.prepare("mono", "--task", "denoise", *text, "--subwords-from", str(data), "--grow", "200")
        same = ["--subwords-from", str(mono)]
        long = ["--set", f"train.steps={DENOISING}", "--set", "train.checkpoint_every=500"]
        first: list[Job] = (
            []
            if self.finished("denoising", "back-translation")
            else [partial(self.train, "mono", mono, 1, RECIPE, *long)]
        )
        for step, options in (("sampling", [RECIPE]), ("preset", [RECIPE, *plain]), ("scratch", scratch)):
            first += [partial(self.step, step, seed, data, *options) for seed in SEEDS]
        self.phase(first)
        started = [RECIPE, "--from", str(self.out / "mono" / "model")]
        joined = self.pairs("joined", "en-ko", *same)
        second: list[Job] = [partial(self.step, "denoising", seed, joined, *started) for seed in SEEDS]
        if self.finished("back-translation"):
            self.phase(second)
            return
        back = self.pairs("back", "ko-en", *same)
        self.phase([partial(self.train, "back", back, 1, *started), *second])
        both = self.back_translated(same)
        self.phase([partial(self.step, "back-translation", seed, both, *started) for seed in SEEDS])

    def finished(self, *steps: str) -> bool:
        """Return whether all seeds of these steps have figures."""
        return all(known(self.kept(step, seed)) for step in steps for seed in SEEDS)

    def back_translated(self, same: list[str]) -> Path:
        """Return the data with the back-translations of Korean sentences, half of each pass."""
        text, synthetic = self.out / "text", self.out / "text" / "back.tsv"
        if not synthetic.exists():
            what = ["--model", str(self.out / "back" / "model"), "--text", str(text / "back.ko")]
            done(self, self.out / "synthesise.out", "synthesise", *what, "--out", str(synthetic))
        real = ["--train", "train.en-ko.tsv", "--tag", "", "--weight", "4"]
        made = ["--train", synthetic.name, "--tag", "<bt>", "--weight", "0.5"]
        return self.prepare("both", *real, *made, "--valid", "valid.en-ko.tsv", *same)

    def phase(self, jobs: list[Job]) -> None:
        self.all(jobs)
        if self.stopped.is_set():
            sys.exit(STOPPED)


def table(found: dict[str, dict[int, dict[str, Any]]], copied: tuple[float, float]) -> str:
    """Return the table of all steps that have figures, each beside the step before."""
    rows = ["| step | BLEU | chrF | chrF gain over the step before | seeds |", "|---|---|---|---|---|"]
    rows.append(f"| {COPY} | {copied[0]:.1f} | {copied[1]:.1f} | | |")
    values: Values = {step: {seed: one["chrf"] for seed, one in seeds.items()} for step, seeds in found.items()}
    chance = pooled(values) if values else None
    for before, step in zip(("", *STEPS), STEPS, strict=False):
        if step not in found:
            continue
        own = found[step].values()
        more = interval(values, step, before, chance) if chance is not None else None
        shown = "" if more is None else f"{more.difference:+.1f} ({more.low:+.1f} to {more.high:+.1f})"
        cells = (f"{mean(one[key] for one in own):.1f}" for key in ("bleu", "chrf"))
        rows.append(f"| {step} | {' | '.join(cells)} | {shown} | {len(own)} |")
    return "\n".join(rows)


def report(ladder: Ladder) -> str:
    """Return the table of what is there."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for step in STEPS:
        for seed in SEEDS:
            if known(ladder.kept(step, seed)):
                found.setdefault(step, {})[seed] = json.loads(ladder.kept(step, seed).read_bytes())
    source, reference = (
        (ladder.out / "text" / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "ko")
    )
    copied = bleu(source, [reference], "ko-mecab").value, chrf(source, [reference]).value
    return table(found, copied)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="gzipped: English TAB Korean")
    parser.add_argument("--mono", type=Path, required=True, help="gzipped: English TAB Korean TAB source")
    parser.add_argument(
        "--root", type=lambda name: Path(name).resolve(), required=True, help="where texts, data and runs go"
    )
    parser.add_argument(
        "--results", type=lambda name: Path(name).resolve(), required=True, help="where figures are kept"
    )
    parser.add_argument("--workers", type=int, default=2, help="how many runs at once, a core each")
    parser.add_argument("--pid", type=Path, help="write the id of the process group into this file")
    parser.add_argument("--report", action="store_true", help="train nothing: print the table of what is done")
    ladder = Ladder(parser.parse_args())
    text = ladder.out / "text"
    if not text.exists():
        part = text.with_name("text.part")
        write_texts(read(ladder.given.pairs), rows_of(ladder.given.mono), part)
        part.rename(text)
    if not ladder.given.report:
        begin(ladder)
        ladder.run()
    print(report(ladder))
    missing = [step for step in STEPS if not ladder.finished(step)]
    if missing and not ladder.given.report:
        sys.exit(f"these steps lack figures; see the .out files in {ladder.out}: {', '.join(missing)}")


if __name__ == "__main__":
    main()
