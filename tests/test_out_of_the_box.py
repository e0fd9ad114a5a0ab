"""What works right after installing, with the model that comes with the package."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.cli.parse import DEFAULT as PARSER
from regard.files import check_manifest
from regard.saved.bundled import DEFAULT, located
from regard.text.formality import speech_level
from regard.text.language import is_hangul
from regard.text.trees import read_trees, tags, words

KOREAN = "en-ko"
EVERYDAY = (
    *("where is the station", "I am tired. Where is my bed?", "Teh train is late.", ""),
    *("역은 어디에 있습니까?", "أين المحطة؟", "I love you 🙂", "Cafe\u0301 Zu\u0308rich"),
)


def translate(*arguments: str, given: str = "") -> str:
    return regard_says("translate", *arguments, given=given)


def regard_says(*arguments: str, given: str = "") -> str:
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_sentence_each_way() -> None:
    assert translate("Where is the station?") == "Wo ist der Bahnhof?\n"
    assert translate("--model", DEFAULT, "--to", "en", "Wo ist der Bahnhof?") == "Where's the station?\n"


def test_korean_both_ways() -> None:
    assert translate("--to", "ko", "The file could not be opened.") == "파일을 열 수 없습니다.\n"
    assert translate("--from", "ko", "파일을 열 수 없습니다.") == "Cannot open file.\n"
    kept = translate("--model", KOREAN, "Open https://example.org/a?b=1 and enter {name}.")
    assert "https://example.org/a?b=1" in kept and "{name}" in kept and any(map(is_hangul, kept))


def test_korean_in_the_speech_level_that_is_asked_for() -> None:
    translator = regard.load(KOREAN)
    texts = [
        "I don't know what he said.",
        "It is cold today.",
        "She works at a bank.",
        "We need more time.",
        "He sold his car.",
    ]
    for asked, level in (("more", "formal"), ("polite", "polite"), ("less", "plain")):
        found = translator.translate(texts, regard.Options(target="ko", formality=asked))
        assert [speech_level(text) for text in found].count(level) >= 4, found


def test_everyday_lines_come_out_as_many_as_went_in() -> None:
    given = "".join(f"{line}\n" for line in EVERYDAY)
    found = translate("--model", DEFAULT, "--format", "jsonl", "--force", given=given)
    lines = [json.loads(line) for line in found.splitlines()]
    assert len(lines) == len(EVERYDAY)
    assert "Bahnhof" in lines[0]["text"]
    assert "Bett" in lines[1]["text"]
    assert "Zug" in lines[2]["text"]
    assert lines[3]["text"] == ""


def test_a_sentence_as_a_tree() -> None:
    (line,) = regard_says("parse", "The cat sat on the mat.").splitlines()
    (tree,) = read_trees([line], "out")
    assert (tree.label, words(tree), tags(tree)) == (
        "S",
        ["The", "cat", "sat", "on", "the", "mat", "."],
        ["DT", "NN", "VBD", "IN", "DT", "NN", "."],
    )
    assert "(PP (IN on) (NP (DT the) (NN mat)))" in line


def test_lines_of_any_script_are_trees_over_their_words() -> None:
    found = regard_says("parse", given="".join(f"{line}\n" for line in EVERYDAY)).splitlines()
    assert len(found) == len(EVERYDAY) and found[3] == ""
    for line, one in zip(EVERYDAY, found, strict=True):
        if line:
            (tree,) = read_trees([one], "out")
            assert "".join(words(tree)) == "".join(line.split())


def test_a_page_keeps_its_tags(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Where is <b>the station</b>?</p><script>let a = 1;</script>", encoding="utf-8")
    translate(str(page), "--out", str(tmp_path / "page.de.html"))
    found = (tmp_path / "page.de.html").read_text(encoding="utf-8")
    assert re.findall("<[^>]*>", found) == re.findall("<[^>]*>", page.read_text(encoding="utf-8"))
    assert "Bahnhof" in found and found.endswith("<script>let a = 1;</script>")


def test_from_python() -> None:
    translator = regard.load(DEFAULT)
    assert translator.translate(["Where is the station?"]) == ["Wo ist der Bahnhof?"]
    assert translator.translate("Where is the station?", regard.Options(beam=1)) == "Wo ist der Bahnhof?"
    drawn = regard.Options(sampling=regard.Sampling(temperature=1e-3))
    assert translator.translate("Where is the station?", drawn) == "Wo ist der Bahnhof?"
    (found,) = translator.stream(["Where is the station?"], regard.Options(n_best=3, alignment=True))
    assert found.text == found.option(0) == "Wo ist der Bahnhof?" and found.options == 3
    assert found.score == found.option_score(0) > found.option_score(1)
    assert found.pairs and {target for _, target in found.pairs} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("name", "mentioned"),
    [
        (DEFAULT, ("Tatoeba", "CC BY 2.0 FR", "nrefs:7|", "experiments/tatoeba-en-de.toml")),
        (KOREAN, ("Tatoeba", "Microsoft documentation", "CC BY 4.0", "ko-mecab", "experiments/korean-en-ko.toml")),
        (PARSER, ("CRAFT", "CC BY 3.0", "EVALB", "experiments/craft-parsing.toml")),
    ],
)
def test_its_card_says_what_it_is(name: str, mentioned: tuple[str, ...]) -> None:
    folder = located(name)
    check_manifest(folder)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert all(word in card for word in mentioned)
