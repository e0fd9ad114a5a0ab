"""A vocabulary of words from preparation to translation, as a person types it: unknown words are replaced."""

import json
import random
from pathlib import Path

import pytest
from tests.support.command import Run, regard

from regard.translate.load import load
from regard.translate.translator import Options

NAMES = ["Anna", "Bernd", "Çelik", "Dora", "민수"]


def write(folder: Path, name: str, count: int) -> list[str]:
    chance = random.Random(len(name))
    lines = [f"hello {chance.choice(NAMES)} , number {chance.randrange(1000)}" for _ in range(count)]
    (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    changed = [line.replace("hello", "hallo").replace("number", "nummer") for line in lines]
    (folder / f"{name}.de").write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    return lines


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    write(folder, "train", 500)
    write(folder, "valid", 20)
    files = [
        word for name in ("train", "valid") for word in (f"--{name}", f"{folder}/{name}.en", f"{folder}/{name}.de")
    ]
    regard(
        "prepare",
        *files,
        "--vocabulary-kind",
        "words",
        "--vocabulary",
        "300",
        "--cores",
        "1",
        "--out",
        str(folder / "data"),
    )
    settings = [
        "model.d_model=16",
        "train.steps=6",
        "train.checkpoint_every=3",
        "train.batch_tokens=300",
        "train.bleu=true",
    ]
    given = [word for setting in settings for word in ("--set", setting)]
    regard("train", "--preset", "deep-att", "--data", str(folder / "data"), "--out", str(folder / "run"), *given)
    return folder / "run" / "model"


def test_unknown_words_are_replaced_by_the_source(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(trained)
    unknown = translator.target_subwords.encode(["zzz"])[0]
    assert unknown == [1], "the word is unknown"
    # A model of six steps writes anything: what matters is that no ⁇ is left where its UNK was.
    with_option = translator.window(["hello Zoë , number 77777"], Options(replace_unknown=True, beam=1))[0]
    output = with_option.sentences[0].outputs[0]
    for token, number in zip(output.tokens, output.hypothesis.tokens, strict=True):
        assert number != 1 or token.lstrip("▁") in {"hello", "hallo", "Zoë", ",", "number", "nummer", "77777"}
    assert "⁇" not in with_option.text
    run = Run(monkeypatch, "translate")
    code, out, err = run("--model", str(trained), "--replace-unknown", stdin="hello 민수 , number 123456\n".encode())
    assert (code, err) == (0, "") and "⁇" not in out.decode()
    code, out, _ = run("--model", str(trained), "--format", "jsonl", stdin="hello 민수\n".encode())
    assert "<unk>" not in json.loads(out)["sentences"][0]["outputs"][0]["tokens"], "without the option none is written"


def test_other_engines_and_exports_refuse(trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, _, err = Run(monkeypatch, "translate")("--model", str(trained), "--engine", "native", stdin=b"a\n")
    assert code == 2 and "which only torch computes" in err
    code, _, err = Run(monkeypatch, "export")(
        "--model", str(trained), "--to", "huggingface", "--out", str(tmp_path / "x")
    )
    assert code == 2 and "its vocabulary is of words" in err


def test_a_model_with_subwords_needs_none(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = ["model.d_model=16", "train.steps=2", "train.batch_tokens=200", "train.checkpoint_every=2"]
    given = [word for setting in small for word in ("--set", setting)]
    regard("train", "--preset", "lstm-attention", "--data", str(data), "--out", str(tmp_path / "run"), *given)
    run = Run(monkeypatch, "translate")
    code, _, err = run("--model", str(tmp_path / "run" / "model"), "--replace-unknown", stdin=b"a\n")
    assert code == 2 and "can spell every word" in err


def test_words_and_subwords_exclude_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["--train", "a", "b", "--out", str(tmp_path / "out")]
    code, _, err = Run(monkeypatch, "prepare")(*files, "--vocabulary-kind", "words", "--subwords", "bpe")
    assert code == 2 and "leave out the other option" in err
