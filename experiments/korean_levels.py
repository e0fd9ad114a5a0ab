r"""How many translations into Korean obey the speech level that was asked for.

    python experiments/korean_levels.py runs/en-ko/model data/ko-text/test.tatoeba.tsv

The share of sentences whose ending tells the level, of those whose ending tells any (regard.text.formality).
"""

import argparse
from collections import Counter
from pathlib import Path

import regard
from regard.text.formality import speech_level


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("pairs", type=Path, help="English TAB Korean")
    given = parser.parse_args()
    sentences = [line.split("\t")[0] for line in given.pairs.read_text(encoding="utf-8").splitlines()]
    translator = regard.load(given.model)
    print("| asked for | formal | polite | plain | none | obeys |\n|---|---|---|---|---|---|")
    for asked in (None, "formal", "polite", "plain"):
        translations = translator.translate(sentences, regard.Options(target="ko", formality=asked))
        found = Counter(speech_level(text) or "none" for text in translations)
        told = sum(found[level] for level in ("formal", "polite", "plain"))
        obeys = f"{found[asked] / max(1, told):.1%}" if asked else ""
        counts = " | ".join(str(found[level]) for level in ("formal", "polite", "plain", "none"))
        print(f"| {asked or 'nothing'} | {counts} | {obeys} |")


if __name__ == "__main__":
    main()
