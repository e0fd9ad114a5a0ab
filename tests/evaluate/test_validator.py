"""What tests/cli/test_train.py, where BLEU in training is that of `regard evaluate`, does not show: its mistakes."""

from pathlib import Path

import pytest

from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.evaluate.validator import bleu_validator


def prepared(folder: Path, *valid: str, **values: object) -> Prepared:
    for name in ("train", "valid"):
        lines = [f"{number * 7919:x} 개 {number * 104729:x}" for number in range(200)]
        (folder / f"{name}.tsv").write_text("".join(f"{line}\t{line}!\n" for line in lines), encoding="utf-8")
    corpora = {name: CorpusConfig(files=(str(folder / f"{name}.tsv"),)) for name in ("train", *valid)}
    config = PrepareConfig(vocabulary=300, **values)  # type: ignore[arg-type]
    prepare([corpora["train"]], [corpora[name] for name in valid], folder / "data", config, cores=1)
    return Prepared.open(folder / "data")


def test_a_validation_set_without_a_language(tmp_path: Path) -> None:
    """It is told before the first step, not at the first validation."""
    data = prepared(tmp_path, "valid", tags=("<2de>", "<2ko>"))
    with pytest.raises(UserError, match="its validation set does not say into which; .*--valid-tag"):
        bleu_validator(data, Config(), {})


def test_no_validation_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="valid.jsonl: missing, .*--valid"):
        bleu_validator(prepared(tmp_path), Config(), {})
