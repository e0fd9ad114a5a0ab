"""Whether the native engine writes what the others write, on real sentences, and what differences mean in BLEU.

    python benchmarks/native_equality.py [--json] [--texts 2000] [--model en-de] [--twin 50]

English sentences of Tatoeba with one of their German translations as the reference, in the folder that $REGARD_DATA
names. int8 beside CTranslate2's int8, float32 beside the reference engine; greedy and with the model's own beam.
`--twin` also compares as many greedy outputs in int8 with the plain numpy twin of the tests, which is slow. `--isas`
compares CTranslate2 in int8 with itself instead, with each of these instruction sets.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import sacrebleu

from regard.config.model import TransformerConfig
from regard.engines.native.library import isa
from regard.engines.native.native_engine import NativeEngine
from regard.engines.torch_engine import TorchEngine
from regard.saved.folder import load_model
from regard.saved.saved_model import WEIGHTS, model_folder
from regard.saved.weights import read_weights
from regard.translate.load import convert
from regard.translate.translator import Options, Translator


def pairs(count: int) -> list[tuple[str, str]]:
    """Return distinct English sentences, drawn with a fixed seed, each with a German translation."""
    folder = Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    rows = gzip.decompress((folder / "tatoeba" / "deu-eng.tsv.gz").read_bytes()).decode().splitlines()
    german = {row.split("\t")[0]: row.split("\t")[1] for row in rows}
    return random.Random(0).sample(sorted(german.items()), count)


def compared(ours: Sequence[str], theirs: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    bleu = [round(sacrebleu.corpus_bleu(list(texts), [list(wanted)]).score, 3) for texts in (ours, theirs)]
    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
    return {"equal": equal, "of": len(ours), "bleu_native": bleu[0], "bleu_other": bleu[1]}


def twin_equal(engine: NativeEngine, config: TransformerConfig, weights: Any, ids: Sequence[list[int]]) -> int:
    """Return how many greedy outputs are the twin's."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.engines.native.twin import Twin

    from regard.config.decode import DecodeConfig
    from regard.engines.engine import Request

    twin = Twin(config, weights)
    found = engine.search(ids, Request(DecodeConfig(beam=1, extra_length=50)))
    expected = [twin.greedy(source, len(source) + 50) for source in ids]
    return sum(list(one[0].tokens) == other for one, other in zip(found, expected, strict=True))


def translated_with(isa_name: str, model: str, texts: Sequence[str]) -> list[list[str]]:
    """Translate in int8, greedy and with the model's beam, in a process whose CTranslate2 has this instruction set."""
    program = (
        "import json, sys\n"
        "from regard.saved.saved_model import model_folder\n"
        "from regard.translate.load import convert\n"
        "from regard.translate.translator import Options\n"
        "translator, texts = convert(model_folder(sys.argv[1]), 'int8', alone=True), json.load(sys.stdin)\n"
        "json.dump([translator.translate(texts, Options(beam=beam)) for beam in (1, None)], sys.stdout)\n"
    )
    environment = {**os.environ, "CT2_FORCE_CPU_ISA": isa_name}
    done = subprocess.run(
        [sys.executable, "-c", program, model],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def isas_agree(names: Sequence[str], model: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return in how many texts each two of CTranslate2's instruction sets agree, greedy and with the model's beam."""
    found = {name: translated_with(name, model, texts) for name in names}
    return {
        f"{one}, {other}": [
            sum(a == b for a, b in zip(*both, strict=True)) for both in zip(found[one], found[other], strict=True)
        ]
        for one, other in combinations(names, 2)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--twin", type=int, default=0)
    parser.add_argument("--isas", help="such as AVX2,AVX512,GENERIC")
    given = parser.parse_args()
    if given.isas:
        print(
            json.dumps(
                isas_agree(given.isas.split(","), given.model, [text for text, _ in pairs(given.texts)]), indent=2
            )
        )
        return
    folder = model_folder(given.model)
    saved = load_model(folder)
    assert isinstance(saved.config, TransformerConfig)
    weights = read_weights(folder / WEIGHTS)
    engines = {int8: NativeEngine(saved.config, weights, int8=int8) for int8 in (True, False)}
    native = {int8: Translator(saved, engine) for int8, engine in engines.items()}
    others = {True: convert(folder, "int8", alone=True), False: Translator(saved, TorchEngine(saved.model))}
    texts, wanted = zip(*pairs(given.texts), strict=True)
    report: dict[str, Any] = {"model": given.model, "isa": isa()}
    for int8, name in ((True, "int8, CTranslate2"), (False, "float32, reference")):
        for beam in (1, None):
            options = Options(beam=beam)
            ours, theirs = native[int8].translate(texts, options), others[int8].translate(texts, options)
            report[f"{name}, {'greedy' if beam else 'own beam'}"] = compared(ours, theirs, wanted)
    if given.twin:
        ids = saved.vocabularies[0].encode(list(texts[: given.twin]))
        report["int8, twin, greedy"] = {"equal": twin_equal(engines[True], saved.config, weights, ids), "of": len(ids)}
    print(json.dumps(report, indent=2) if given.json else "\n".join(f"{key}: {value}" for key, value in report.items()))


if __name__ == "__main__":
    main()
