"""Where the native engine's time goes: the shares of its functions, by `perf record -e cpu-clock`.

    python benchmarks/native_profile.py [--json] [--preset small] [--beam 1] [--seconds 5]

96 sentences of 14 tokens are searched again and again on one thread, in int8, with the weights of native_step.py; an
output has as many tokens as its source. Shares are of the library's own time, encoder included. Other work on the
machine changes them little.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from native_step import LENGTH, engine_of

from regard.config.decode import DecodeConfig
from regard.config.model import TransformerConfig
from regard.config.presets import preset
from regard.config.special_tokens import EOS
from regard.engines.engine import Request
from regard.engines.native.library import isa

SENTENCES = 96
PARTS = {  # by a pattern of a function's name; the first that matches
    "multiplication in tiles: projection": r"(tile|block)<.*Select",
    "multiplication in tiles: layers": r"(tile|block)<",
    "selection in the projection": r"Select|keep|normaliser",
    "dequantise, bias, activation, residual, store": r"Store",
    "attention": r"attention|scores|weighted_values|softmax",
    "LayerNorm, quantise": r"norm|quanti",
}
REST = "embedding, search and the rest"


def work(name: str, beam: int, seconds: float) -> None:
    """Search until the time is over."""
    config = preset(name).model
    assert isinstance(config, TransformerConfig)
    engine, generator = engine_of(config, int8=True), random.Random(0)
    sources = [[generator.randrange(EOS + 1, config.vocabulary) for _ in range(LENGTH)] for _ in range(SENTENCES)]
    request = Request(DecodeConfig(beam=beam, extra_length=0))
    end = time.process_time() + seconds
    while time.process_time() < end:
        engine.search(sources, request)


def shares(name: str, beam: int, seconds: float) -> dict[str, float]:
    """Return the share of each part in percent."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        own = [sys.executable, __file__, "--work", "--preset", name, "--beam", str(beam), "--seconds", str(seconds)]
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", data, *own], check=True)
        command = ["perf", "report", "-i", data, "--stdio", "-q", "-s", "dso,sym"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = dict.fromkeys([*PARTS, REST], 0.0)
    for line in lines:
        if one := re.match(r"\s*([\d.]+)%\s+\S*regard_native\S*\s+\[.\] (.*)", line):
            part = next((part for part, pattern in PARTS.items() if re.search(pattern, one[2])), REST)
            found[part] += float(one[1])
    total = sum(found.values())
    return {part: round(100 * share / total, 1) for part, share in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0, help="of processor time")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.preset, given.beam, given.seconds)
        return
    report = shares(given.preset, given.beam, given.seconds)
    about = {"preset": given.preset, "beam": given.beam, "isa": isa()}
    rows = (f"{part:50}{share:6.1f} %" for part, share in report.items())
    print(json.dumps({**about, "shares": report}, indent=2) if given.json else "\n".join([str(about), *rows]))


if __name__ == "__main__":
    main()
