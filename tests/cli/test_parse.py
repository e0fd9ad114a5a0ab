"""From trees to a parser, on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.support.command import Run

from regard.saved.folder import load_model
from regard.text.subwords import Subwords
from regard.text.symbols import Symbols
from regard.text.trees import read_trees, words

TREES = """\
(S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))
(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))
(S (NP (PRP He)) (VP (VBD saw) (NP (NNS dogs))) (. .))
(FRAG (UH 네) (. .))
"""
LINES = "The cat sat on the mat .\n\n개 \u05d0 e\u0301 🐈\nDogs bark.\n"
SMALL = "model.encoder_layers=1 model.decoder_layers=1 model.d_model=32 model.d_ff=32 model.heads=2"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trees, and a parser that was trained on them for a few steps."""
    place = tmp_path_factory.mktemp("parsing")
    (place / "trees.mrg").write_text(TREES * 40, encoding="utf-8")
    (place / "dev.mrg").write_text(TREES, encoding="utf-8")
    prepare = f"--task parsing --train {place}/trees.mrg --valid {place}/dev.mrg --vocabulary 320 --out {place}/data"
    train = f"--preset parsing-small --data {place}/data --out {place}/run"
    settings = f"{SMALL} model.dropout=0 train.steps=60 train.batch_tokens=512 train.warmup=20 train.peak_rate=0.01"
    with pytest.MonkeyPatch.context() as patch:
        code, _, err = Run(patch, "prepare")(*prepare.split(), "--keep-duplicates", "--cores", "1")
        assert code == 0, err
        changes = [word for setting in settings.split() for word in ("--set", setting)]
        code, _, err = Run(patch, "train")(*train.split(), *changes)
        assert code == 0, err
    return place


def test_the_model_knows_which_tokens_are_words(place: Path) -> None:
    saved = load_model(place / "run" / "model")
    symbols, pieces = (
        Symbols(saved.subwords["target.symbols.txt"], ""),
        Subwords.from_bytes(saved.subwords["source.subwords.model"], ""),
    )
    weights = saved.model.state_dict()
    targets = [symbols.names[number] for number in weights["next_word.target_V"].nonzero()[:, 0]]
    assert set(targets) == {"DT", "NN", "VBD", "IN", ".", "NNS", "VBP", "PRP", "UH"}
    sources = weights["next_word.source_V"]
    for text, count in (("The cat sat on the mat .", 7), ("개 \u05d0 e\u0301 🐈", 4)):
        assert sources[pieces.encode([text])[0]].sum() == count


@pytest.mark.slow
def test_which_tokens_are_words_is_known_to_all_processes_and_averages(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    command += ["train", "--preset", "parsing-small", "--data", f"{place}/data", "--out", f"{tmp_path}/run"]
    settings = f"{SMALL} train.steps=2 train.sharding=fsdp train.moving_average=0.5"
    command += [word for setting in settings.split() for word in ("--set", setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    ours, theirs = (load_model(run / "run" / "model").model.state_dict() for run in (tmp_path, place))
    for name in ("next_word.source_V", "next_word.target_V"):
        assert torch.equal(ours[name], theirs[name]) and theirs[name].any()


def test_the_model_says_that_it_is_a_parser(place: Path) -> None:
    assert json.loads((place / "run" / "model" / "config.json").read_text())["task"] == "parsing"
    assert (place / "run" / "model" / "target.symbols.txt").is_file()
    card = (place / "run" / "model" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# ? → trees\n") and "vocabulary of 320 subwords, and 23 symbols for trees" in card


@pytest.mark.parametrize("flags", ["", "--no-constraint", "--beam 1", "--no-constraint --engine torch"])
def test_a_line_in_is_a_tree_out(place: Path, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = Run(monkeypatch, "parse")
    code, out, err = parse("--model", f"{place}/run/model", *flags.split(), stdin=LINES.encode())
    assert (code, err) == (0, "")
    printed = out.decode().split("\n")
    assert len(printed) == 5 and printed[1] == printed[4] == ""
    expected = [
        ["The", "cat", "sat", "on", "the", "mat", "."],
        ["개", "\u05d0", "e\u0301", "🐈"],
        ["Dogs", "bark", "."],
    ]
    assert [words(tree) for tree in read_trees(printed, "out")] == expected


def test_formats(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parse, model = Run(monkeypatch, "parse"), f"{place}/run/model"
    (tmp_path / "in.txt").write_text(LINES, encoding="utf-8")
    code, out, _ = parse(f"{tmp_path}/in.txt", "--model", model, "--tokenised", "--format", "json")
    lines = [json.loads(line) for line in out.decode().splitlines()]
    assert code == 0 and [line["id"] for line in lines] == [0, 1, 2, 3] and lines[1]["tree"] is None
    assert lines[3]["words"] == ["Dogs", "bark."] and lines[3]["score"] < 0 and lines[3]["repaired"] is False
    assert len(lines[0]["tags"]) == 7
    for format_, mark in (("draw", "Dogs"), ("svg", "<svg"), ("html", "<!doctype html>")):
        code, out, _ = parse("Dogs bark.", "--model", model, "--format", format_)
        assert code == 0 and mark in out.decode()


def test_a_line_beyond_the_limit_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = Run(monkeypatch, "parse")
    code, out, err = parse("--model", f"{place}/run/model", stdin=b"a " * 2000 + b"\nDogs bark\n")
    assert code == 0 and len(out.splitlines()) == 2 and out.count(b" a)") == 2000
    assert "line 1 has 2,000 words" in err and "its tree is flat" in err


def test_it_is_measured_with_and_without_the_constraint(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    evaluate, gold = Run(monkeypatch, "evaluate"), ("--gold", f"{place}/dev.mrg")
    found = f"{tmp_path}/parses.mrg"
    code, out, err = evaluate(*gold, "--model", f"{place}/run/model", "--json", "--out", found)
    assert (code, err) == (0, "")
    figures = json.loads(out)
    assert set(figures) == {"constrained", "unconstrained"}
    assert figures["constrained"]["repaired"] == 0 and figures["constrained"]["f1"] > 50
    assert figures["constrained"]["sentences"] == figures["unconstrained"]["sentences"] == 4
    _, out, _ = evaluate(*gold, "--parses", found, "--json")
    assert json.loads(out)["summary"]["f1"] == pytest.approx(figures["constrained"]["f1"])
    _, out, _ = evaluate(*gold, "--model", f"{place}/run/model")
    assert b"with the constraint: 0.00 % repaired, 0.00 % too long, F1 with the right tags " in out
    code, _, err = evaluate(*gold)
    assert code == 2 and "either --parses or --model" in err


def test_a_parser_does_not_translate_nor_a_translator_parse(
    place: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = f"{place}/run/model"
    code, _, err = Run(monkeypatch, "translate")("--model", model, "A text.")
    assert code == 2 and "is a parser, and can't translate; use it with `regard parse`" in err
    code, _, err = Run(monkeypatch, "parse")("--model", str(folder), "A text.")
    assert code == 2 and "translates, and can't parse" in err
    for format_ in ("huggingface", "onnx"):
        code, _, err = Run(monkeypatch, "export")("--model", model, "--to", format_, "--out", f"{place}/{format_}")
        assert code == 2 and ("is a parser" in err or "is for parsing" in err)


def test_a_smaller_parser_is_still_one(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = f"{tmp_path}/small"
    code, _, err = Run(monkeypatch, "export")("--model", f"{place}/run/model", "--to", "regard", "--out", small)
    assert code == 0, err
    assert "BLEU" not in (tmp_path / "small" / "README.md").read_text(encoding="utf-8")
    code, out, _ = Run(monkeypatch, "parse")("--model", small, "Dogs bark.")
    assert code == 0 and b" Dogs)" in out


def test_bleu_while_training_is_for_translation(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    train = f"--preset parsing-small --data {place}/data --out {tmp_path}/run --set train.bleu=true"
    code, _, err = Run(monkeypatch, "train")(*train.split())
    assert code == 2 and "train.bleu is for translation" in err
