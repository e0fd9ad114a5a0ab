"""Table 2: what a run has cost and how good it is, from its folder."""

import shutil
from pathlib import Path

import pytest

from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.cost import cost
from regard.paper.table2 import as_markdown, mean_lengths, ours
from regard.train.log import records
from regard.train.loop import train
from regard.train.run import settle


@pytest.fixture(scope="module")
def run(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, out = Prepared.open(digits), tmp_path_factory.mktemp("runs") / "x"
    values = {"model": {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}}
    steps = {"steps": 4, "batch_tokens": 150, "checkpoint_every": 4, "log_every": 4}
    train(settle(Config.model_validate({**values, "train": steps}), data), data, out)
    return out


def test_operations_are_those_of_the_tokens_seen(run: Path, data: Prepared) -> None:
    found = ours(run, None)
    tokens = [record["tokens"] for record in records(run / "log.jsonl") if record["event"] == "train"][-1]
    source, target = mean_lengths(data)
    lengths = [sum(len(side) + 1 for side in data.train[0].pair(number)) for number in range(len(data.train[0]))]
    assert source + target == pytest.approx(sum(lengths) / len(lengths), abs=1), "the two are rounded"
    config = settle(Config.model_validate({"model": {"d_model": 16, "d_ff": 16, "heads": 2}}), data)
    one_layer = config.model.model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
    assert found.tokens == tokens and found.steps == 4
    expected = 3 * cost(one_layer, source, target).forward_flops * tokens / (source + target)
    assert found.flops == pytest.approx(expected)
    assert found.bleu is None and found.measured_on is None
    assert str(run) in as_markdown([found])


def test_bleu_on_a_test(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("en 12\nko 34\n", encoding="utf-8")
    (tmp_path / "b").write_text("one two\n삼 사\n", encoding="utf-8")
    found = ours(run, (str(tmp_path / "a"), str(tmp_path / "b")))
    assert found.bleu is not None and 0 <= found.bleu <= 100
    assert found.signature is not None and found.signature in as_markdown([found])


def test_the_data_may_be_gone(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    text = (copy / "run.toml").read_text()
    (copy / "run.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("data")))
    assert ours(copy, None).flops == pytest.approx(ours(run, None).flops, rel=0.3)


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a finished training run"):
        ours(tmp_path, None)
