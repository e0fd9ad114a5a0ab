"""`regard translate report.docx` and every other format, as the issue writes it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.documents.files import body, members
from tests.documents.samples.good import GOOD
from tests.support.command import Run

import regard
from regard.errors import UserError
from regard.translate.translator import Translator


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "translate")


@pytest.mark.parametrize("name", GOOD)
def test_every_format(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    path, out = tmp_path / name, tmp_path / f"out.{name}"
    path.write_bytes(GOOD[name])
    code, told, err = run(str(path), "--model", str(folder), "--out", str(out))
    assert (code, err) == (0, "")
    assert told.decode().startswith(f"{out}: ")
    assert out.read_bytes() != GOOD[name]
    if GOOD[name].startswith(b"PK"):
        assert list(members(out.read_bytes())) == list(members(GOOD[name]))


def test_beside_with_a_report(run: Run, folder: Path, tmp_path: Path) -> None:
    path, report = tmp_path / "report.docx", tmp_path / "report.json"
    path.write_bytes(GOOD["a.docx"])
    code, told, err = run(str(path), "--model", str(folder), "--bilingual", "--report", str(report))
    assert (code, err) == (0, "")
    found = tmp_path / "report.de.docx"
    assert told.decode().startswith(f"{found}: 3 texts of {path}")
    assert body(found.read_bytes()).count("<w:tr>") == 3
    given = json.loads(report.read_text(encoding="utf-8"))
    assert (given["file"], given["format"], given["texts"], given["translated"]) == (str(path), ".docx", 3, 3)
    assert {"unchanged", "kept", "unsure"} < given.keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("a.pdf", "a.pdf: .pdf can't be translated; "),
        ("missing.pdf", "missing.pdf: no such file; "),
        ("a.doc", "a.doc: .doc can't be translated; "),
        ("a.bin", "a.bin: not a format that can be translated. Formats: "),
        ("a.docx", "a.docx: is not a whole file of its format"),
        ("a.html --bilingual", "a.html: --bilingual is for .docx and .xlsx; "),
        ("words --report x.json", "--bilingual and --report are for a file with structure"),
        ("words --bilingual", "--bilingual and --report are for a file with structure"),
        ("a.html --report nowhere/x.json", "nowhere/x.json: there is no folder nowhere; "),
    ],
)
def test_mistakes(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.pdf", "a.doc", "a.bin", "a.docx"):
        Path(name).write_bytes(b"%PDF \0 words")
    Path("a.html").write_text("<p>words", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    code, out, err = run("--model", str(folder), *arguments.split())
    assert (code, out) == (2, b"")
    assert err.startswith(f"regard: {sentence}")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_lines_of_any_name_are_lines(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.en").write_text("The man.\n\n안녕\n", encoding="utf-8")
    code, out, _ = run("--model", str(folder), str(tmp_path / "lines.en"))
    assert (code, out.count(b"\n")) == (0, 3)


def test_from_python(folder: Path, translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(GOOD["a.docx"])
    report = regard.translate_file(path, model=folder)
    assert (report.format, report.texts, report.translated) == (".docx", 3, 3)
    assert (tmp_path / "a.de.docx").is_file()
    with pytest.raises(UserError, match="exists already"):
        regard.translate_file(path, model=translator)
    again = regard.translate_file(path, model=translator, out=tmp_path / "b.docx")
    assert again == report
    assert members((tmp_path / "b.docx").read_bytes()) == members((tmp_path / "a.de.docx").read_bytes())


def test_only_sentences_with_formatting_are_aligned(translator: Translator) -> None:
    """The text is that of the whole paragraph, and so are the pairs of the sentences that have marks."""
    from regard.documents.html import pieces
    from regard.documents.segment import segments
    from regard.translate.document import sentence_count, translations
    from regard.translate.translator import Options

    found = segments(
        pieces("<p>The man sees trees. The <b>old woman</b> sees the garden. The girl. </p><p>The man.</p>")
    )
    asked: list[str] = []
    attention = translator.attention

    def watched(*given: Any) -> Any:
        asked.append("x")
        return attention(*given)

    translator.attention = watched
    try:
        done = translations(translator, found, Options())
    finally:
        translator.attention = attention
    whole = translator.window([found[0].text], Options(alignment=True))[0]
    assert (len(asked), sentence_count(found)) == (1, 4)
    assert [one.text for one in done] == [whole.text, translator.translate("The man.")]
    first, second, _ = (len(sentence.outputs[0].text.split()) for sentence in whole.sentences)
    if whole.pairs is not None:
        expected = tuple(pair for pair in whole.pairs if first <= pair[1] < first + second)
        assert done[0].pairs == expected
    assert done[1].pairs is None
