import gzip
import json
import shutil
from pathlib import Path

import pytest
import sacrebleu
from tests.support.command import Run
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.model import model_config
from regard.config.run import Config
from regard.evaluate.perplexity import perplexity, score_texts
from regard.model.build import build
from regard.saved.calibration import Calibration, write_calibration
from regard.saved.folder import LoadedModel
from regard.translate.translator import Translator


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "evaluate")


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = sentences()
    monkeypatch.chdir(tmp_path)
    for name, chosen in (("test.en", lines[:20]), ("test.de", lines[3:23]), ("test.de2", lines[6:26])):
        (tmp_path / name).write_text("\n".join(chosen) + "\n", encoding="utf-8")
    (tmp_path / "short.de").write_text("x\n", encoding="utf-8")
    (tmp_path / "bad.de").write_bytes(b"x\n\xff\n" * 10)
    (tmp_path / "empty").write_bytes(b"")
    with gzip.open(tmp_path / "test.de.gz", "wb") as file:
        file.write((tmp_path / "test.de").read_bytes())
    return tmp_path


def test_as_the_issue_writes_it(
    run: Run, folder: Path, texts: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same figure as that of what `regard translate` prints, to the last digit."""
    line = f"--model {folder} --source test.en --reference test.de --out made.de --json"
    code, out, err = run(*line.split())
    assert (code, err) == (0, "")
    figures = json.loads(out)
    _, printed, _ = Run(monkeypatch, "translate")("test.en", "--model", str(folder))
    assert (texts / "made.de").read_bytes() == printed
    reference = (texts / "test.de").read_text(encoding="utf-8").splitlines()
    assert figures["bleu"] == sacrebleu.corpus_bleu(printed.decode().splitlines(), [reference]).score
    assert figures["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    source = (texts / "test.en").read_text(encoding="utf-8").splitlines()
    assert figures["perplexity"] == pytest.approx(perplexity(score_texts(translator, source, reference)))
    assert {"chrf", "ter", "by_length"} <= set(figures)


def test_files_of_translations(run: Run, texts: Path) -> None:
    line = "--hypothesis test.en --reference test.de.gz --reference test.de2 --baseline test.de --json"
    code, out, _ = run(*line.split())
    figures = json.loads(out)
    assert code == 0
    lines = {
        name: (texts / name).read_text(encoding="utf-8").splitlines() for name in ("test.en", "test.de", "test.de2")
    }
    wanted = sacrebleu.corpus_bleu(lines["test.en"], [lines["test.de"], lines["test.de2"]]).score
    assert figures["bleu"] == wanted
    assert figures["references"] == 2
    assert figures["comparisons"][0]["baseline"] > 99
    assert "perplexity" not in figures
    _, text, _ = run("--hypothesis", "test.en", "--reference", "test.de")
    assert b"nrefs:1|" in text
    _, text, _ = run("--hypothesis", "test.en", "--reference", "test.de", "--tokenize", "char")
    assert b"tok:char|" in text
    _, latex, _ = run("--hypothesis", "test.en", "--reference", "test.de", "--format", "latex")
    assert b"\\begin{tabular}" in latex


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--hypothesis test.de", "--reference is missing; "),
        ("--reference test.de", "give either --model with --source, or --hypothesis; "),
        ("--reference test.de --model m --hypothesis test.de", "give either --model"),
        ("--reference test.de --model m", "--source is missing; "),
        ("--reference test.de --hypothesis short.de", "test.de has 20 lines and short.de has 1, but "),
        ("--reference test.de --hypothesis bad.de", "bad.de, line 2: not valid UTF-8; "),
        ("--reference test.de --hypothesis none.de", "none.de: no such file; "),
        ("--reference empty --hypothesis empty", "there are no lines to measure; "),
        ("--reference test.de --model none --source test.en", "none: no such folder; "),
        ("--reference test.de --model none --source test.en --out no/x", "no/x: there is no folder no; "),
        ("--reference test.de --model none --source test.en --out .", ".: is a folder; "),
    ],
)
def test_mistakes(run: Run, texts: Path, arguments: str, sentence: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, b"")
    assert err.startswith(f"regard: {sentence}")


def test_a_line_longer_than_the_model_reads_costs_the_perplexity_alone(
    run: Run, saved: LoadedModel, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = model_config(**{**saved.config.model_dump(), "positions": "learned", "max_length": 40})
    save_built(texts / "m", build(config), Config(model=config), saved.subwords)
    (texts / "test.en").write_text("\n".join(["x"] * 4 + ["x y " * 50] + ["x"] * 15) + "\n", encoding="utf-8")
    line = "--model m --source test.en --reference test.de --beam 1 --out made.de --json"
    code, out, err = run(*line.split())
    assert code == 0 and "perplexity" not in json.loads(out)
    assert len((texts / "made.de").read_text(encoding="utf-8").splitlines()) == 20
    wanted = "line 5: 200 tokens, but the model can read no more than 39 at once; leave the line out, or divide it\n"
    assert err == f"regard: no perplexity: {wanted}"
    assert Run(monkeypatch, "score")(*["--model", "m", "--source", "test.en", "--target", "test.de"]) == (
        2,
        b"",
        f"regard: {wanted}",
    )


def test_score(folder: Path, texts: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    score = Run(monkeypatch, "score")
    line = f"--model {folder} --source test.en --target test.de.gz"
    code, out, err = score(*line.split(), "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)
    pair = [(texts / name).read_text(encoding="utf-8").splitlines() for name in ("test.en", "test.de")]
    wanted = score_texts(translator, *pair)
    assert figures["perplexity"] == pytest.approx(perplexity(wanted))
    assert figures["tokens"] == sum(len(one.token_scores) for one in wanted)
    logs = [one.log_probability for one in wanted]
    assert [one["log_probability"] for one in figures["segments"]] == pytest.approx(logs)
    _, out, _ = score(*line.split())
    assert [float(row) for row in out.split()] == pytest.approx(logs, abs=1e-5)
    _, out, _ = score(*line.split(), "--tokens", "--batch-tokens", "40")
    total, each = out.decode().splitlines()[0].split("\t")
    assert sum(map(float, each.split())) == pytest.approx(float(total), abs=0.01)
    for arguments in ("--source test.en --target test.de", f"--model {folder} --source test.en"):
        assert score(*arguments.split())[0] == 2


def test_a_reliability_diagram(run: Run, folder: Path, texts: Path) -> None:
    for line, said in (
        (f"--model {folder} --source test.en --reference test.de --reliability it.svg", "not calibrated"),
        (f"--model {folder} --source test.en --reference test.de --reliability it.gif", "ends in .svg, .png or .pdf"),
        ("--hypothesis test.en --reference test.de --reliability it.svg", "--reliability has no effect"),
    ):
        code, _, err = run(*line.split())
        assert (code, said in err) == (2, True)
    shutil.copytree(folder, "own")
    numbers = (0.0,) * 6
    level = Calibration(mean=numbers, scale=(1.0,) * 6, weights=numbers, bias=0.0, pairs=100, spearman=0.5)
    write_calibration(Path("own"), level)
    line = "--model own --source test.en --reference test.de --reliability it.svg"
    code, out, _ = run(*line.split(), "--json")
    assert code == 0
    assert len(json.loads(out)["reliability"]["groups"]) == 10
    assert (texts / "it.svg").read_text(encoding="utf-8").startswith("<?xml")
