r"""The figures and examples of en-de's card, as Markdown: scores both ways, and twenty translations.

    python experiments/german_card.py runs/en-de-more/model --texts data/text

data/text is the folder that tatoeba_en_de.py has written; its test sentences were not trained on. German has all
their translations as references, English one.
"""

import argparse
from pathlib import Path

from cards import examples

import regard
from regard.translate.translator import Translator

# Made up for the card before the model was trained; what comes out is printed unedited.
EXAMPLES = (
    ("de", "Where is the station?"),
    ("de", "can you help me please"),
    ("de", "I lost my keys yesterday, so I had to wait outside until my brother came home."),
    ("de", "The coffee here is better than at the office."),
    ("de", "how much does this cost"),
    ("de", "We are going to the lake on Sunday. Do you want to come?"),
    ("de", "My grandmother taught me how to bake bread."),
    ("de", "Teh train is late again."),
    ("de", "If it rains tomorrow, we will stay at home."),
    ("de", "She speaks Korean and a little German."),
    ("de", "Don't forget to feed the cat!"),
    ("de", "The meeting was moved to Thursday at half past nine."),
    ("en", "Wo ist der Bahnhof?"),
    ("en", "ich habe keine zeit"),
    ("en", "Das Buch, das du mir geliehen hast, war sehr spannend."),
    ("en", "Können Sie mir bitte sagen, wie spät es ist?"),
    ("en", "Wir haben gestern zu viel gegessen. Heute gibt es nur Suppe."),
    ("en", "Meine Schwester arbeitet als Ärztin in einem kleinen Krankenhaus."),
    ("en", "Hast du schon einmal in Korea gelebt?"),
    ("en", "Der Hund bellt, weil jemand an der Tür ist."),
)


def scores(translator: Translator, texts: Path) -> list[str]:
    """Return a table of BLEU, chrF and TER on the test sentences, with the signatures below it."""
    english = (texts / "test.en").read_text(encoding="utf-8").splitlines()
    german = [path.read_text(encoding="utf-8").splitlines() for path in sorted(texts.glob("test.de.*"))]
    lines = ["| direction | BLEU | chrF | TER |", "|---|---|---|---|"]
    signatures = []
    for name, target, sources, references in (
        ("English → German, all references", "de", english, german),
        ("German → English, one reference", "en", german[0], [english]),
    ):
        found = regard.evaluate(translator, sources, references, regard.Options(target=target)).report.scores
        shown = {metric: found[metric] for metric in ("bleu", "chrf", "ter")}
        lines.append(f"| {name} | {' | '.join(f'{one.value:.1f}' for one in shown.values())} |")
        signatures.append(f"Into {target}: " + ", ".join(f"{one} `{shown[one].signature}`" for one in shown) + ".")
    return [*lines, "", *signatures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model's folder or name")
    parser.add_argument("--texts", type=Path, required=True, help="the folder with test.en, test.de.0, test.de.1, …")
    given = parser.parse_args()
    translator = regard.load(given.model)
    for part in (scores(translator, given.texts), examples(translator, EXAMPLES)):
        print("\n".join(part), end="\n\n")


if __name__ == "__main__":
    main()
