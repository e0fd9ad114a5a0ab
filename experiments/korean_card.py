r"""The figures and examples of en-ko's card, as Markdown: scores both ways, speech levels, twenty translations.

    python experiments/korean_card.py runs/en-ko/model --pairs dev.tsv.gz --pairs data/ko-text/test.tatoeba.tsv

Each file has English TAB Korean on a line; none of them was trained on. BLEU into Korean is over ko-mecab's morphemes.
"""

import argparse
import gzip
from collections import Counter
from pathlib import Path

from cards import examples

import regard
from regard.evaluate.bleu import Tokens
from regard.text.formality import speech_level
from regard.translate.translator import Translator

# Made up for the card before the model was trained; what comes out is printed unedited.
EXAMPLES = (
    ("ko", "The file could not be opened."),
    ("ko", "Please restart your computer."),
    ("ko", "Enter your password and click OK."),
    ("ko", "This function returns a list of strings."),
    ("ko", "The connection to the server was lost. Try again later."),
    ("ko", "Do you want to save the changes before closing?"),
    ("ko", "If the directory does not exist, it is created."),
    ("ko", "Where is the station?"),
    ("ko", "I lost my keys yesterday."),
    ("ko", "My grandmother taught me how to bake bread."),
    ("en", "파일을 열 수 없습니다."),
    ("en", "컴퓨터를 다시 시작하십시오."),
    ("en", "암호를 입력한 다음 확인을 클릭합니다."),
    ("en", "이 함수는 문자열 목록을 반환합니다."),
    ("en", "서버와의 연결이 끊어졌습니다. 나중에 다시 시도하세요."),
    ("en", "기본적으로 이 옵션은 꺼져 있습니다."),
    ("en", "역이 어디에 있나요?"),
    ("en", "저는 어제 열쇠를 잃어버렸어요."),
    ("en", "내일 비가 오면 집에 있을 거야."),
    ("en", "그녀는 한국어와 독일어를 조금 한다."),
)
LEVELS = ("formal", "polite", "plain")

Pairs = list[tuple[str, str]]


def read(path: Path) -> Pairs:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [line.split("\t") for line in data.decode().splitlines()]
    return [(row[0], row[1]) for row in rows]


def scores(translator: Translator, files: dict[str, Pairs]) -> list[str]:
    lines = ["| text | pairs | direction | BLEU | chrF |", "|---|---|---|---|---|"]
    signatures = {}
    for name, pairs in files.items():
        english, korean = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        for target, sources, references in (("ko", english, korean), ("en", korean, english)):
            options = regard.Options(target=target)
            tokens: Tokens = "ko-mecab" if target == "ko" else "13a"
            report = regard.evaluate(translator, sources, references, options, tokens=tokens).report
            bleu, chrf = report.scores["bleu"], report.scores["chrf"]
            signatures[target] = f"Into {target}: BLEU `{bleu.signature}`, chrF `{chrf.signature}`."
            direction = "English → Korean" if target == "ko" else "Korean → English"
            lines.append(f"| {name} | {len(pairs):,} | {direction} | {bleu.value:.1f} | {chrf.value:.1f} |")
    return [*lines, "", *signatures.values()]


def levels(translator: Translator, sentences: list[str]) -> list[str]:
    """The share of endings of the level asked for, of those that tell any (regard.text.formality)."""
    lines = ["| asked for | formal | polite | plain | none | obeys |", "|---|---|---|---|---|---|"]
    for asked in (None, *LEVELS):
        translations = translator.translate(sentences, regard.Options(target="ko", formality=asked))
        found: Counter[str] = Counter(speech_level(text) or "none" for text in translations)
        told = sum(found[level] for level in LEVELS)
        obeys = f"{found[asked] / max(1, told):.1%}" if asked else ""
        counts = " | ".join(str(found[level]) for level in (*LEVELS, "none"))
        lines.append(f"| {asked or 'nothing'} | {counts} | {obeys} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model's folder or name")
    parser.add_argument("--pairs", type=Path, action="append", required=True, help="English TAB Korean")
    given = parser.parse_args()
    files = {path.name: read(path) for path in given.pairs}
    translator = regard.load(given.model)
    last = [english for english, _ in list(files.values())[-1]]
    for part in (scores(translator, files), levels(translator, last), examples(translator, EXAMPLES)):
        print("\n".join(part), end="\n\n")


if __name__ == "__main__":
    main()
