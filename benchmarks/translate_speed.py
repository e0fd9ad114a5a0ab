"""Translation speed beside what people would pick instead: CTranslate2 driven directly, and Hugging Face's `generate`.

    python benchmarks/translate_speed.py [--json] [--presets small,base] [--starts 3] [--rounds 1] [--sentences N]
    python benchmarks/translate_speed.py --model runs/x/model [--text FILE]
    python benchmarks/translate_speed.py --model en-de --text en.txt --contenders regard-native,ctranslate2-int8

Text in, text out for all. Each contender has a process of its own, so that its peak memory is its own; they take turns,
one at a time, so that whatever else the machine does falls on all of them alike. See README.md beside this file.
"""

import argparse
import gzip
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import translate_contenders
from train_batches import corpus_folder
from train_speed import GEMM_SIZE, Worker, processor
from translate_contenders import BEAMS, CONTENDERS
from translate_marian import write_marian

from regard.config.model import ModelConfig
from regard.config.presets import preset
from regard.config.run import Config
from regard.saved.saved_model import model_folder

SENTENCES = {"base": 250}  # of the file, where all of it would take too long
SINGLE = {"base": 20}  # that are translated one by one
TUNED = 200  # sentences on which a contender's settings are compared, once
PAUSE = 0.3  # seconds between turns: threads of CTranslate2 keep a core for 0.2 after their work


# The model: the preset's shape, and weights that copy the source. Time depends on shapes and lengths alone.


def lines(name: str) -> list[str]:
    path = corpus_folder() / f"{name}.gz"
    if not path.exists():
        raise SystemExit(f"{path}: no such file; the text is Multi30k, in the folder that $REGARD_DATA names")
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def copying_model(config: ModelConfig) -> torch.nn.Module:
    """A model whose output is its source: target position t looks at source position t, and writes what stands there.

    So every output ends where its source does, which random weights would never do, and rounding to int8 changes
    little. In the first d_k dimensions tokens are 0, so positions stand there alone: queries and keys of the last
    attention to the source read those. All other sub-layers are random and add little to what passes by them.
    """
    from regard.model.build import build
    from regard.model.positions import sinusoids

    torch.manual_seed(0)
    model = build(config).eval().requires_grad_(False)
    D, K = config.d_model, config.d_k
    embedding_VD: torch.Tensor = model.projection_VD
    embedding_VD[:, :K] = 0
    embedding_VD[:, K:] -= embedding_VD[:, K:].mean(1, keepdim=True)
    embedding_VD *= 2 / embedding_VD.norm(dim=1, keepdim=True)
    mean_D = sinusoids(0, 32, D).mean(0)  # taken away from every token, so that the norms leave positions as they are
    embedding_VD[:, K:] -= (mean_D[K:] + mean_D[:K].sum() / (D - K)) / math.sqrt(D)
    for name, parameter in model.named_parameters():
        if name.endswith(("output.weight", "outer.weight")):
            parameter.mul_(0.05)
    last = model.decoder[-1]
    positions_ED = 8 * torch.eye(K, D).repeat(config.heads, 1)
    last.cross.query.weight.copy_(positions_ED)
    last.cross.key.weight.copy_(positions_ED)
    last.cross.value.weight.copy_(torch.eye(D))
    last.cross.output.weight.copy_(4 * torch.eye(D))
    last.around_feed_forward.norm.weight *= 0.57 * math.log(config.vocabulary) / math.sqrt(D)  # so unsure as if trained
    return model


def write_models(folder: Path, name: str, given: Path | None, contenders: Sequence[str]) -> None:
    """The same model as every contender loads it; as Marian only if needed, for not every model can be."""
    from regard.exchange.to_ctranslate2 import FOLDER, export_ctranslate2
    from regard.exchange.to_huggingface import export_huggingface
    from regard.saved.folder import save_model
    from regard.saved.saved_model import SavedModel
    from regard.text.subwords import Subwords

    model = folder / "model"
    if given is None:
        config: Config = preset(name)
        subwords = Subwords.train(lines("train.en") + lines("train.de"), config.model.vocabulary)
        saved = SavedModel.of_run(config, {"subwords.model": subwords.content}, (None, None), "NFC")
        save_model(model, saved.with_model(copying_model(config.model)))
    else:
        shutil.copytree(given, model, ignore=shutil.ignore_patterns(FOLDER))
    shutil.copytree(model, folder / "model-int8")
    write_tag(folder)
    export_ctranslate2(folder / "model-int8", folder / "model-int8" / FOLDER, "int8")
    export_ctranslate2(model, folder / "float32", "float32")
    export_ctranslate2(model, folder / "int8", "int8")
    if "huggingface" in contenders:
        export_huggingface(model, folder / "huggingface")
    if "marian" in contenders:
        write_marian(model, folder / "marian")


def write_tag(folder: Path) -> None:
    """The pieces that come before every source of a model of several languages, for those who add them themselves."""
    import regard

    translator = regard.load(folder / "model", engine="torch")
    pieces = translator.source_subwords.pieces(translator.tag(None))
    (folder / "tag.json").write_text(json.dumps(list(pieces)), encoding="utf-8")


# The race.


class Contender(Worker):
    """The process of a contender in this race."""

    def __init__(self, name: str, folder: Path) -> None:
        command = [sys.executable, translate_contenders.__file__, name, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def turn(self, **job: Any) -> dict[str, Any]:
        time.sleep(PAUSE)
        return self.run(job)


Turns = dict[tuple[str, str, str], list[dict[str, Any]]]  # by kind of search, mode and contender


def race(
    folder: Path, contenders: tuple[str, ...], starts: int, rounds: int, sentences: int, single: int
) -> tuple[dict[str, Any], list[float]]:
    """All contenders over the same text, in turns. Also the seconds that a GEMM took in between.

    A process keeps a pace of its own, up to a tenth from another's of the same program: so each is started several
    times, and the median is over the turns of all.
    """
    amounts = {"file": sentences, "single": single}
    gemm, gemm_seconds = Worker("gemm"), []
    settings: dict[str, dict[str, Any]] = {}
    turns: Turns = {}
    by_start: list[Any] = []
    memory: dict[str, Any] = {}
    for start in range(starts):
        workers = {contender: Contender(contender, folder) for contender in contenders}
        for contender, worker in workers.items():
            worker.read()  # it has loaded its model
            warm(worker, settings.setdefault(contender, {}), min(TUNED, sentences))
        these: Turns = {}
        for number in range(rounds):
            first = (start + number) % len(contenders)
            for kind, beam in BEAMS.items():
                for mode, amount in amounts.items():
                    for contender in contenders[first:] + contenders[:first]:
                        setting = settings[contender][kind]
                        turn = workers[contender].turn(mode=mode, beam=beam, lines=amount, setting=setting)
                        these.setdefault((kind, mode, contender), []).append(turn)
            gemm_seconds.append(gemm.run([0])["seconds"])
        for place, taken in these.items():
            turns.setdefault(place, []).extend(taken)
        by_start.append(ratios(rows(these, contenders)))
        peaks = {contender: round(worker.end()["peak"]) for contender, worker in workers.items()}
        memory = {contender: max(peak, memory.get(contender, 0)) for contender, peak in peaks.items()}
    gemm.end()
    found = rows(turns, contenders)
    about = {"memory": memory, "settings": settings, "sentences": amounts}
    return {**found, "ratios": ratios(found), "ratios_by_start": by_start, **about}, gemm_seconds


def warm(worker: Contender, settings: dict[str, Any], sentences: int) -> None:
    """A first turn that does not count: it finds the contender's best settings, unless an earlier start has."""
    for kind, beam in BEAMS.items():
        if kind in settings:
            worker.turn(mode="file", beam=beam, lines=sentences, setting=settings[kind])
        else:
            settings[kind] = worker.turn(mode="tune", beam=beam, lines=sentences)["setting"]


def rows(turns: Turns, contenders: tuple[str, ...]) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        kind: {contender: figures(turns, kind, contender, contenders) for contender in contenders} for kind in BEAMS
    }


def figures(turns: Turns, kind: str, contender: str, contenders: tuple[str, ...]) -> dict[str, Any]:
    """What the turns of one contender say; `agree` is the share of its texts that are those of our reference."""
    whole, single = turns[kind, "file", contender], turns[kind, "single", contender]
    texts = whole[0]["texts"]
    right = turns[kind, "file", "regard-torch" if "regard-torch" in contenders else contenders[0]][0]["texts"]
    each = sorted(latency for turn in single for latency in turn["latencies"])
    return {
        "file": round(statistics.median(len(texts) / turn["latencies"][0] for turn in whole), 1),
        "per_cpu_second": round(statistics.median(len(texts) / turn["cpu"] for turn in whole), 1),
        "single": round(statistics.median(len(turn["latencies"]) / sum(turn["latencies"]) for turn in single), 1),
        "p50_ms": round(1000 * each[len(each) // 2], 2),
        "p99_ms": round(1000 * each[math.ceil(0.99 * len(each)) - 1], 2),
        "words": round(statistics.mean(len(text.split()) for text in texts), 2),
        "agree": round(statistics.mean(a == b for a, b in zip(texts, right, strict=True)), 3),
    }


def ratios(rows: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Our speed over theirs; of CTranslate2's two choices of threads, over the faster."""
    pairs = (
        ("regard", "ctranslate2", "file"),
        ("regard-int8", "ctranslate2-int8", "file"),
        ("regard-native", "ctranslate2-int8", "file"),
        ("regard-native", "ctranslate2-int8", "per_cpu_second"),
        ("regard-native", "ctranslate2-int8", "single"),
        ("regard-native", "marian", "file"),
        ("regard-native", "marian", "per_cpu_second"),
        ("regard-native", "marian", "single"),
        ("regard-native-float32", "ctranslate2", "file"),
        ("regard-native-float32", "ctranslate2", "per_cpu_second"),
        ("regard-native-float32", "ctranslate2", "single"),
        ("regard", "huggingface", "file"),
        ("regard-int8", "huggingface", "file"),
        ("regard-torch", "huggingface", "file"),
        ("regard-torch", "huggingface", "single"),
    )
    found: dict[str, dict[str, float]] = {}
    for ours, theirs, mode in pairs:
        for kind, row in rows.items():
            speeds = [row[name][mode] for name in (theirs, f"{theirs}-default") if name in row]
            if ours in row and speeds:
                ratio = round(row[ours][mode] / max(speeds), 3)
                found.setdefault(f"{ours} / {theirs}, {mode}", {})[kind] = ratio
    return found


def table(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['machine']}; torch {report['torch']}; fp32 GEMM {report['gemm_gflops']:.0f} GFLOP/s"
    heads = ("file/s", "one/s", "p50 ms", "p99 ms", "agree", "words", "peak MB")
    for name in report["models"]:
        row = report[name]
        for kind in BEAMS:
            yield ""
            yield f"{f'{name}, {kind}':26}" + "".join(f"{head:>9}" for head in heads)
            for contender, found in row[kind].items():
                cells = [found[key] for key in ("file", "single", "p50_ms", "p99_ms", "agree", "words")]
                yield f"{contender:26}" + "".join(f"{cell:>9,}" for cell in (*cells, row["memory"][contender]))
        yield ""
        for pair, by_kind in row["ratios"].items():
            yield f"{pair:44}" + ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in by_kind.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--presets", default="small,base")
    parser.add_argument("--model", help="a trained model instead of the presets' shapes: a folder or a name")
    parser.add_argument("--text", type=Path, help="sentences, one a line [default: Multi30k's test set in English]")
    usual = [name for name in CONTENDERS if name != "marian"]  # which needs 600 MB
    parser.add_argument("--contenders", default=",".join(usual), help="[default: all but marian, for presets only]")
    parser.add_argument("--starts", type=int, default=3, help="times that each contender's process is started anew")
    parser.add_argument("--rounds", type=int, default=1, help="turns of each process; the median of all is reported")
    parser.add_argument("--sentences", type=int, help="of the file [default: 1000; 250 for base]")
    parser.add_argument("--single", type=int, help="that are translated one by one [default: 50; 20 for base]")
    arguments = parser.parse_args()
    given = model_folder(arguments.model) if arguments.model else None
    names = [given.name] if given else arguments.presets.split(",")
    every = arguments.text.read_text(encoding="utf-8").splitlines() if arguments.text else lines("test_2016_flickr.en")
    models, gemm_seconds = {}, []
    for name in names:
        sentences = arguments.sentences or SENTENCES.get(name, 1000)
        single = arguments.single or SINGLE.get(name, 50)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            texts = every[:sentences]
            (folder / "source.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
            contenders = tuple(arguments.contenders.split(","))
            write_models(folder, name, given, contenders)
            amounts = len(texts), min(single, len(texts))
            models[name], found = race(folder, contenders, arguments.starts, arguments.rounds, *amounts)
            gemm_seconds += found
    gemm = 2 * GEMM_SIZE**3 / statistics.median(gemm_seconds) / 1e9
    about = {"machine": f"{processor()}, {os.cpu_count()} cores", "torch": torch.__version__}
    report = {**models, "gemm_gflops": round(gemm, 1), **about, "models": names}
    print(json.dumps(report, indent=2) if arguments.json else "\n".join(table(report)))


if __name__ == "__main__":
    main()
