"""Blockwise parallel decoding with the bundled model: is the text greedy's, how many tokens a step, how much faster?

    python benchmarks/blockwise.py $REGARD_DATA/tatoeba/deu-eng.tsv.gz --work runs/blockwise

The model is given heads that propose tokens, trained on its own greedy translations of the sentences that it was
trained on (experiments/tatoeba_en_de.py); its own weights stay as they are, unless `--tuned`. Then its 2,000 test
sentences are decoded one by one by the torch engine, greedily and blockwise, in turns. Told: BLEU, how many texts are
the same, tokens a step (EOS counts), and the time of greedy decoding divided by that of blockwise decoding, with its
quartiles over the rounds.

Stopped or killed, the same command goes on. `--steps 0` with `--model` measures a model that has heads already.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from regard.config.decode import DecodeConfig
from regard.engines.engine import Request
from regard.engines.torch_engine import TorchEngine
from regard.evaluate.bleu import bleu
from regard.saved.folder import load_model
from regard.search.hypothesis import Hypothesis
from regard.translate.translator import Translator

ROOT = Path(__file__).resolve().parents[1]
HEADS = (
    "model.blocks=4",
    "train.batch_tokens=2048",
    "train.peak_rate=0.002",
    "train.label_smoothing=0",
    "train.checkpoint_every=250",
    "train.precision=bf16",  # faster with AVX-512 BF16, else slower
)
TUNED = ("model.blocks_tuned=true", "train.peak_rate=0.0007")
GREEDY = DecodeConfig(beam=1)


@dataclass(frozen=True)
class Result:
    """Figures of blockwise decoding beside greedy search."""

    sentences: int
    bleu: float
    """Of greedy search, beside all references."""
    identical: int
    """Texts that are greedy search's."""
    tokens: int
    """Of greedy search, EOS included."""
    steps: int
    """Of blockwise decoding."""
    tokens_a_step: float
    accepted: dict[int, int]
    """How often a step accepted so many tokens."""
    threads: int
    rounds: int
    timed_sentences: int
    faster: float
    """Seconds of greedy decoding divided by those of blockwise decoding, one sentence at a time: median of rounds."""
    faster_quartiles: tuple[float, float]
    faster_cpu: float
    """The same in CPU-seconds."""
    greedy_ms: float
    """Milliseconds a sentence, median of rounds."""
    blockwise_ms: float


def regard(*arguments: str | Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-m", "regard", *map(str, arguments)], env=environment, check=True)


def trained(pairs: Path, work: Path, model: str, steps: int, settings: Sequence[str]) -> Path:
    """Train heads for a model on its own translations; what is there already is not made again."""
    text = work / "text"
    if not (text / "test.en").exists():
        script = ROOT / "experiments" / "tatoeba_en_de.py"
        subprocess.run([sys.executable, str(script), str(pairs), str(text)], check=True, stdout=sys.stderr)
    sides = {"train": work / "train.en", "valid": work / "valid.en"}
    for name, path in sides.items():
        if not path.exists():
            lines = (text / f"{name}.en-de.tsv").read_text(encoding="utf-8").splitlines()
            unique = dict.fromkeys(line.partition("\t")[0] for line in lines)
            path.write_text("".join(f"{line}\n" for line in unique), encoding="utf-8")
        options = ["--kind", "forward", "--to", "de", "--beam", "1", "--any-language"]
        if not (work / f"{name}.tsv").exists():
            regard("synthesise", "--model", model, "--text", path, *options, "--out", work / f"{name}.tsv")
    if not (work / "data").exists():
        tagged = ["--train", str(work / "train.tsv"), "--tag", "<2de>"]
        tagged += ["--valid", str(work / "valid.tsv"), "--valid-tag", "<2de>"]
        languages = ["--from", "en", "--to", "de", "--subwords-from", model]
        regard("prepare", *tagged, *languages, "--out", work / "data")
    changed = [part for one in (*HEADS, f"train.steps={steps}", *settings) for part in ("--set", one)]
    regard("train", "--from", model, *changed, "--data", work / "data", "--out", work / "run")
    return work / "run" / "model"


def measure(model: Path, text: Path, sentences: int, timed: int, rounds: int) -> Result:
    lines, *references = (
        path.read_text(encoding="utf-8").splitlines()[:sentences]
        for path in (text / "test.en", *sorted(text.glob("test.de.*")))
    )
    loaded = load_model(model)
    translator, engine = Translator(loaded), TorchEngine(loaded.model)
    tag = translator.tag("de")
    sources = [[*tag, *ids] for ids in translator.source_subwords.encode(list(lines))]
    greedy, blockwise = Request(GREEDY), Request(GREEDY, decoding="blockwise")

    def decode(request: Request) -> Callable[[Sequence[int]], Hypothesis]:
        return lambda source: engine.search([source], request)[0][0]

    expected, found = (list(map(decode(request), sources)) for request in (greedy, blockwise))
    tokens, steps = sum(len(one.tokens) + 1 for one in expected), [one.steps for one in found]
    accepted = [taken.count(step) for taken in steps for step in range(1, taken[-1] + 1)]
    ratios, cpu_ratios, seconds = [], [], []
    for round_ in range(rounds):
        spent = {"search": [0.0, 0.0], "blockwise": [0.0, 0.0]}
        for number, source in enumerate(sources[:timed]):
            both = (greedy, blockwise) if (number + round_) % 2 else (blockwise, greedy)
            for request in both:
                wall, cpu = time.perf_counter(), time.process_time()
                engine.search([source], request)
                spent[request.decoding][0] += time.perf_counter() - wall
                spent[request.decoding][1] += time.process_time() - cpu
        ratios.append(spent["search"][0] / spent["blockwise"][0])
        cpu_ratios.append(spent["search"][1] / spent["blockwise"][1])
        seconds.append((spent["search"][0], spent["blockwise"][0]))
    count = min(timed, len(sources))
    low, _, high = statistics.quantiles(ratios, n=4) if rounds > 1 else (ratios[0],) * 3
    return Result(
        sentences=len(sources),
        bleu=round(bleu(translator.target_subwords.decode_all([one.tokens for one in expected]), references).value, 2),
        identical=sum(one.tokens == other.tokens for one, other in zip(expected, found, strict=True)),
        tokens=tokens,
        steps=len(accepted),
        tokens_a_step=round(tokens / len(accepted), 3),
        accepted={size: accepted.count(size) for size in sorted(set(accepted))},
        threads=torch.get_num_threads(),
        rounds=rounds,
        timed_sentences=count,
        faster=round(statistics.median(ratios), 3),
        faster_quartiles=(round(low, 3), round(high, 3)),
        faster_cpu=round(statistics.median(cpu_ratios), 3),
        greedy_ms=round(1000 * statistics.median(one for one, _ in seconds) / count, 3),
        blockwise_ms=round(1000 * statistics.median(other for _, other in seconds) / count, 3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="Tatoeba's pairs: English TAB German, gzipped")
    parser.add_argument("--work", type=Path, required=True, help="where texts, data and the run go")
    parser.add_argument("--model", default="en-de", help="the model that is given heads, or has them (--steps 0)")
    parser.add_argument("--steps", type=int, default=3000, help="of training; 0: measure the model as it is")
    parser.add_argument("--tuned", action="store_true", help="train the model's own weights, too, at a lower rate")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the training")
    parser.add_argument("--sentences", type=int, default=2000, help="how many of the test sentences")
    parser.add_argument("--timed", type=int, default=200, help="how many of them are timed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.work.mkdir(parents=True, exist_ok=True)
    settings = [*(TUNED if given.tuned else ()), *given.set]
    model = trained(given.pairs, given.work, given.model, given.steps, settings) if given.steps else Path(given.model)
    result: dict[str, Any] = asdict(measure(model, given.work / "text", given.sentences, given.timed, given.rounds))
    print(json.dumps(result) if given.json else "\n".join(f"{key:18} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
