r"""How often a model uses terms by itself, without constraints: `train.terminology` (Dinu et al., 2019).

    python benchmarks/terminology.py --models en-de runs/terms/model --to de --sentences text/test.en \
        --references text/test.de.0

Terms are drawn from the references as in glossaries.py; those whose targets a plain translation by the first
model has already are left out, so that each use is a term that the model would not have chosen. Told for each model:
the share of these terms that its first search uses, shown the terms if it was trained so, and BLEU of those sentences.
"""

import argparse
import json
from dataclasses import replace

from glossaries import bleu, glossary_of, terms, used

import regard
from regard.data.lines import text_lines
from regard.terms.annotation import annotated
from regard.terms.glossary import Glossary
from regard.text.normalise import normalise


def first_search(model: str, sources: list[str], glossaries: list[Glossary], target: str | None) -> list[str]:
    """Translate with terms in the source, if the model reads them, and with no other help."""
    translator = regard.load(model)
    request = replace(translator.request(regard.Options(target=target)), n_best=1)
    encoded = translator.source_subwords.encode([normalise(text, translator.form) for text in sources])
    given = [[*translator.tag(target), *ids] for ids in encoded]
    if translator.saved.terminology:
        given = [
            annotated(ids, translator.source_subwords, glossary, translator.form, lambda term: term.targets[0])
            for ids, glossary in zip(given, glossaries, strict=True)
        ]
    found = translator.engine.search(given, request)
    return [translator.target_subwords.decode(one[0].tokens) for one in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--sentences", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--to", default=None)
    parser.add_argument("--count", type=int, default=2000)
    arguments = parser.parse_args()
    every = [list(map(str.strip, text_lines(name))) for name in (arguments.sentences, arguments.references)]
    sources, references = (side[: arguments.count] for side in every)
    chosen = terms(*every)
    plain = regard.load(arguments.models[0]).translate(sources, target=arguments.to)
    rows = []
    for source, reference, text in zip(sources, references, plain, strict=True):
        glossary = glossary_of(chosen, source, reference)
        lacking = [term for term in glossary.found(source) if not used(term, text)] if glossary else []
        if lacking:
            rows.append((source, reference, Glossary(lacking)))
    asked, wanted, glossaries = (list(side) for side in zip(*rows, strict=True))
    told: dict[str, object] = {"sentences": len(rows), "terms": sum(len(one) for one in glossaries)}
    for model in arguments.models:
        made = first_search(model, asked, glossaries, arguments.to)
        pairs = [(term, text) for glossary, text in zip(glossaries, made, strict=True) for term in glossary.terms]
        share = sum(used(*pair) for pair in pairs) / len(pairs)
        whole = bleu(regard.load(model).translate(sources, target=arguments.to), references)
        told[model] = {"used": round(share, 4), "bleu": bleu(made, wanted), "bleu_all_without_terms": whole}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
