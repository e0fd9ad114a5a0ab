"""The commands on the models that the Transformer is compared with, as a person types them."""

import json
from pathlib import Path

import pytest
from tests.support.command import Run, regard

from regard.train.log import records

STEPS = ["train.batch_tokens=200", "train.checkpoint_every=2", "train.steps=4", "train.average_last=2"]


@pytest.mark.parametrize(
    "name",
    ["lstm-attention", "gru", "rnn-additive", "gnmt", "moe-lstm", "deep-att", "convs2s", "bytenet", "feedforward"],
)
def test_train_translate_evaluate_and_score(
    name: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = [word for setting in (*STEPS, "model.d_model=16", "train.bleu=true") for word in ("--set", setting)]
    out = tmp_path / "run"
    regard("train", "--preset", name, "--data", str(data), "--out", str(out), *settings)
    last = [record for record in records(out / "log.jsonl") if record["event"] == "validation"][-1]
    assert last["step"] == 4 and "bleu" in last

    model = ["--model", str(out / "model")]
    asked = ["--n-best", "2", "--format", "jsonl", "--alignment", "--force"]
    code, lines, err = Run(monkeypatch, "translate")(*model, *asked, stdin="number 7\n번 호 👩‍👧\n".encode())
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in lines.decode().splitlines()]
    assert [len(one["n_best"]) for one in found] == [2, 2]
    (tmp_path / "source").write_text("number 7\nnumber 8\n")
    (tmp_path / "reference").write_text("7 번\n8 번\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference")]
    figures = json.loads(regard("evaluate", *model, *files, "--json"))
    assert figures["perplexity"] > 1 and 0 <= figures["bleu"] <= 100
    assert len(regard("score", *model, "--source", files[1], "--target", files[3]).splitlines()) == 2
    code, _, err = Run(monkeypatch, "export")(*model, "--to", "ctranslate2")
    assert code == 2 and "not a Transformer" in err
