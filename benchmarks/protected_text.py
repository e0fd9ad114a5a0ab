"""How many spans that must not be translated come through unchanged, and what that costs.

    python benchmarks/protected_text.py $REGARD_DATA/tatoeba/deu-eng.tsv.gz

Sentences of Tatoeba get a span of each kind by rule: a name that both sides of a pair have is replaced by an address, a
path, code, a placeholder or a name; a number by another one; emoji and tags are put in; a short sentence with a span is
added. Told for each kind: the share of spans that the translation has exactly as often as the source, BLEU of the rest
(the spans are cut out of translations and references), and CPU-seconds, with and without protection; and for comparison
BLEU of the same sentences before the spans were put in (what the spans replaced is cut out, too).

The lists and templates below were fixed before the first run on them; `--set develop` has other ones, other sentences
and another seed, and was used while the code was written. The names of `test` were read three times (95.7, 97.7 and
100 %), with changes to the rule between; `--set names` has other names in other sentences, read once (98.7 %) before
the rule was changed again. Nobody chose the names of `--set drawn`: they were drawn from Faker 40.40 (first names and
surnames of 22 locales with Latin letters, seed 24), without those that Tatoeba's English has in any case. They were
read after the last change to the rule, and once more when names got stand-ins at once (99.3 % both times, 2 of 300
lost). That is few sentences. `--set fresh --kinds name --count 3000` has 300 names drawn alike (seed 25, 24 locales,
none of them in the lists above) in 3,000 sentences that no other set takes. It was read once, after the rule had been
changed on other names in other sentences: 99.4 % kept theirs; 98.6 % with the rule before, for comparison. Words
that the rule takes for names by mistake were looked for in all of Tatoeba's English, so in these sentences, too,
before the names were put in.

The sentences of `test` come first in the order of experiments/tatoeba_en_de.py: the bundled model was not trained on
the first 3,000 of these.
"""

import argparse
import gzip
import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

import regard
from regard.engines.engine import Request
from regard.translate.translator import Options, Translator

Lists = dict[str, tuple[str, ...]]
SPANS: dict[str, Lists] = {
    "develop": {
        "url": (
            "https://example.org/a?b=1", "http://www.test.de/seite.html", "https://shop.example.com/p/1234?ref=x&lang=en",
            "www.example.net/help", "https://en.wikipedia.org/wiki/Seoul_(city)", "ftp://files.example.org/pub/",
        ),
        "email": ("anna@example.com", "info@test.de", "j.smith+news@mail.example.org", "support-team@example.co.uk"),
        "path": ("/usr/local/bin", "C:\\Users\\Tom\\report.docx", "./build/out.log", "src/main.py", "~/notes.txt"),
        "code": ("`make test`", "`x = y + 1`", "max_length", "getUser()", "--verbose", "`SELECT * FROM users`"),
        "placeholder": ("%s", "{0}", "{{name}}", "${count}", "%(title)s", "%1$d", "{user_name}", "<filename>"),
        "number": ("12,450.75", "3.14159", "1,234", "87%", "$19.99", "5 km", "20 °C", "1984", "10:45", "7"),
        "emoji": ("🎉", "😀", "👩‍👩‍👧", "🇰🇷", "❤️", "👍🏽", ":-)", "🚀🚀"),
        "name": (
            "Wojciech", "Thandiwe", "Aoife", "Nguyen", "Rose", "Mark", "Anna", "Zoltán", "Hope", "O'Brien",
            "Chukwuemeka", "Yevgeniya", "Björk", "Anneliese", "Ayşe", "Dimitrios", "Mwangi", "Esteban", "Jean-Luc",
            "Shreya", "Tobias", "Leilani", "Hikaru", "Agnieszka", "Fatima", "Svetlana", "Giulia", "Óscar", "Gulnara",
            "Hendrik", "Matteo", "Khadija", "Ingrid", "Lorenzo", "Monique", "Olivier", "Sebastian", "Valentina",
            "Yusuf", "Beatriz", "Carlos", "Heinrich", "Frank", "Bill", "Daisy", "Penny", "Sue", "Victor", "Jack",
            "Bartholomäus", "Nkechi", "Eilidh", "Kobayashi", "Pat", "Lily", "Miriam", "Stanisława", "Ivy", "McAllister",
            "Anjali", "Søren", "Cemal", "Jiaying", "Marie-Claire", "Pearl", "Abiodun", "José Luis", "Novakova", "Max",
            "Thaddeus", "Ramón", "Oksana", "Cedric", "Tunde", "Ignacio", "Zsófia", "Aroha", "Dmitri", "Amaka",
        ),
        "tag": ("b", "i", "strong", 'a href="https://example.org"', "span"),
    },
    "test": {
        "url": (
            "https://www.example.com/downloads/setup.exe", "http://localhost:8080/status", "www.library.example.edu",
            "https://docs.example.io/v2/guide.html#install", "https://example.org/search?q=red+shoes&page=2",
            "https://ko.wikipedia.org/wiki/서울", "https://example.de/straße", "https://t.example/Ab3xQ",
        ),
        "email": (
            "maria.lopez@example.org", "sales@example.net", "k.nguyen_92@post.example.fr", "no-reply@news.example.com",
            "office+berlin@example.de", "webmaster@sub.domain.example.ac.uk",
        ),
        "path": (
            "/etc/ssh/sshd_config", "D:\\Photos\\2023\\beach.jpg", "../assets/logo.svg", "docs/guides/start.md",
            "~/.bashrc", "invoice-0042.pdf", "\\\\server\\share\\plan.xlsx", "/var/log/syslog",
        ),
        "code": (
            "`git commit -m wip`", "`for i in range(10)`", "batch_size", "loadModel()", "--dry-run", "`<div>`",
            "isReady", "`SELECT name FROM cities`", "np.zeros()", "GPT-4", "A380",
        ),
        "placeholder": (
            "%d", "{1}", "{{ user.email }}", "${total}", "%(count)d", "%2$s", "{file_name}", "&copy;", "<username>",
            "%@",
        ),
        "number": (
            "98,765.43", "2.71828", "4,096", "12.5%", "€1,299.00", "42 km", "-15 °C", "1776", "23:59", "9",
            "2019-12-31", "192.168.0.1", "16 GB", "£75", "3/4", "120 km/h", "1,000,000",
        ),
        "emoji": ("🥳", "🤔", "👨‍👩‍👧‍👦", "🇩🇪", "☀️", "🙏🏿", ";-)", "🔥🔥🔥", "🏳️‍🌈", "1️⃣"),
        "name": (
            "Grzegorz", "Ngozi", "Siobhán", "Takahashi", "Will", "Grace", "Hannah", "Łukasz", "Joy", "D'Angelo",
            "Priya", "Bjørn", "Mehmet", "Xiaoming", "Jean-Pierre", "Ruby", "Okonkwo", "Ana María", "Kowalczyk", "Iris",
        ),
        "tag": ("em", "u", "code", 'a href="https://example.net/x"', "mark", 'span class="big"'),
    },
    "names": {
        "name": (
            "Florentina", "Kwabena", "Gwenllian", "Yamamoto", "Ray", "Violet", "Naomi", "Mirosław", "Jade",
            "FitzGerald", "Rajesh", "Åsa", "Orhan", "Haoran", "Anne-Sophie", "Hazel", "Chidinma", "María José",
            "Petrenko", "Rob", "Cornelius", "Iñaki", "Ludmila", "Alaric", "Sipho", "Fabrizio", "Ágnes", "Tane",
            "Bogdan", "Wanjiru",
        ),
    },
    "drawn": {
        "name": (
            "Peltola", "Nancy", "Ibrani", "Einarsson", "Emily", "Dragica", "Florența", "Antal", "Božena", "Magyar",
            "Kreszenz", "Bartels", "Esmeralda", "Tommy", "Mladen", "Scott", "Henrik", "Pietra", "Domingo", "Tamás",
            "Lana", "Hanny", "Marco", "Gro", "Cawisono", "Jacinta", "Rehorst", "Levi", "Beatriz", "Marcos", "Danica",
            "Vitória", "Elvira", "Bjørn", "Gallardo", "Jędrzej", "Fernandes", "Brian", "Sýkora", "Jozef", "Ismail",
            "Sandvik", "Elli", "Saarinen", "Hethur", "Ražov", "Schatteleijn", "Tomasz", "Martikainen", "Loes",
            "Mangunsong", "Rønning", "Douglas", "Timothy", "Grete", "Pereira", "Vamakshi", "Věra", "Garry", "Aneta",
            "Kathy", "Mária", "Gulbrandsen", "Clément", "Louise", "Dima", "Vũ", "Balázs", "Huljev", "Linda",
            "Tereszkiewicz", "Samosir", "Sancho", "Baldassare", "Gloria", "Torbjørn", "Aylla", "Josué", "Olsson",
            "Pavao", "Oliveira", "Nela", "Massimiliano", "Rita", "Ctibor", "Barco", "Estela", "Mazzeo", "Tobias",
            "Cemani", "Baljiwan", "Finn", "Åsberg", "Özlem", "Robert", "Stana", "Krantz", "Ravn", "Ion", "Sabri",
        ),
    },
    "fresh": {
        "name": (
            "Milada", "Birgit", "Zbigniew", "Stuart", "Rushil", "Audrey", "Benita", "Carlota", "Anneli", "László",
            "Ulya", "Evangelista", "Zakaria", "Kjell", "Krzysztof", "Danilo", "Noemi", "Robin", "Ayşenur", "Bohumil",
            "Richard", "Němečková", "Hübel", "Goyal", "Calzada", "Menéndez", "Keränen", "Bailly", "Jurić", "Balogh",
            "Budiman", "Giannelli", "Gundersen", "Fularczyk", "Gheorghiu", "Pettersson", "Gülen", "Bùi", "Čapla",
            "Rhodes", "Miloslava", "Gitte", "Fernando", "Alex", "Bakhshi", "Cindy", "Sandalio", "Kasper", "Thierry",
            "Goran", "Béla", "Jasmin", "Nedda", "Damian", "Kacper", "Theo", "Edvin", "Ayten", "Leopold", "Kayla",
            "Bartoš", "Eriksen", "Stiffel", "Mohanty", "Briones", "Nieminen", "Gros", "Grgurić", "Novitasari",
            "Tiepolo", "Willemsen", "Przybyś", "Cavalcante", "Ardelean", "Eklund", "Demir", "Kysel", "Ivo", "Catrine",
            "Susann", "Beth", "Vidhi", "Debra", "Sonia", "Andrés", "Eetu", "Marianne", "Kata", "Putri", "Piero",
            "Tijs", "Carlos Eduardo", "Liviu", "Amir", "Canur", "Teodor", "Žák", "Clausen", "Kambs", "Walton",
            "Subramanian", "Carvajal", "Montez", "Boyer", "Topić", "Németh", "Widiastuti", "Sanders", "Thomassen",
            "Stojak", "Santos", "Diaconu", "Holmberg", "Çetin", "Ftáčnik", "Griffin", "Miloš", "Paula", "Gotthold",
            "Kyle", "Bachittar", "Stephanie", "Candelas", "Bernabé", "Sinikka", "Antoine", "Ema", "Emong", "Esmee",
            "Elisabeth", "Vicente", "Claudiu", "Markus", "Özalpsan", "Barbora", "Donald", "Urbanová", "Hansen",
            "Roskoth", "Thompson", "Rastogi", "Becker", "Palma", "Mateo", "Heinonen", "Pichon", "Stojnić", "Somogyi",
            "Agustina", "Einaudi", "Doyle", "Wawrzonek", "Nylander", "Cibulka", "Hawkins", "Dušan", "Gavin", "Advik",
            "Petrona", "Jaqueline", "Terhi", "Tina", "Caterina", "Carlijn", "Sindre", "Eliza", "Anthony",
            "Constantina", "Afife", "Klára", "Jørgensen", "Gunpf", "Bajaj", "Gallego", "Orta", "Salonen", "Lejeune",
            "Andrijević", "Molnár", "Sihotang", "Guicciardini", "Hermans", "Hanssen", "Szambelan", "Nogueira",
            "Dochioiu", "Arvidsson", "Aksu", "Lišková", "Jacqueline", "Janna", "Gillian", "Logan", "Tristán", "Kalle",
            "Thérèse", "Eva", "Éva", "Ulva", "Arild", "Aniela", "Giovanna", "Julia", "Zahid", "Nikola", "Konečná",
            "Thomsen", "Koch", "Perkins", "Sidhu", "Matthews", "Tirado", "Puga", "Ikonen", "Allard", "Roca", "Januar",
            "Mastroianni", "Meijer", "Kristensen", "Marat", "Souza", "Dumitrescu", "Bergman", "Şensoy", "Medveď",
            "Taylor", "Ctirad", "Hans-Jürgen", "Vedant", "Noah", "Joel", "Mónica", "Lorraine", "Mariann", "Dian",
            "Romina", "Rens", "Simen", "Sofia", "Lică", "Gürsal", "Marek", "Holly", "Krogh", "Krishnan", "Priego",
            "Beltrán", "Leppänen", "Rivière", "Damjanović", "Varga", "Mandasari", "Sonnino", "Sadlak", "Barbu",
            "Nordberg", "Akgündüz", "Ivaška", "Mclaughlin", "Michal", "Werner", "Gaurika", "Florentino", "Roberto",
            "Pentti", "Amélie", "Anton", "Nikoletta", "Anastasia", "Alfio", "Hilde", "Miłosz", "Sabrina", "Stefan",
            "Algış", "Ernest", "Tůmová", "Hendriks", "Marshall", "Lata", "Cunningham", "Iglesias", "Aguayo",
            "Jokinen", "Garnier", "Pokas", "Juhász", "Fujiati", "Curatoli", "Wawrzyńczyk", "Costela", "Husťáková",
            "Mcconnell", "Emilie", "Kaspar", "Jasmine", "Shaurya", "Larry", "Caridad",
        ),
    },
}  # fmt: skip
ADDED: dict[str, Lists] = {
    "names": {},
    "drawn": {},
    "fresh": {},
    "develop": {
        "url": ("See {}.", "More at {}."),
        "email": ("Write to {}.", "Ask {} about it."),
        "path": ("Open {}.", "It is in {}."),
        "code": ("Run {}.", "What does {} mean?"),
        "placeholder": ("You have {} new messages.", "Hello {}!"),
        "number": ("It costs {}.", "I need {}."),
    },
    "test": {
        "url": ("Have a look at {}.", "I found it on {}.", "Is {} down again?"),
        "email": ("Send it to {}, please.", "My address is {}.", "Did you write to {}?"),
        "path": ("The file {} is missing.", "Delete {}, please.", "Who wrote {}?"),
        "code": ("Then I typed {}.", "Use {} instead.", "Why does {} not work?"),
        "placeholder": ("Welcome back, {}.", "Do you really want to delete {}?", "I sent {} letters."),
        "number": ("That is {} more than last year.", "We have {} left.", "Did you say {}?"),
    },
}
SEEDS = {"develop": 1, "test": 2, "names": 3, "drawn": 4, "fresh": 5}
SKIPPED = {"names": 1500, "drawn": 3000, "fresh": 6000}  # sentences with a name that the sets before may take
NAME = re.compile(r"(?<!\w)(?:Tom|Mary|Boston)(?!\w)")
NUMBER = re.compile(r"(?<![\w.,:$€£%-])\d{1,4}(?![\w.,:%]*\d|\w|\s?[ap]\.?m)")


@dataclass(frozen=True)
class Case:
    """A sentence with spans, and a reference."""

    source: str
    reference: str
    spans: tuple[str, ...]
    plain: str
    """The sentence without the spans; its reference is `plain_reference`."""
    plain_reference: str
    plain_span: str = ""
    """What stood in the place of the span."""


@dataclass(frozen=True)
class Row:
    """The figures of one kind."""

    kind: str
    sentences: int
    kept: float
    kept_without: float
    rest_bleu: float
    rest_bleu_without: float
    before_bleu: float
    cpu: float
    cpu_without: float
    appended: int
    searches: float
    """Searches of a sentence, on average."""


def pairs_of(path: Path, which: str) -> list[tuple[str, str]]:
    """Return pairs in the order of the bundled model's split, its test sentences first; `develop` has them last."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    first = {row[0]: row[1] for row in reversed(rows)}
    return sorted(first.items(), key=lambda pair: place(pair[0]), reverse=which == "develop")


def place(sentence: str) -> bytes:
    """Return the place of a sentence in the split of experiments/tatoeba_en_de.py."""
    return hashlib.blake2b(sentence.encode(), digest_size=8).digest()


def shared(pattern: re.Pattern[str], pair: tuple[str, str]) -> str | None:
    """Return what both sides of a pair have once each and matches, and nothing else that matches."""
    ours, theirs = pattern.findall(pair[0]), pattern.findall(pair[1])
    return ours[0] if len(ours) == 1 and ours == theirs else None


def replaced(pattern: re.Pattern[str], pair: tuple[str, str], span: str) -> Case:
    source, reference = (pattern.sub(lambda _: span, side) for side in pair)
    return Case(source, reference, (span,), *pair, shared(pattern, pair) or "")


def with_emoji(pair: tuple[str, str], span: str, dice: random.Random) -> Case:
    """Put an emoji at the end, before the final mark, at the beginning or after a word."""
    source, way = pair[0], dice.randrange(4)
    words = source.split()
    at = dice.randrange(1, max(2, len(words)))
    forms = (
        f"{source} {span}",
        f"{source[:-1]} {span}{source[-1]}",
        f"{span} {source}",
        " ".join([*words[:at], span, *words[at:]]),
    )
    return Case(forms[way], pair[1], (span,), *pair)


def with_tags(pair: tuple[str, str], element: str, dice: random.Random) -> Case:
    """Put tags around a word."""
    words = pair[0].split()
    at = dice.randrange(len(words))
    word = re.fullmatch(r"(\W*)(.*?)(\W*)", words[at])
    assert word is not None
    spans = f"<{element}>", f"</{element.split(maxsplit=1)[0]}>"
    words[at] = f"{word[1]}{spans[0]}{word[2]}{spans[1]}{word[3]}"
    return Case(" ".join(words), pair[1], spans, *pair)


def cases(which: str, pairs: Sequence[tuple[str, str]], count: int) -> dict[str, list[Case]]:
    """Return the cases of each kind; of kinds with templates every other one is a short sentence after another."""
    dice = random.Random(SEEDS[which])
    named = [pair for pair in pairs if shared(NAME, pair)][SKIPPED.get(which, 0) :]
    numbered = [pair for pair in pairs if shared(NUMBER, pair)]
    found: dict[str, list[Case]] = {}
    for kind, spans in SPANS[which].items():
        slots = numbered if kind == "number" else named if kind not in ("emoji", "tag") else pairs
        pattern, own = NUMBER if kind == "number" else NAME, []
        for number in range(count):
            pair, span = slots[number % len(slots)], spans[number % len(spans)]
            templates = ADDED[which].get(kind)
            if kind == "emoji":
                own.append(with_emoji(pair, span, dice))
            elif kind == "tag":
                own.append(with_tags(pair, span, dice))
            elif templates and number % 2:
                short = templates[number // 2 % len(templates)].format(span)
                own.append(Case(f"{pair[0]} {short}", "", (span,), "", ""))
            else:
                own.append(replaced(pattern, pair, span))
        found[kind] = own
    return found


def is_kept(kind: str, case: Case, text: str) -> bool:
    """Return whether every span is in a translation exactly as often as in the source, and part of no longer word."""
    before, after = r"(?<![^\W_])", r"(?![^\W_])"
    if kind == "number":
        before, after = r"(?<![^\W_])(?<!\d[.,:])", r"(?![^\W_]|[.,:]\d)"
    if kind == "name":
        after = r"(?=s?(?![^\W_]))"  # the genitive
    if kind in ("emoji", "tag"):
        before = after = ""

    def count(span: str, text: str) -> int:
        edges = before if span[0].isalnum() else "", after if span[-1].isalnum() else ""
        return len(re.findall(edges[0] + re.escape(span) + edges[1], text))

    return all(count(span, text) == max(1, count(span, case.source)) for span in case.spans)


def without(spans: Sequence[str], text: str) -> str:
    for span in filter(None, spans):
        text = text.replace(span, " ")
    return " ".join(text.split())


def bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    return round(float(BLEU().corpus_score(list(texts), [list(references)]).score), 1) if texts else 0.0


def timed(work: Callable[[], list[str]]) -> tuple[list[str], float]:
    start = time.process_time()
    found = work()
    return found, round(time.process_time() - start, 2)


def measure(translator: Translator, kind: str, some: Sequence[Case], beam: int) -> tuple[Row, list[tuple[str, str]]]:
    on, off = Options(beam=beam, protect=True), Options(beam=beam, protect=False, force=True)
    sources, searched, engine = [case.source for case in some], 0, translator.engine
    whole = [case for case in some if case.reference]
    search = engine.search

    def counting(sources: Sequence[Sequence[int]], request: Request, *rest: object) -> object:
        nonlocal searched
        searched += len(sources)
        return search(sources, request, *rest)  # type: ignore[arg-type]

    plain, cpu_without = timed(lambda: translator.translate(sources, off))
    setattr(engine, "search", counting)  # noqa: B010
    start = time.process_time()
    made = list(translator.stream(sources, on))
    cpu = round(time.process_time() - start, 2)
    delattr(engine, "search")
    texts = [one.text for one in made]
    before = translator.translate([case.plain for case in whole], off)
    kept = [is_kept(kind, case, text) for case, text in zip(some, texts, strict=True)]
    kept_without = [is_kept(kind, case, text) for case, text in zip(some, plain, strict=True)]
    judged = [number for number, case in enumerate(some) if case.reference]
    references = [without(some[n].spans, some[n].reference) for n in judged]
    before = [without([case.plain_span], text) for case, text in zip(whole, before, strict=True)]
    row = Row(
        kind,
        len(some),
        round(100 * sum(kept) / len(some), 1),
        round(100 * sum(kept_without) / len(some), 1),
        bleu([without(some[n].spans, texts[n]) for n in judged], references),
        bleu([without(some[n].spans, plain[n]) for n in judged], references),
        bleu(before, [without([case.plain_span], case.plain_reference) for case in whole]),
        cpu,
        cpu_without,
        sum("appended" in one.warnings for one in made),
        round(searched / sum(len(one.sentences) for one in made), 2),
    )
    lost = [(case.source, text) for case, text, fine in zip(some, texts, kept, strict=True) if not fine]
    return row, lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="Tatoeba's pairs: English TAB German, gzipped")
    parser.add_argument("--set", dest="which", choices=list(SPANS), default="test")
    parser.add_argument("--kinds", nargs="*", choices=list(SPANS["test"]), help="only these")
    parser.add_argument("--count", type=int, default=300, help="sentences of each kind")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--show", type=int, default=0, help="print so many lost ones of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    translator = regard.load("en-de")
    translator.translate(["https://example.org/ is 30 years old."], Options(protect=True))  # loads what is loaded once
    every = cases(options.which, pairs_of(options.pairs, options.which), options.count)
    rows = []
    if not options.json:
        print("kind         kept %  without   BLEU of the rest  without  before   CPU-s  without  appended  searches")
    for kind in options.kinds or every:
        row, lost = measure(translator, kind, every[kind], options.beam)
        rows.append(row)
        if not options.json:
            print(
                f"{row.kind:12} {row.kept:6} {row.kept_without:8} {row.rest_bleu:18} {row.rest_bleu_without:8} "
                f"{row.before_bleu:7} {row.cpu:7} {row.cpu_without:8} {row.appended:9} {row.searches:9}",
                flush=True,
            )
            for source, text in lost[: options.show]:
                print(f"    {source}\n      {text}")
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
