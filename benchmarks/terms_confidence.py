"""What glossaries and confidence do to translations of test text with the bundled model.

    python benchmarks/terms_confidence.py --sentences text/test.en --references text/test.de.0 --to de

Terms: from each sentence of which the translation lacks a word of the reference, the pair of words that an alignment by
co-occurrence over the whole text (Dice's coefficient) joins most clearly. Told: the share of terms kept, BLEU and
sentences a second, with and without the glossary. Confidence: Spearman's correlation with sentence chrF, BLEU without
the least sure fifth, and a table of reliability.
"""

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

import regard
from regard.data.lines import text_lines
from regard.evaluate.calibration import spearman
from regard.terms.glossary import Glossary, occurs
from regard.translate.translation import Translation

WORD = re.compile(r"[^\W\d_]{4,}")
LEAST_DICE = 0.5


def terms(sources: list[str], references: list[str]) -> dict[str, str]:
    """Return pairs of words that stand together in sources and references, one of each source word."""
    read, written, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for source, reference in zip(sources, references, strict=True):
        ours, theirs = set(WORD.findall(source.lower())), set(WORD.findall(reference))
        read.update(ours)
        written.update(theirs)
        both.update((one, other) for one in ours for other in theirs)
    found: dict[str, tuple[float, str]] = {}
    for (one, other), count in both.items():
        dice = 2 * count / (read[one] + written[other])
        if count >= 2 and dice >= LEAST_DICE and dice > found.get(one, (0.0, ""))[0]:
            found[one] = dice, other
    return {one: other for one, (_, other) in found.items()}


def glossary_of(chosen: dict[str, str], source: str, reference: str) -> Glossary | None:
    """Return the terms of a sentence whose targets the reference has."""
    words = dict.fromkeys(WORD.findall(source.lower()))
    own = {word: chosen[word] for word in words if word in chosen and occurs(chosen[word], reference)}
    return Glossary.of(own) if own else None


def bleu(hypotheses: list[str], references: list[str]) -> float:
    return round(float(BLEU().corpus_score(hypotheses, [references]).score), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--engine", default="auto", help="as for `regard translate`")
    parser.add_argument("--sentences", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--to", default=None)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--plot", type=Path, default=None, help="where to draw the reliability diagram")
    parser.add_argument("--write-glossary", type=Path, default=None, help="write the drawn terms as TSV, and stop")
    arguments = parser.parse_args()
    every = [list(map(str.strip, text_lines(name))) for name in (arguments.sentences, arguments.references)]
    sources, references = (side[: arguments.count] for side in every)
    chosen = terms(*every)
    if arguments.write_glossary is not None:
        arguments.write_glossary.write_text("".join(f"{one}\t{other}\n" for one, other in chosen.items()), "utf-8")
        return
    translator = regard.load(arguments.model, engine=arguments.engine)
    told: dict[str, object] = {"sentences": len(sources), "terms": len(chosen)}
    # Only sentences whose reference has the term count: elsewhere another translation is right.
    glossaries = [glossary_of(chosen, *pair) for pair in zip(sources, references, strict=True)]
    held = [number for number, glossary in enumerate(glossaries) if glossary and glossary.found(sources[number])]
    begun = time.perf_counter()
    plain = list(translator.stream(sources, regard.Options(target=arguments.to)))
    told["seconds_without"] = round(time.perf_counter() - begun, 2)
    translator.translate("The dog.", regard.Options(target=arguments.to, glossary=Glossary.of({"dog": "Xylophon"})))
    begun = time.perf_counter()
    fixed = [one.text for one in plain]
    kept = [0, 0, 0]
    for number in held:
        glossary = glossaries[number]
        assert glossary is not None
        (one,) = translator.window([sources[number]], regard.Options(target=arguments.to, glossary=glossary))
        fixed[number] = one.text
        wanted = glossary.found(sources[number])
        kept[0] += len(wanted)
        kept[1] += sum(any(occurs(target, plain[number].text) for target in term.targets) for term in wanted)
        kept[2] += sum(any(occurs(target, one.text) for target in term.targets) for term in wanted)
    told["seconds_for_sentences_with_terms"] = round(time.perf_counter() - begun, 2)
    told |= {"sentences_with_terms": len(held), "uses": kept[0]}
    told |= {"kept_without": round(kept[1] / max(1, kept[0]), 4), "kept_with": round(kept[2] / max(1, kept[0]), 4)}
    told |= {"bleu_without": bleu([one.text for one in plain], references), "bleu_with": bleu(fixed, references)}
    told["confidence"] = confidence(plain, references, arguments.plot)
    print(json.dumps(told))


def confidence(found: list[Translation], references: list[str], plot: Path | None) -> dict[str, object]:
    chrf = CHRF()
    rows = [
        (one.confidence, chrf.sentence_score(one.text, [reference]).score / 100, one.text, reference)
        for one, reference in zip(found, references, strict=True)
        if one.confidence is not None
    ]
    if not rows:
        return {}
    ordered = sorted(rows, key=lambda row: row[0])
    sure = ordered[len(ordered) // 5 :]
    bins = [ordered[start * len(ordered) // 10 : (start + 1) * len(ordered) // 10] for start in range(10)]
    table = [[round(sum(float(row[side]) for row in part) / len(part), 3) for side in (0, 1)] for part in bins if part]
    if plot is not None:
        draw(table, plot)
    return {
        "spearman": round(spearman([row[0] for row in rows], [row[1] for row in rows]), 3),
        "bleu_all": bleu([row[2] for row in rows], [row[3] for row in rows]),
        "bleu_without_the_least_sure_fifth": bleu([row[2] for row in sure], [row[3] for row in sure]),
        "expected_and_real_chrf_by_tenths": table,
    }


def draw(table: list[list[float]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4, 4))
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axes.plot(*zip(*table, strict=True), marker="o")
    axes.set(xlabel="confidence (mean of a tenth)", ylabel="chrF (mean of a tenth)", xlim=(0, 1), ylim=(0, 1))
    figure.savefig(path, bbox_inches="tight", dpi=120)


if __name__ == "__main__":
    main()
