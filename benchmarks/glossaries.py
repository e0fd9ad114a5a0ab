r"""What a glossary does to translations of test text.

    python benchmarks/glossaries.py --sentences text/test.en --references text/test.de.0 --to de
    python benchmarks/glossaries.py --sentences test_2016_flickr.en.gz --references test_2016_flickr.de.gz --to de

Terms: pairs of words that stand together in sources and references (Dice's coefficient over the whole text). Only
sentences whose reference has a term's target count: elsewhere another translation is right. Told: the share of terms
used and BLEU, with and without the glossary; the time of all sentences at once, with one glossary of all terms; and the
processor time for looking a sentence up in a glossary of 100,000 terms.
"""

import argparse
import json
import re
import time
from collections import Counter
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

import regard
from regard.data.lines import text_lines
from regard.terms.glossary import MOST_TERMS, Glossary, Term, occurs
from regard.translate.translation import Translation
from regard.translate.translator import Translator

WORD = re.compile(r"[^\W\d_]{4,}")
LEAST_DICE = 0.5


def terms(sources: list[str], references: list[str]) -> dict[str, str]:
    """Return pairs of words that stand together in sources and references, one of each source word."""
    read, written, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for source, reference in zip(sources, references, strict=True):
        ours, theirs = (sorted(set(WORD.findall(side))) for side in (source.lower(), reference))
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


def used(term: Term, text: str) -> bool:
    return any(occurs(target, text) for target in term.targets)


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
    parser.add_argument("--write-glossary", type=Path, default=None, help="write the drawn terms as TSV, and stop")
    arguments = parser.parse_args()
    every = [list(map(str.strip, text_lines(name))) for name in (arguments.sentences, arguments.references)]
    sources, references = (side[: arguments.count] for side in every)
    chosen = terms(*every)
    if arguments.write_glossary is not None:
        arguments.write_glossary.write_text("".join(f"{one}\t{other}\n" for one, other in chosen.items()), "utf-8")
        return
    translator = regard.load(arguments.model, engine=arguments.engine)
    options = regard.Options(target=arguments.to)
    translator.translate("The dog.", replace(options, glossary=Glossary.of({"dog": "Xylophon"})))  # torch is loaded
    told: dict[str, Any] = {"sentences": len(sources), "terms": len(chosen)}
    plain, told["time_without"] = timed(translator, sources, options)
    every_term = replace(options, glossary=Glossary.of(chosen))
    all_at_once, told["time_with"] = timed(translator, sources, every_term)
    told["sentences_with_any_term"] = sum(any(part.terms for part in one.sentences) for one in all_at_once)
    told["look_up_microseconds"] = look_up_microseconds(sources, chosen)
    fixed = [one.text for one in plain]
    uses, without, kept, unplaced, unreported = 0, 0, 0, [], 0
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        glossary = glossary_of(chosen, source, reference)
        wanted = glossary.found(source) if glossary else ()
        if not wanted:
            continue
        (one,) = translator.window([source], replace(options, glossary=glossary))
        fixed[number] = one.text
        lacking = [term for term in wanted if not used(term, one.text)]
        uses, kept = uses + len(wanted), kept + len(wanted) - len(lacking)
        without += sum(used(term, plain[number].text) for term in wanted)
        unplaced += [f"{term.source} = {term.targets[0]}: {one.text}" for term in lacking]
        reported = {use.source for use in one.unplaced}
        unreported += sum(term.source not in reported for term in lacking)
    told |= {"uses": uses, "used_without": round(without / max(1, uses), 4), "used_with": round(kept / max(1, uses), 4)}
    told |= {"bleu_without": bleu([one.text for one in plain], references), "bleu_with": bleu(fixed, references)}
    told |= {"lacking_without_a_report": unreported, "lacking": unplaced[:20]}
    print(json.dumps(told, ensure_ascii=False))


def look_up_microseconds(sources: list[str], chosen: dict[str, str]) -> float:
    """Return the processor time for finding the terms of a sentence in a glossary of as many terms as one may have."""
    made_up = {f"{one}{number}": other for number, (one, other) in enumerate(islice(cycle(chosen.items()), MOST_TERMS))}
    glossary = Glossary.of(dict(islice({**chosen, **made_up}.items(), MOST_TERMS)))
    glossary.found(sources[0])  # which indexes the terms
    begun = time.process_time()
    for source in sources:
        glossary.found(source)
    return round(1e6 * (time.process_time() - begun) / len(sources), 1)


def timed(
    translator: Translator, sources: list[str], options: regard.Options
) -> tuple[list[Translation], dict[str, float]]:
    """Translate all sentences at once; return the translations with the seconds by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    found = list(translator.stream(sources, options))
    seconds = {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - processor}
    return found, {name: round(value, 2) for name, value in seconds.items()}


if __name__ == "__main__":
    main()
