import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import Run

from regard.translate.translator import Options, Translator

PAGE = """<!DOCTYPE html><html lang="en"><head><title>The garden</title><script>var a = "<b>";</script></head>
<body><p>The <b>old woman</b> sees <a href="x.html">trees</a>.</p><p translate="no">The man.</p><p>42</p></body></html>
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "translate")


def tags(page: str) -> list[str]:
    return re.findall(r"<[^<>]*>", page.replace('lang="de"', 'lang="en"'))


def test_as_the_issue_writes_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    command = [sys.executable, "-m", "regard", "translate", "page.html", "--out", "page.de.html"]
    environment = os.environ | {"REGARD_MODEL": str(folder)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"page.de.html: 2 texts of page.html\n"
    found = (tmp_path / "page.de.html").read_text(encoding="utf-8")
    assert tags(found) == tags(PAGE)
    assert '<html lang="de">' in found
    assert '<p translate="no">The man.</p><p>42</p>' in found
    assert "old woman" not in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.de.html", "page.html"]


def test_beside_the_file_and_not_over_another(run: Run, folder: Path, translator: Translator, tmp_path: Path) -> None:
    path, beside = tmp_path / "page.en.html", tmp_path / "page.de.html"
    path.write_text("<p>The man.", encoding="utf-8")
    assert run(str(path), "--model", str(folder)) == (0, f"{beside}: 1 text of {path}\n".encode(), "")
    assert beside.read_text(encoding="utf-8").startswith(f"<p>{translator.translate('The man.')[:3]}")
    beside.write_text("mine", encoding="utf-8")
    code, out, err = run(str(path), "--model", str(folder))
    assert (code, out, err.count("\n")) == (2, b"", 1)
    assert err.startswith(f"regard: {beside}: exists already; ")
    assert beside.read_text(encoding="utf-8") == "mine"
    assert run(str(path), "--model", str(folder), "--force")[0] == 0
    assert beside.read_text(encoding="utf-8") != "mine"


FILES = {
    "film.srt": "1\n00:00:01,000 --> 00:00:02,000\nThe <i>old</i>\nwoman.\n\n2\n00:00:03,000 --> 00:00:04,000\n42\n",
    "film.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000 line:0\nThe man &amp; the dog.\n",
    "messages.po": 'msgid ""\nmsgstr ""\n"Language: de\\n"\n\nmsgid "The %s sees {n} trees."\nmsgstr ""\n',
    "notes.md": "# The garden\n\nThe **man** `x = 1` sees [trees](http://x.org).\n\n```\nThe man.\n```\n",
    "book.txt": "The man.\n\n안녕하세요. e\u0301 👩\u200d👧 שלום.\n",
}
KEPT = {
    "film.srt": [r"\d\d:\d\d:\d\d,000", "^\\d+$", "</?i>"],
    "film.vtt": [".*-->.*"],
    "messages.po": ["%s", r"\{n\}", "^msg(?:id.*|str)"],
    "notes.md": ["^# ", "```", "`x = 1`", r"\]\(.*?\)", r"\*\*"],
    "book.txt": ["\n\n"],
}


@pytest.mark.parametrize("name", FILES)
def test_every_format(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    code, out, err = run(str(path), "--model", str(folder), "--out", "-")
    assert (code, err) == (0, "")
    found = out.decode()
    assert found != FILES[name]
    for pattern in KEPT[name]:
        kept = re.findall(pattern, FILES[name], re.MULTILINE)
        seen = re.findall(pattern, re.sub(r"\\[*`_]", "", found), re.MULTILINE)
        assert seen == (kept * 2 if pattern in ("%s", r"\{n\}") else kept)
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_words_of_a_text_are_aligned_across_its_sentences(translator: Translator) -> None:
    translation = translator.window(["The old woman. The man sees trees."], Options(alignment=True))[0]
    pairs = translation.pairs
    assert pairs is not None
    first, second = (sentence.outputs[0] for sentence in translation.sentences)
    words = len(first.text.split())
    assert first.alignment is not None and second.alignment is not None
    assert pairs == first.alignment + tuple((source + 3, target + words) for source, target in second.alignment)
    assert [target for _, target in pairs] == list(range(len(translation.text.split())))
    assert translator.window(["The man."])[0].pairs is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("page.html --n-best 2", "--format and --n-best are for lines; "),
        ("page.html --format jsonl", "--format and --n-best are for lines; "),
        ("missing.html", "missing.html: no such file; "),
        ("latin.md", "latin.md, line 2: not UTF-8 text; "),
        ("large.txt", "large.txt: more than 67,108,864 bytes; divide it"),
        ("page.html --out page.html --force", "page.html: is the file to translate; "),
        ("page.html --out nowhere/x.html", "nowhere/x.html: there is no folder nowhere; "),
        ("page.html --out .", ".: is a folder; "),
        ("folder.po", "folder.po: is a directory"),
        ("lines.tsv --out x", "--out is for a file that ends with "),
    ],
)
def test_mistakes(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page.html").write_text("<p>x", encoding="utf-8")
    Path("latin.md").write_bytes("# a\nGrüße\n".encode("latin-1"))
    Path("lines.tsv").write_text("a\tb\n", encoding="utf-8")
    Path("folder.po").mkdir()
    with Path("large.txt").open("wb") as file:
        file.truncate((64 << 20) + 1)
    before = sorted(tmp_path.iterdir())
    code, out, err = run("--model", str(folder), *arguments.split())
    assert (code, out) == (2, b"")
    assert err.startswith(f"regard: {sentence}")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_no_part_of_a_file_stays_where_it_could_not_be_written(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>The man.", encoding="utf-8")
    place = tmp_path / ("x" * 250 + ".html")  # too long a name, with what is added while it is written
    code, out, err = run(str(path), "--model", str(folder), "--out", str(place))
    assert (code, out, err.count("\n")) == (1, b"", 1)
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_a_file_without_end(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").symlink_to("/dev/zero")
    code, _, said = run("--model", str(folder), str(tmp_path / "page.html"))
    assert code == 2 and "page.html: more than 67,108,864 bytes; divide it" in said
