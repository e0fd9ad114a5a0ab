"""The commands on what came after the paper, as a person types them."""

import json
from pathlib import Path

import pytest
from tests.support.command import Run, regard, small

TEXTS = "number 7\n\n번 호 👩‍👧 שלום\n".encode()
LAYERS = ("encoder_layers", "decoder_layers")


def without(*layers: str) -> list[str]:
    """Small settings of a model that lacks a stack."""
    words = small()
    return [word for word in words if word != "--set" and not any(name in word for name in layers)]


def settings(*chosen: str) -> list[str]:
    return [word for setting in chosen for word in ("--set", setting)]


@pytest.fixture(scope="module")
def plain(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plain") / "run"
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(out), *small())
    return out / "model"


def test_heads_are_given_to_a_trained_model(
    plain: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = settings("model.blocks=4", "train.steps=6", "train.batch_tokens=200", "train.checkpoint_every=3")
    out = tmp_path / "blocks"
    regard("train", "--from", str(plain), *steps, "--data", str(data), "--out", str(out))
    translate = Run(monkeypatch, "translate")
    code, greedy, _ = translate("--model", str(plain), "--beam", "1", "--engine", "torch", stdin=TEXTS)
    assert code == 0
    code, blockwise, _ = translate("--model", str(out / "model"), "--decoding", "blockwise", stdin=TEXTS)
    assert code == 0 and blockwise == greedy and blockwise.count(b"\n") == 3
    _, lines, _ = translate("--model", str(out / "model"), "--decoding", "blockwise", "--format", "jsonl", stdin=TEXTS)
    output = json.loads(lines.splitlines()[0])["sentences"][0]["outputs"][0]
    assert len(output["steps"]) == len(output["tokens"]) + 1 and output["steps"] == sorted(output["steps"])
    code, _, err = translate("--model", str(plain), "--decoding", "blockwise", stdin=TEXTS)
    assert code == 2 and "model.blocks=4" in err
    code, _, err = translate("--model", str(out / "model"), "--decoding", "blockwise", "--beam", "4", stdin=TEXTS)
    assert code == 2 and "a beam" in err
    code, _, _ = translate("--model", str(out / "model"), "--beam", "2", stdin=TEXTS)
    assert code == 0, "without blockwise decoding it is the model that it was"
    seen = json.loads(regard("look", "number 7", "--model", str(out / "model"), "--decoding", "blockwise",
                             "--format", "json"))  # fmt: skip
    assert len(seen["sentences"][0]["steps"]) == len(seen["sentences"][0]["target"]["tokens"])


def test_heads_without_a_trained_model_are_rejected(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = Run(monkeypatch, "train")(
        "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small("model.blocks=4")
    )
    assert code == 2 and "--from" in err


def test_mask_predict_writes_in_iterations(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    regard("train", "--preset", "mask-predict", "--data", str(data), "--out", str(out), *small("train.bleu=true"))
    model = ["--model", str(out / "model")]
    translate = Run(monkeypatch, "translate")
    code, lines, err = translate(
        *model, "--decoding", "mask-predict", "--iterations", "4", "--format", "jsonl", "--force", stdin=TEXTS
    )
    assert (code, err) == (0, "")
    output = json.loads(lines.splitlines()[0])["sentences"][0]["outputs"][0]
    assert 1 <= max(output["steps"]) <= 4
    code, default, _ = translate(*model, stdin=TEXTS)
    assert code == 0 and default.count(b"\n") == 3, "it is the model's own way"
    for wrong in (["--decoding", "search"], ["--ban", "x"], ["--alpha", "1"], ["--sample"]):
        assert translate(*model, *wrong, stdin=TEXTS)[0] == 2, wrong
    (tmp_path / "source").write_text("number 7\n")
    (tmp_path / "reference").write_text("7 번\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference")]
    assert json.loads(regard("evaluate", *model, *files, "--iterations", "2", "--json"))["perplexity"] > 1
    seen = json.loads(regard("look", "number 7", *model, "--iterations", "3", "--format", "json"))
    assert max(seen["sentences"][0]["steps"]) <= 3


@pytest.mark.parametrize(
    ("preset", "chosen"),
    [("tiny", ["model.mixing=mamba"]), ("tiny", ["model.mixing=mixer"]), ("decoder-only", ["model.decoder_layers=2"])],
)
def test_other_models_train_and_translate(
    preset: str, chosen: list[str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    sizes = without("encoder_layers") if preset == "decoder-only" else without()
    regard("train", "--preset", preset, "--data", str(data), "--out", str(out), *settings(*sizes, *chosen))
    code, lines, err = Run(monkeypatch, "translate")("--model", str(out / "model"), "--beam", "2", stdin=TEXTS)
    assert code == 0 and lines.count(b"\n") == 3, err


def test_labels_from_texts_to_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("참 좋은 날이다 🙂", "good"), ("아주 나쁜 날이다", "bad")] * 2
    rows += [(f"{word} 날 {n} שלום", label) for n in range(40) for word, label in (("좋은", "good"), ("나쁜", "bad"))]
    texts = tmp_path / "texts.tsv"
    texts.write_text("".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    data, out = tmp_path / "data", tmp_path / "run"
    regard("prepare", "--task", "labels", "--train", str(texts), "--valid", str(texts), "--out", str(data))
    sizes = settings(*without("decoder_layers"), "train.steps=60", "train.peak_rate=0.01", "model.dropout=0.0",
                     "train.warmup=5", "train.checkpoint_every=30")  # fmt: skip
    regard("train", "--preset", "encoder-only", "--data", str(data), "--out", str(out), *sizes)
    classify = Run(monkeypatch, "classify")
    code, lines, _ = classify("--model", str(out / "model"), stdin="좋은 날 3\n\n나쁜 날 5\n".encode())
    assert code == 0 and lines.decode().split("\n") == ["good", "", "bad", ""]
    found = json.loads(regard("classify", "--model", str(out / "model"), "좋은 날 3", "--json"))
    assert found["label"] == "good" and abs(sum(found["probabilities"].values()) - 1) < 1e-5
    tested = ["--test", str(texts), "--baseline", str(texts), "--json"]
    figures = json.loads(regard("classify", "--model", str(out / "model"), *tested))
    assert figures["model"]["macro_f1"] > 0.95 and figures["naive Bayes"]["macro_f1"] == 1.0
    code, _, err = Run(monkeypatch, "translate")("--model", str(out / "model"), stdin=b"x\n")
    assert code == 2 and "regard classify" in err
    code, _, err = classify("--model", "en-de", stdin=b"x\n")
    assert code == 2 and "has no labels" in err


def test_a_label_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tmp_path / "texts.tsv"
    texts.write_text("good day\tvery good\nbad day\tbad\n")
    code, _, err = Run(monkeypatch, "prepare")(
        "--task", "labels", "--train", str(texts), "--out", str(tmp_path / "data")
    )
    assert code == 2 and "'very good'" in err and "one word" in err


def test_an_encoder_starts_a_translation_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from safetensors.torch import load_file

    first, second = tmp_path / "encoder", tmp_path / "model"
    regard("train", "--preset", "encoder-only", "--data", str(data), "--out", str(first),
           *settings(*without("decoder_layers")))  # fmt: skip
    rate = settings("train.steps=5", "train.peak_rate=1e-9")
    regard("train", "--preset", "tiny", "--from", str(first / "model"), "--data", str(data), "--out", str(second),
           *small(), *rate)  # fmt: skip
    before, after = (load_file(run / "model" / "model.safetensors") for run in (first, second))
    assert any(name.startswith("decoder.") for name in after)
    for name in ("embedding_VD", "encoder.0.attention.query.weight", "encoder.0.feed_forward.inner.weight"):
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)
    code, _, err = Run(monkeypatch, "translate")("--model", str(first / "model"), stdin=b"x\n")
    assert code == 2 and "writes no text" in err
