"""Who takes part in translate_speed.py: each in a process of its own, which imports what that contender needs alone."""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from translate_marian import with_marian

BEAMS = {"greedy": 1, "beam 4": 4}
Translate = Callable[[Sequence[str], int, Any], list[str]]  # texts, the beam, one of the contender's settings


# The contenders: each gives its settings, of which the best is taken, and a function from texts to texts.


def with_regard(folder: Path, engine: str = "auto") -> tuple[list[Any], Translate]:
    """As a user would: nothing is set but the beam."""
    import regard
    from regard.translate.translator import Options

    translator = regard.load(folder, engine=engine)
    return [None], lambda texts, beam, _: translator.translate(texts, Options(beam=beam))


def with_ctranslate2(folder: Path, threads: dict[str, int]) -> tuple[list[Any], Translate]:
    """Its own loop over the whole list; it sorts by length itself."""
    os.environ.setdefault("CT2_FORCE_CPU_ISA", best_isa())  # documented, and faster than its own choice on AMD
    import ctranslate2
    from sentencepiece import SentencePieceProcessor

    translator = ctranslate2.Translator(str(folder), **threads)
    files = sorted(folder.glob("*subwords.model"))  # of both languages, or of source and target
    source, target = (SentencePieceProcessor(model_file=str(file)) for file in (files[0], files[-1]))
    tag = json.loads((folder.parent / "tag.json").read_text(encoding="utf-8"))
    settings = [(32, "examples"), (64, "examples"), (1024, "tokens")]

    def translate(texts: Sequence[str], beam: int, setting: Sequence[Any]) -> list[str]:
        results = translator.translate_batch(
            [[*tag, *pieces] for pieces in source.encode(list(texts), out_type=str)],
            beam_size=beam,
            length_penalty=0.6,
            max_batch_size=setting[0],
            batch_type=setting[1],
        )
        return target.decode([result.hypotheses[0] for result in results])

    return settings, translate


def best_isa() -> str:
    """CTranslate2's name for the best instruction set here."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return "AVX512" if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= set(flags) else "AVX2"


def with_huggingface(folder: Path) -> tuple[list[Any], Translate]:
    """`generate` on batches of similar lengths, which its users must sort themselves."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")  # a package is recommended that would change punctuation first
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    tokenizer.punc_normalizer = str
    model = transformers.MarianMTModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def translate(texts: Sequence[str], beam: int, size: int) -> list[str]:
        found: dict[int, str] = {}
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            batch = tokenizer([texts[number] for number in numbers], return_tensors="pt", padding=True)
            written = model.generate(**batch, num_beams=beam, early_stopping=beam > 1)
            found |= zip(numbers, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True)
        return [found[number] for number in range(len(texts))]

    return [32, 64], translate


BEST = {"inter_threads": len(os.sched_getaffinity(0)), "intra_threads": 1}  # one thread is best for one sentence, too
CONTENDERS: dict[str, Callable[[Path], tuple[list[Any], Translate]]] = {
    "regard": lambda folder: with_regard(folder / "model"),
    "regard-int8": lambda folder: with_regard(folder / "model-int8"),
    "regard-native": lambda folder: with_regard(folder / "model-int8", "native"),
    "regard-native-float32": lambda folder: with_regard(folder / "model", "native"),
    "regard-torch": lambda folder: with_regard(folder / "model", "torch"),
    "ctranslate2": lambda folder: with_ctranslate2(folder / "float32", BEST),
    "ctranslate2-int8": lambda folder: with_ctranslate2(folder / "int8", BEST),
    "ctranslate2-default": lambda folder: with_ctranslate2(folder / "float32", {}),
    "ctranslate2-int8-default": lambda folder: with_ctranslate2(folder / "int8", {}),
    "huggingface": lambda folder: with_huggingface(folder / "huggingface"),
    "marian": lambda folder: with_marian(folder / "marian", BEST["inter_threads"]),
}


# The worker: a process that translates what it is told to, and says how long that took.


def work(contender: str, folder: Path) -> None:
    texts = (folder / "source.txt").read_text(encoding="utf-8").splitlines()
    settings, translate = CONTENDERS[contender](folder)
    answer({})
    for line in sys.stdin:
        job = json.loads(line)
        beam, some = job["beam"], texts[: job["lines"]]
        if job["mode"] == "tune":
            translate(some[:8], beam, settings[0])
            answer({"setting": min(settings, key=lambda setting: seconds(translate, some, beam, setting))})
            continue
        parts = [[text] for text in some] if job["mode"] == "single" else [some]
        cpu, latencies, found = time.process_time(), [], []
        for part in parts:
            started = time.perf_counter()
            found += translate(part, beam, job["setting"])
            latencies.append(time.perf_counter() - started)
        answer({"latencies": latencies, "cpu": time.process_time() - cpu, "texts": found})
    answer({"peak": peak_megabytes()})


def seconds(translate: Translate, texts: Sequence[str], beam: int, setting: Any) -> float:
    started = time.perf_counter()
    translate(texts, beam, setting)
    return time.perf_counter() - started


def peak_megabytes() -> float:
    """The most memory that was resident; ru_maxrss would begin with that of the process that started this one."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]))
