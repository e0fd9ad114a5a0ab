"""What tests/cli/test_train.py, where BLEU in training is that of `regard evaluate`, does not show: its mistakes."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.engines import Echo
from tests.support.models import sentences

from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.data.prepared import Prepared, RawPair
from regard.errors import UserError
from regard.evaluate.validator import bleu_validator, translate_sources
from regard.saved.folder import LoadedModel
from regard.text.subwords import Subwords
from regard.translate.translator import Translator


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


def test_trees_have_no_bleu(tmp_path: Path) -> None:
    data = prepared(tmp_path, "valid")
    bleu_validator(data, Config(), {})
    data.config = data.config.model_copy(update={"task": "parsing"})
    with pytest.raises(UserError, match="is for parsing, but train.bleu is for translation; unset it"):
        bleu_validator(data, Config(), {})


def test_each_pair_is_translated_into_the_language_of_its_tag(saved: LoadedModel) -> None:
    """In the order in which they come, each with its tag before it."""
    tagged, echo = Subwords.train(sentences(), 400, tags=("<2de>", "<2ko>")), Echo()
    both = Translator(replace(saved, languages=(None, None), subwords={"subwords.model": tagged.content}), echo)
    tags = ["<2de>", "<2de>", "<2ko>", "<2de>"]
    pairs = [RawPair(f"text {number}", "", tag) for number, tag in enumerate(tags)]
    assert translate_sources(both, pairs) == [pair.source for pair in pairs]
    said = {tagged.decode(ids): ids[0] for ids in echo.asked}
    assert [said[pair.source] for pair in pairs] == [tagged.tag(tag) for tag in tags]
