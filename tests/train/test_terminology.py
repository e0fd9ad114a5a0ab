"""`train.terminology`: which pairs are shown terms, and what a run and a model say of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.training import with_train

from regard.config.run import Config
from regard.config.special_tokens import BOS
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.saved.saved_model import read_saved
from regard.train.loop import train
from regard.train.run import settle
from regard.train.terminology import with_terms


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    """`en` stands for a number's first word here, so that it is in some targets and not in others."""
    file = tmp_path / "terms.tsv"
    file.write_text("en\tone\nko\t일\nen\ttwo\nzz\tnine\n", encoding="utf-8")
    return file


def test_pairs_with_a_term_on_both_sides_come_again_with_it(data: Prepared, terms: Path) -> None:
    *plain, shown = with_terms(data, str(terms))
    assert tuple(plain) == data.train == with_terms(data, None)
    subwords, wanted = data.source_subwords, []
    for split in data.train:
        for number in range(len(split)):
            source, target = split.pair(number)
            words = data.target_subwords.decode(target.tolist()).split()
            language, *_ = subwords.decode(source.tolist()).split()
            choices = {"en": ["one", "two"], "ko": ["일"]}[language]
            term = next((one for one in choices if one in words), None)
            if term is not None:
                mark = len(subwords.encode([language])[0])
                ids = source.tolist()
                wanted.append([*ids[:mark], BOS, *subwords.encode([term])[0], BOS, *ids[mark:]])
    found = [shown.pair(number) for number in range(len(shown))]
    assert [source.tolist() for source, _ in found] == wanted
    assert 0 < len(wanted) < len(data.train[0])
    lengths = [side.tolist() for side in shown.lengths(np.arange(len(shown)))]
    assert lengths == [[len(pair[side]) for pair in found] for side in (0, 1)]


def test_a_run_with_terms_says_so_and_resumes_with_the_same_glossary_only(
    config: Config, data: Prepared, terms: Path, tmp_path: Path
) -> None:
    shown = settle(with_train(config, steps=4, terminology=str(terms)), data)
    model = train(shown, data, tmp_path / "run")
    assert read_saved(model).terminology
    assert json.loads((model / "config.json").read_bytes())["terminology"] is True
    longer = settle(with_train(config, steps=8, terminology=str(terms)), data)
    terms.write_text("en\tone\n", encoding="utf-8")
    with pytest.raises(UserError, match="not the data that"):
        train(longer, data, tmp_path / "run")
    plain = train(settle(with_train(config, steps=4), data), data, tmp_path / "plain")
    assert not read_saved(plain).terminology
    assert "terminology" not in json.loads((plain / "config.json").read_bytes())
    assert (plain / "model.safetensors").read_bytes() != (model / "model.safetensors").read_bytes()


def test_a_glossary_without_effect_is_refused(data: Prepared, tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("zz\tnine\n", encoding="utf-8")
    with pytest.raises(UserError, match="no training pair has one of these terms"):
        with_terms(data, str(file))
    with pytest.raises(UserError, match="none.tsv"):
        with_terms(data, str(tmp_path / "none.tsv"))
