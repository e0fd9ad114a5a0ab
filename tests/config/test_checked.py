"""Descriptions are checked, frozen, and say what is wrong with them."""

import pytest
from pydantic import ValidationError

from regard.config.checked import check
from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.presets import preset
from regard.errors import UserError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"droput": 0.1}}, "unknown key 'model.droput'; did you mean 'model.dropout'?"),
        ({"train": {"dropout": 0.1}}, "unknown key 'train.dropout'; did you mean 'model.dropout'?"),
        ({"model": {"steps": 9}}, "unknown key 'model.steps'; did you mean 'train.steps'?"),
        ({"modle": {"dropout": 0.1}}, "unknown key 'modle'; did you mean 'model'?"),
        ({"model": {"dropout": 1.0}}, "model.dropout: Input should be less than 1, not 1.0"),
        ({"model": {"dropout": "lots"}}, "model.dropout: .*number.*, not 'lots'"),
        ({"model": {"dropout": float("nan")}}, "model.dropout: .*finite"),
        ({"model": {"d_model": 10, "heads": 3}}, "d_model 10 is not a multiple of heads 3"),
        ({"model": {"positions": "sinusoid"}}, "model.positions: .*'sinusoidal'.*, not 'sinusoid'"),
        ({"model": {"positions": "rotary", "d_k": 5}}, "d_k must be even, not 5"),
        ({"model": {"architecture": "recurrent", "next_word": True}}, "a recurrent model has no next_word"),
        ({"model": {"source_vocabulary": 9, "share_embeddings": True}}, "two vocabularies"),
        ({"model": {"kernel": 5}}, "a transformer model has no kernel; leave it out"),
        ({"model": {"architecture": "recurrent", "heads": 4}}, "a recurrent model has no heads; leave it out"),
        ({"model": {"architecture": "recurrent", "positions": "learned"}}, "a recurrent model has no positions"),
        ({"model": {"architecture": "recurrent", "d_model": 9}}, "d_model, so it must be even, not 9"),
        ({"model": {"architecture": "dilated", "cell": "gru"}}, "a dilated model has no cell; leave it out"),
        ({"model": {"architecture": "convolutional", "positions": "rotary"}}, "'learned' or 'none', not 'rotary'"),
        ({"model": {"architecture": "feedforward", "positions": "relative"}}, "'learned' or 'none', not 'relative'"),
        ({"model": 3}, "model: .*dictionary"),
        ({"train": {"schedule": "cosine"}}, "peak_rate"),
        ({"train": {"peak_rate": 0.1}}, "peak_rate"),
        ({"train": {"best": "bleu"}}, "train: best = 'bleu' needs BLEU to be computed; set bleu = true as well"),
        ({"train": {"steps": 0}}, "train.steps: .*greater than or equal to 1"),
    ],
)
def test_a_mistake_is_named(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        preset("base", **changes)
    assert "\n" not in str(caught.value) and str(caught.value).startswith("preset base: ")


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        model_config().dropout = 0.5  # type: ignore[misc]


def test_check_names_its_origin() -> None:
    with pytest.raises(UserError, match="^here: beam: "):
        check(DecodeConfig, {"beam": -1}, "here")
