import json
import shutil
from pathlib import Path

import pytest
import sacrebleu
from tests.support.command import Run
from tests.support.models import sentences

from regard.engines.ctranslate2_engine import CTranslate2Engine
from regard.files import check_manifest
from regard.saved.folder import load_model
from regard.translate.load import convert, load
from regard.translate.translator import Options, Translator


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "export")


@pytest.fixture
def model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that may be written to, in a folder with two texts."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "model")
    lines = [f"{line} {number}" for number, line in enumerate(sentences()[:30])]
    Path("valid.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    translations = convert(folder, alone=True).translate(lines, Options(protect=False, force=True))
    Path("valid.de").write_text("".join(f"{' '.join(line.split())}\n" for line in translations), encoding="utf-8")
    return tmp_path / "model"


def test_as_the_issue_writes_it(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "--model model --to ctranslate2 --quantization int8 --out M"
    code, out, err = run(*line.split())
    assert (code, out) == (0, b"M: model for ctranslate2\n") and "was not measured" in err
    check_manifest(Path("M"))
    assert "not measured; `regard export --source FILE" in Path("M/README.md").read_text(encoding="utf-8")
    code, out, err = Run(monkeypatch, "translate")("--model", "M", "--force", stdin="The man.\n\n사과를\n".encode())
    assert code == 0
    assert all("repeats itself" in said for said in err.splitlines()), "rounding differs between processors"
    assert len(out.decode().split("\n")) == 4
    assert run(*line.split())[0] == 2, "M exists"


def test_a_text_that_lies_around_is_not_the_validation_set(run: Run, model: Path) -> None:
    Path("valid.jsonl").write_text('{"source": "사과", "target": "Apfel", "tag": null}\n', encoding="utf-8")
    code, _, err = run(*["--model", "model", "--to", "ctranslate2", "--quantization", "int8", "--out", "M"])
    assert code == 0 and "was not measured" in err
    assert "was not measured" in Path("M/README.md").read_text(encoding="utf-8")


def test_beside_the_model(run: Run, model: Path, translator: Translator) -> None:
    for quantization in ("int8_float32", "float32"):  # the second replaces the first
        code, out, _ = run("--model", "model", "--to", "ctranslate2", "--quantization", quantization)
        assert (code, out) == (0, b"model/ctranslate2: model for ctranslate2\n")
    found = load(model)
    assert isinstance(found.engine, CTranslate2Engine)
    assert found.translate(sentences()[:5]) == translator.translate(sentences()[:5])
    check_manifest(model)


def test_what_rounding_costs_is_measured(run: Run, model: Path) -> None:
    """float32 made the reference, so it scores 100 on it, and what int8 loses is over the limit."""
    line = "--model model --to ctranslate2 --quantization int8 --source valid.en --reference valid.de --json"
    code, out, err = run(*line.split())
    assert code == 0
    figures = json.loads(out)
    assert figures["bleu_float32"] == pytest.approx(100)
    lines = Path("valid.en").read_text().splitlines()
    made = convert(model, "int8", alone=True).translate(lines, Options(protect=False, force=True))
    wanted = sacrebleu.corpus_bleu(
        [" ".join(text.split()) for text in made], [Path("valid.de").read_text().splitlines()]
    )
    assert figures["bleu"] == pytest.approx(wanted.score, abs=2.0)
    assert figures["bleu"] < 99
    assert err.startswith("regard: int8 costs ")
    assert "BLEU, more than 0.3; " in err
    card = Path("model/ctranslate2/README.md").read_text(encoding="utf-8")
    assert f"{figures['bleu']:.2f}, and 100.00 with float32 ({figures['signature']})" in card
    check_manifest(model / "ctranslate2")
    code, out, _ = run(*line.removesuffix(" --json").split(), "--lines", "5")
    assert (
        code == 0 and "int8 costs " in out.decode() and "with float32, on 5 lines of valid.en (nrefs:1" in out.decode()
    )
    code, out, err = run(*line.replace("int8", "float32").split(), "--lines", "3")
    assert (code, err) == (0, "")
    assert json.loads(out)["bleu"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--to ctranslate2", "--model and --to are both needed; "),
        ("--model model", "--model and --to are both needed; "),
        ("--model none --to ctranslate2", "none: no such folder; "),
        ("--model model --to onnx", "--out is missing; "),
        ("--model model --to onnx --out x --quantization int8", "--quantization int8 is not possible here; it is for "),
        (
            "--model model --to regard --out x --quantization int8_float32",
            "--quantization int8_float32 is not possible here; ",
        ),
        ("--model model --to onnx --out x --card card.md", "--card is for --to regard; "),
        ("--model model --to regard --out x --card none.md", "none.md: can't be read "),
        ("--model model --to ctranslate2 --source valid.en", "--source and --reference go together; "),
        ("--model model --to ctranslate2 --source none --reference valid.de", "none: no such file; "),
    ],
)
def test_mistakes(run: Run, model: Path, arguments: str, sentence: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, b"")
    assert err.startswith(f"regard: {sentence}")


def test_an_export_can_be_evaluated(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--model", "model", "--to", "ctranslate2", "--out", "M")
    evaluate = Run(monkeypatch, "evaluate")
    code, out, _ = evaluate("--model", "M", "--source", "valid.en", "--reference", "valid.de", "--json")
    assert code == 0
    assert "perplexity" not in json.loads(out)
    code, _, err = Run(monkeypatch, "score")("--model", "M", "--source", "valid.en", "--target", "valid.de")
    assert code == 2
    assert "give the model that was exported" in err


def test_a_smaller_model_is_measured_and_used(run: Run, model: Path) -> None:
    line = "--model model --to regard --out small --source valid.en --reference valid.de --json"
    code, out, _ = run(*line.split())
    assert code == 0
    figures = json.loads(out)
    assert figures["quantization"] == "int8" and figures["bleu"] < 99
    assert f"int8. BLEU on the first lines of valid.en, at most 500: {figures['bleu']:.2f}" in Path(
        "small/README.md"
    ).read_text(encoding="utf-8")
    check_manifest(Path("small"))
    assert load_model("small").storage == "int8"
    assert Path("small/model.safetensors").stat().st_size < Path("model/model.safetensors").stat().st_size


def test_a_smaller_model_has_the_card_that_its_owner_wrote(run: Run, model: Path) -> None:
    Path("card.md").write_text("# 내 모델 🙂\n\nFor letters.\n", encoding="utf-8")
    line = "--model model --to regard --quantization float16 --out small --card card.md"
    code, _, _ = run(*line.split())
    assert code == 0
    card = Path("small/README.md").read_text(encoding="utf-8")
    assert card.startswith("# 내 모델 🙂\n\nFor letters.\n\n## Weights\n\nfloat16. ")
    check_manifest(Path("small"))
