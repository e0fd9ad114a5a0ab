r"""Whether the words that the model held improbable, which the page underlines, are wrong more often than the others.

    python benchmarks/weak_words.py --sentences text/test.en --references text/test.de.* --to de

A word counts as wrong if no reference of its sentence has it, in any case and whatever the marks around it.
"""

import argparse
import json
import re
from collections import Counter

import regard
from regard.data.lines import text_lines

MARKS = re.compile(r"^\W+|\W+$")


def bare(word: str) -> str:
    return MARKS.sub("", word).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--sentences", required=True)
    parser.add_argument("--references", nargs="+", required=True)
    parser.add_argument("--to", default=None)
    parser.add_argument("--count", type=int, default=500)
    arguments = parser.parse_args()
    sources, *references = (
        list(text_lines(name))[: arguments.count] for name in (arguments.sentences, *arguments.references)
    )
    options = regard.Options(target=arguments.to, token_scores=True)
    words, wrong = Counter[bool](), Counter[bool]()
    found = regard.load(arguments.model).stream(sources, options)
    for one, *right in zip(found, *references, strict=True):
        known = {bare(word) for line in right for word in line.split()}
        for number, word in enumerate(one.text.split()):
            if bare(word):
                weak = number in one.weak_words
                words[weak] += 1
                wrong[weak] += bare(word) not in known
    shares = {name: round(wrong[weak] / max(1, words[weak]), 3) for name, weak in (("weak", True), ("other", False))}
    print(json.dumps({"words": words.total(), "weak_words": words[True], "in_no_reference": shares}))


if __name__ == "__main__":
    main()
