r"""What each step of docs/guides/low-resource.md adds: Korean from Tatoeba's few pairs, with three seeds.

    curl -O https://www.manythings.org/anki/kor-eng.zip && unzip -p kor-eng.zip kor.txt | gzip > kor-eng.tsv.gz
    python experiments/low_resource.py kor-eng.tsv.gz mono.ko mono.en runs/low

kor-eng.tsv.gz is English TAB Korean; mono.ko and mono.en have a sentence a line. 600 English sentences are for testing
and 300 for validation, chosen by a hash of the sentence; no pair with one of them, or with a translation of one of
them, is trained on, and these Korean sentences are taken out of mono.ko. Stopped or killed, the same command goes on: a
run resumes, and what is measured is in OUT/results.jsonl. At the end it prints a table: BLEU (ko-mecab) and chrF, the
mean over the seeds and their range.
"""

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TEST, VALID = 600, 300
HERE = Path(__file__).parent
PLAIN = ["--set", "train.subword_sampling="]

Pair = tuple[str, str]


def regard(*arguments: str | Path) -> str:
    """Run a command of regard and return what it prints."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def split(path: Path, out: Path) -> set[str]:
    """Write train, valid and test pairs, by English sentence; return the Korean texts that are held out."""
    korean: dict[str, list[str]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, target = line.rstrip("\n").split("\t")[:2]
            korean[english].append(target)
    order = sorted(korean, key=lambda text: hashlib.blake2b(text.encode(), digest_size=8).digest())
    test, valid, rest = order[:TEST], order[TEST : TEST + VALID], order[TEST + VALID :]
    held = {target for english in test + valid for target in korean[english]}
    pairs = [(english, target) for english in rest for target in korean[english] if target not in held]
    write(out / "train.en-ko.tsv", pairs)
    write(out / "train.ko-en.tsv", [(target, english) for english, target in pairs])
    for name, sentences in (("valid", valid), ("test", test)):
        write(out / f"{name}.en-ko.tsv", [(english, korean[english][0]) for english in sentences])
        write(out / f"{name}.ko-en.tsv", [(korean[english][0], english) for english in sentences])
    lines(out / "test.en", test)
    lines(out / "test.ko", [korean[english][0] for english in test])
    return held


def write(path: Path, pairs: list[Pair]) -> None:
    lines(path, [f"{source}\t{target}" for source, target in pairs])


def lines(path: Path, texts: list[str]) -> None:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


class Ladder:
    """The steps of the ladder for one seed."""

    def __init__(self, out: Path, mono: dict[str, Path], seed: int, steps: int | None) -> None:
        self.out, self.mono, self.seed = out, mono, seed
        self.more = ["--set", f"train.seed={seed}", *([] if steps is None else ["--set", f"train.steps={steps}"])]

    def prepare(self, name: str, *options: str | Path) -> Path:
        folder = self.out / "data" / name
        if not folder.exists():
            regard("prepare", *options, "--from", "en", "--to", "ko", "--out", folder)
        return folder

    def train(self, name: str, data: Path, *options: str | Path) -> Path:
        run = self.out / f"{name}-{self.seed}"
        regard("train", *options, "--data", data, "--out", run, *self.more)
        return run / "model"

    def pairs(self, way: str, *options: str | Path) -> Path:
        text = self.out / "text"
        name = f"{way}-{len(options)}"
        return self.prepare(name, "--train", text / f"train.{way}.tsv", "--valid", text / f"valid.{way}.tsv", *options)

    def models(self) -> dict[str, Path]:
        """Train all steps; return their models."""
        recipe, found = HERE / "low-resource.toml", {}
        data = self.pairs("en-ko")
        found["from scratch, tiny"] = self.train("tiny", data, "--preset", "tiny")
        found["+ preset"] = self.train("preset", data, recipe, *PLAIN)
        found["+ sampling"] = self.train("sampling", data, recipe)
        texts: list[str | Path] = ["--text", self.mono["ko"], self.mono["en"], "--vocabulary", "8000"]
        mono = self.train("mono", self.prepare("mono", "--task", "denoise", *texts), recipe)
        same: list[str | Path] = ["--subwords-from", self.out / "data" / "mono"]
        found["+ denoising"] = self.train("denoised", self.pairs("en-ko", *same), recipe, "--from", mono)
        back = self.train("back", self.pairs("ko-en", *same), recipe, "--from", mono)
        synthetic = self.out / f"bt-{self.seed}.tsv"
        regard("synthesise", "--model", back, "--text", self.mono["ko"], "--out", synthetic, "--any-language")
        text = self.out / "text"
        both = self.prepare(
            f"bt-{self.seed}", "--train", text / "train.en-ko.tsv", "--tag", "", "--weight", "4",
            "--train", synthetic, "--tag", "<bt>", "--weight", "1", "--valid", text / "valid.en-ko.tsv", *same,
        )  # fmt: skip
        found["+ back-translation"] = self.train("bt", both, recipe, "--from", mono)
        return found


def measure(out: Path, model: Path) -> dict[str, float]:
    text = out / "text"
    said = json.loads(
        regard("evaluate", "--model", model, "--source", text / "test.en", "--reference", text / "test.ko",
               "--tokenize", "ko-mecab", "--json")
    )  # fmt: skip
    return {"bleu": said["bleu"], "chrf": said["chrf"], "signature": said["signature"]}


def table(results: list[dict[str, object]]) -> str:
    rows = ["| step | BLEU | chrF | seeds |", "|---|---|---|---|"]
    for step in dict.fromkeys(str(one["step"]) for one in results):
        own = [one for one in results if one["step"] == step]
        cells = []
        for metric in ("bleu", "chrf"):
            values = [float(str(one[metric])) for one in own]
            cells.append(f"{sum(values) / len(values):.1f} ({min(values):.1f} to {max(values):.1f})")
        rows.append(f"| {step} | {' | '.join(cells)} | {len(own)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="kor-eng.tsv.gz: English TAB Korean")
    parser.add_argument("korean", type=Path, help="Korean text, a sentence a line")
    parser.add_argument("english", type=Path, help="English text, a sentence a line")
    parser.add_argument("out", type=Path, help="the folder of all runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=None, help="updates of each run, instead of the file's")
    given = parser.parse_args()
    (given.out / "text").mkdir(parents=True, exist_ok=True)
    held = split(given.pairs, given.out / "text")
    mono = {"ko": given.out / "text" / "mono.ko", "en": given.english}
    korean = given.korean.read_text(encoding="utf-8").splitlines()
    lines(mono["ko"], [line for line in korean if line not in held])
    record = given.out / "results.jsonl"
    results = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    for seed in given.seeds:
        for step, model in Ladder(given.out, mono, seed, given.steps).models().items():
            if not any((one["step"], one["seed"]) == (step, seed) for one in results):
                results.append({"step": step, "seed": seed, **measure(given.out, model)})
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
