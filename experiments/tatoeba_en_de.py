r"""The texts of the bundled English-German model: Tatoeba's pairs, split by sentence, with everyday variations.

    curl -O https://www.manythings.org/anki/deu-eng.zip && unzip -p deu-eng.zip deu.txt | gzip > deu-eng.tsv.gz
    python experiments/tatoeba_en_de.py deu-eng.tsv.gz data/text      # the pairs: English TAB German
    regard prepare --train data/text/train.en-de.tsv --tag '<2de>' --train data/text/train.de-en.tsv --tag '<2en>' \
        --valid data/text/valid.en-de.tsv --valid-tag '<2de>' --valid data/text/valid.de-en.tsv --valid-tag '<2en>' \
        --from en --to de --vocabulary 8000 --protect --out data/tatoeba
    regard train experiments/tatoeba-en-de.toml --data data/tatoeba --out runs/tatoeba

2,000 English sentences are for testing (test.en, with all their translations as test.de.0, test.de.1, …) and 1,000 for
validation; no pair with one of them, or with a translation of one of them, is trained on. The choice depends on the
sentences alone, so a newer Tatoeba keeps most of it. Sentences that have no translation but those are neither trained
on nor tested on (apart.en, apart.de): another text to measure on.

People type without capitals, without a full stop, two sentences at once, and with slips; so some pairs come again with
such a source. Some come again with another name or number, and sentences with dates, times, amounts and addresses are
added, which everyday sentences of Tatoeba hardly have (everyday_facts.py).
"""

import argparse
import gzip
import hashlib
import random
from collections import defaultdict
from pathlib import Path

import everyday_facts

TEST, VALID = 2000, 1000
LOWER, OPEN, TWO, SLIP = 0.15, 0.08, 0.03, 0.06  # how often a pair comes again in each form
WRITTEN = 120  # pairs of each sentence of everyday_facts

Pair = tuple[str, str]


def read(path: Path) -> dict[str, list[str]]:
    """German translations by English sentence, in order."""
    translations: dict[str, list[str]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, german = line.rstrip("\n").split("\t")[:2]
            if german not in translations[english]:
                translations[english].append(german)
    return translations


def place(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode(), digest_size=8).digest()


def without_end(text: str) -> str:
    return text[:-1] if text[-1:] in ".!?" else text


def slipped(text: str, dice: random.Random) -> str:
    """Two letters of a word swapped, or one left out."""
    places = [i for i in range(1, len(text) - 2) if text[i - 1 : i + 2].isalpha()]
    if not places:
        return text
    at = dice.choice(places)
    return text[:at] + dice.choice((text[at + 1] + text[at], text[at])) + text[at + 2 :]


def varied(pairs: list[Pair], dice: random.Random) -> list[Pair]:
    """The pairs, and again some of them as people type them."""
    found = list(pairs)
    for source, target in pairs:
        if dice.random() < LOWER:
            found.append((without_end(source).lower() if dice.random() < 0.5 else source.lower(), target))
        if dice.random() < OPEN:
            found.append((without_end(source), target))
        if dice.random() < SLIP:
            found.append((slipped(source, dice), target))
        if dice.random() < TWO:
            other = dice.choice(pairs)
            found.append((f"{source} {other[0]}", f"{target} {other[1]}"))
    return found


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="deu-eng.tsv.gz: English TAB German")
    parser.add_argument("out", type=Path, help="the folder to fill")
    arguments = parser.parse_args()
    translations = read(arguments.pairs)
    order = sorted(translations, key=place)
    test, valid, rest = order[:TEST], order[TEST : TEST + VALID], order[TEST + VALID :]
    held = {german for english in test + valid for german in translations[english]}
    pairs = [(english, german) for english in rest for german in translations[english] if german not in held]
    arguments.out.mkdir(parents=True, exist_ok=True)

    dice = random.Random(1)
    more = [*everyday_facts.mentioned(pairs, dice), *everyday_facts.written(WRITTEN, dice)]
    seen = {*test, *valid}
    pairs += [(english, german) for english, german in more if english not in seen and german not in held]
    for name, forward in (("en-de", pairs), ("de-en", [(german, english) for english, german in pairs])):
        write(arguments.out / f"train.{name}.tsv", ["\t".join(pair) for pair in varied(forward, dice)])
    firsts = [(english, translations[english][0]) for english in valid]
    write(arguments.out / "valid.en-de.tsv", ["\t".join(pair) for pair in firsts])
    write(arguments.out / "valid.de-en.tsv", ["\t".join(pair[::-1]) for pair in firsts])

    apart = [english for english in rest if held.issuperset(translations[english])]
    write(arguments.out / "apart.en", apart)
    write(arguments.out / "apart.de", [translations[english][0] for english in apart])

    write(arguments.out / "test.en", test)
    most = max(len(translations[english]) for english in test)
    for number in range(most):  # a sentence with fewer translations repeats its first, which changes no score
        known = [translations[english] for english in test]
        write(arguments.out / f"test.de.{number}", [some[number] if number < len(some) else some[0] for some in known])
    print(f"{len(pairs):,} pairs, {len(test):,} sentences to test with up to {most} translations: {arguments.out}")
    print(f"{len(apart):,} further sentences apart from training")


if __name__ == "__main__":
    main()
