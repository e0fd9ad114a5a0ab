"""Descriptions are checked, frozen, and say what is wrong with them."""

from typing import Any

import pytest
from pydantic import ValidationError

from regard.config.checked import Frozen, check, keys, similar
from regard.config.data import PrepareConfig
from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.other_names import _OTHERS
from regard.config.presets import preset, settings
from regard.config.run import Config
from regard.errors import UserError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"droput": 0.1}}, "unknown key 'model.droput'; did you mean 'model.dropout'?"),
        ({"train": {"dropout": 0.1}}, "unknown key 'train.dropout'; did you mean 'model.dropout'?"),
        ({"model": {"steps": 9}}, "unknown key 'model.steps'; did you mean 'train.steps'?"),
        ({"train": {"lr": 0.1}}, "unknown key 'train.lr'; did you mean 'train.peak_rate'?"),
        ({"train": {"max-update": 9}}, "unknown key 'train.max-update'; did you mean 'train.steps'?"),
        ({"train": {"hidden_size": 9}}, "unknown key 'train.hidden_size'; did you mean 'model.d_model'?"),
        ({"decode": {"num_beams": 9}}, "unknown key 'decode.num_beams'; did you mean 'decode.beam'?"),
        ({"modle": {"dropout": 0.1}}, "unknown key 'modle'; did you mean 'model'?"),
        ({"trian": {"stpes": 9}}, "unknown key 'trian'; did you mean 'train'?"),
        ({"train": {"learningrate": 9}}, "unknown key 'train.learningrate'; did you mean 'train.peak_rate'?"),
        ({"train": {"nope": 9}}, r"unknown key 'train.nope'; the keys are described in /.*/regard/config/train\.py$"),
        ({"model": {"nope": 9}}, "unknown key 'model.nope'; the keys are described in /.*/regard/config$"),
        ({"decode": {"length": 9}}, r"unknown key 'decode.length'; the keys are described in /.*/config/decode\.py$"),
        ({"nope": 9}, r"unknown key 'nope'; the keys are described in /.*/regard/config/run\.py$"),
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
        ({"model": {"architecture": "gnmt", "encoder_layers": 1}}, "greater than or equal to 2"),
        ({"model": {"architecture": "gnmt", "d_ff": 9}}, "d_ff is the inner size of experts, and there are none"),
        ({"model": {"active_experts": 2}}, "active_experts needs experts"),
        ({"model": {"experts": 3}}, "of 3 experts a token can't use 4; lower active_experts"),
        ({"model": {"experts": 4, "activation": "gelu"}}, "experts have relu, not gelu"),
        ({"model": {"mixing": "performer", "experts": 4}}, "a performer model has no experts"),
        ({"model": {"architecture": "recurrent", "d_model": 9}}, "d_model, so it must be even, not 9"),
        ({"model": {"architecture": "dilated", "cell": "gru"}}, "a dilated model has no cell; leave it out"),
        ({"model": {"architecture": "convolutional", "positions": "rotary"}}, "'learned' or 'none', not 'rotary'"),
        ({"model": {"architecture": "feedforward", "positions": "relative"}}, "'learned' or 'none', not 'relative'"),
        ({"model": 3}, "model: .*dictionary"),
        ({"train": {"schedule": "cosine"}}, "peak_rate"),
        ({"train": {"peak_rate": 0.1}}, "peak_rate"),
        ({"train": {"best": "bleu"}}, "train: best = 'bleu' needs translations of .*; set bleu = true as well"),
        ({"train": {"best": "chrf"}}, "train: best = 'chrf' needs translations of .*; set bleu = true as well"),
        ({"train": {"samples": 4}}, "samples goes with objective = 'reward'"),
        ({"train": {"likelihood_weight": 1.0}}, "likelihood_weight goes with objective = 'reward'"),
        ({"train": {"objective": "reward", "samples": 1}}, "train.samples: .*greater than or equal to 2"),
        ({"train": {"steps": 0}}, "train.steps: .*greater than or equal to 1"),
    ],
)
def test_a_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        preset("base", **changes)
    assert "\n" not in str(caught.value) and str(caught.value).startswith("preset base: ")


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        model_config().dropout = 0.5  # type: ignore[misc]


def test_check_names_its_origin() -> None:
    with pytest.raises(UserError, match="^here: beam: "):
        check(DecodeConfig, {"beam": -1}, "here")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("lr", "train.peak_rate"), ("batch", "train.batch_tokens"), ("max_steps", "train.steps"),
        ("warmup_updates", "train.warmup"), ("update-freq", "train.accumulate"), ("dim-emb", "model.d_model"),
        ("steps", "train.steps"), ("enc-depth", "model.encoder_layers"),
        ("per_device_train_batch_size", "train.batch_tokens"),
    ],
)  # fmt: skip
def test_a_bare_name_and_those_of_other_toolkits_get_what_was_meant(name: str, ours: str) -> None:
    with pytest.raises(UserError, match=f"does not set anything; .*; did you mean '{ours}'"):
        settings([f"{name}=3"])


def test_every_setting_that_has_other_names_exists_and_no_name_is_ours_or_given_twice() -> None:
    known = [*keys(Config), *keys(PrepareConfig)]
    names = [name for ours, others in _OTHERS.items() if "." in ours for name in others.split()]
    assert set(_OTHERS) <= set(known)
    assert len(names) == len(set(names)) and not set(names) & {key.rpartition(".")[2] for key in keys(Config)}


@pytest.mark.parametrize("word", ["nope", "foo", "오늘", "optimizer", "x" * 300, "🎉", "", "save", "checkpoint"])
def test_a_word_that_is_near_to_no_key_gets_no_suggestion(word: str) -> None:
    for section in ("train", "model", "decode", "nothing"):
        assert "did you mean" not in similar(f"{section}.{word}", Config)


def test_of_two_keys_of_one_name_that_of_the_section_is_meant() -> None:
    class Part(Frozen):
        width: int = 1

    class Whole(Frozen):
        one: Part = Part()
        two: Part = Part()

    assert similar("two.widht", Whole) == "; did you mean 'two.width'?"
    assert similar("one.widht", Whole) == "; did you mean 'one.width'?"


def test_the_name_of_a_vocabulary_in_preparation() -> None:
    with pytest.raises(UserError, match="did you mean 'vocabulary'"):
        check(PrepareConfig, {"vocab_size": 9}, "here")
