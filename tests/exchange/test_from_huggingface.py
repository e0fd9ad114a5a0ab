"""A Marian folder made by transformers, imported: the same ids, the same logits, and translations come out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.exchange.marian import ENGLISH, ODD, ids, logits, marian, publish, tokenizer, trained

from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.engines.engine import quiet
from regard.errors import UserError
from regard.exchange.from_huggingface import import_huggingface
from regard.saved.folder import load_model
from regard.text.normalise import normalise
from regard.translate.translator import Options, Translator

VARIANTS = {
    "as OPUS-MT": {},
    "without a bias": {"bias": False},
    "two vocabularies": {"separate": True},
    "untied": {"tie_word_embeddings": False},
    "unscaled embeddings": {"scale_embedding": False, "activation_function": "gelu"},
    "pieces that the list lacks": {"left_out": ("▁the", "▁사과를")},
    "several files": {"shards": "8KB"},
}


@pytest.fixture(scope="module", params=VARIANTS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Marian's folder and ours."""
    place = tmp_path_factory.mktemp("exchange")
    publish(place / "marian", **VARIANTS[request.param])
    import_huggingface(place / "marian", place / "ours")
    return place / "marian", place / "ours"


def their_ids(folder: Path, name: str, ours: Translator, side: str) -> list[int]:
    """Of each of our ids, theirs, by the names of the pieces."""
    path = folder / name
    numbers = json.loads((path if path.exists() else folder / "vocab.json").read_text(encoding="utf-8"))
    subwords = ours.source_subwords if side == "source" else ours.target_subwords
    pieces = subwords.pieces(range(subwords.size))
    return [numbers["<pad>"], *(numbers.get(piece, numbers["<unk>"]) for piece in pieces[1:])]


def test_text_has_the_same_ids(pair: tuple[Path, Path]) -> None:
    theirs, ours = tokenizer(pair[0]), Translator(load_model(pair[1]))
    for side, subwords in (("source", ours.source_subwords), ("target", ours.target_subwords)):
        name = "vocab.json" if side == "source" else "target_vocab.json"
        same = their_ids(pair[0], name, ours, side)
        for texts in (ODD, [normalise(text) for text in ODD]):
            expected = ids(theirs, texts, target=side == "target")
            assert [[same[number] for number in row] for row in subwords.encode(texts)] == expected


def test_logits_are_the_same(pair: tuple[Path, Path]) -> None:
    saved = load_model(pair[1])
    translator = Translator(saved)
    source_map = torch.tensor(their_ids(pair[0], "vocab.json", translator, "source"))
    target_map = torch.tensor(their_ids(pair[0], "target_vocab.json", translator, "target"))
    pad = json.loads((pair[0] / "config.json").read_text())["pad_token_id"]
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, len(source_map), (3, 9), generator=generator)
    source[0, 5:], source[1, 8:] = PAD, PAD
    target = torch.randint(4, len(target_map), (3, 6), generator=generator)
    target[:, 0] = BOS
    there = target_map[target]
    there[:, 0] = pad
    expected = logits(marian(pair[0]), source_map[source], there, pad)[..., target_map]
    with torch.no_grad():
        found = saved.model.logits(saved.model.features(source, target))
    spoken = [number for number in range(len(target_map)) if number != BOS and target_map[number] != target_map[UNK]]
    assert torch.allclose(found[..., spoken], expected[..., spoken], atol=1e-4), (found - expected).abs().max()
    assert (found[..., BOS] < -1000).all(), "what Marian has not stays silent, so the others' probabilities are its own"
    assert torch.allclose(found.logsumexp(-1), expected[..., [*spoken, UNK]].logsumexp(-1), atol=1e-4)


def test_greedy_search_finds_the_same(pair: tuple[Path, Path]) -> None:
    translator = Translator(load_model(pair[1]))
    theirs, model = tokenizer(pair[0]), marian(pair[0])
    same = their_ids(pair[0], "target_vocab.json", translator, "target")
    request = translator.request(Options(beam=1, extra_length=3))
    for text in filter(None, map(normalise, ODD)):
        source = translator.source_subwords.encode([text])[0]
        found = translator.engine.search([source], request, quiet)[0][0]
        written = model.generate(  # type: ignore[misc]
            **theirs([text], return_tensors="pt"),
            num_beams=1,
            max_new_tokens=len(source) + 3,
            suppress_tokens=[model.config.pad_token_id, theirs.unk_token_id],
        )[0].tolist()
        assert [same[token] for token in found.tokens if token != EOS] == [token for token in written[1:] if token]
        expected = theirs.decode(written, skip_special_tokens=True)
        assert translator.target_subwords.decode(found.tokens) == expected


def test_the_model_belongs_to_its_languages_and_searches_as_it_did(tmp_path: Path) -> None:
    publish(tmp_path / "marian")
    (tmp_path / "marian" / "generation_config.json").write_text('{"num_beams": 6, "length_penalty": 0.5}')
    (tmp_path / "marian" / "README.md").write_text("# 그들의 카드\n", encoding="utf-8")
    import_huggingface(tmp_path / "marian", tmp_path / "ours")
    saved = load_model(tmp_path / "ours")
    assert saved.languages == ("en", "ko") and saved.form == "NFC"
    assert (saved.decode.beam, saved.decode.alpha, saved.decode.penalty) == (6, 0.5, "average")
    assert "# 그들의 카드" in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")


def test_a_bias_that_is_not_there_is_none(tmp_path: Path) -> None:
    publish(tmp_path / "zero", bias=False)
    shutil.copytree(tmp_path / "zero", tmp_path / "none")
    _weights(lambda weights: weights.pop("final_logits_bias"))(tmp_path / "none")
    for name in ("zero", "none"):
        import_huggingface(tmp_path / name, tmp_path / f"ours-{name}")
    zero, none = (load_file(tmp_path / f"ours-{name}" / "model.safetensors") for name in ("zero", "none"))
    assert all(torch.equal(zero[name], none[name]) for name in zero)


def test_languages_become_tags(tmp_path: Path) -> None:
    publish(tmp_path / "marian", languages=(">>kor<<", ">>cmn_Hans<<"))
    import_huggingface(tmp_path / "marian", tmp_path / "ours")
    ours, theirs = Translator(load_model(tmp_path / "ours")), tokenizer(tmp_path / "marian")
    assert ours.source_subwords.tags == ("<2kor>", "<2cmn_Hans>")
    numbers = json.loads((tmp_path / "marian" / "vocab.json").read_text(encoding="utf-8"))
    found = [*ours.tag("kor"), *ours.source_subwords.encode(["12 apples"])[0]]
    pieces = [f">>{piece[2:-1]}<<" if piece.startswith("<2") else piece for piece in ours.source_subwords.pieces(found)]
    assert [numbers[piece] for piece in pieces] == ids(theirs, [">>kor<< 12 apples"])[0]


def _config(changes: dict[str, Any]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return change


def _weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return rewrite


def _as_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _shards_elsewhere(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    index = {"weight_map": {"lm_head.weight": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "another kind": (_config({"model_type": "bart"}), "model_type is 'bart'"),
    "pre-norm": (_config({"normalize_before": True}), "normalize_before is True"),
    "trained positions": (_config({"static_position_embeddings": False}), "static_position_embeddings is False"),
    "unequal halves": (_config({"decoder_ffn_dim": 7}), "ffn_dim differ"),
    "no number": (_config({"pad_token_id": None}), "pad_token_id must be"),
    "an unknown activation": (_config({"activation_function": "mish"}), "config.json: activation"),
    "no size": (_config({"d_model": "x"}), "config.json.*d_model"),
    "too large": (_config({"d_model": 1 << 14, "encoder_attention_heads": 4}), "where config.json asks for"),
    "a pickle": (_as_pickle, "pickle, which regard never opens"),
    "weights outside": (_shards_elsewhere, "names no files"),
    "a missing tensor": (
        _weights(lambda w: w.pop("model.encoder.layers.0.fc1.bias")),
        "fc1.bias is missing where config.json asks for",
    ),
    "not a number": (_weights(lambda w: w["model.encoder.layers.0.fc1.bias"].fill_(torch.nan)), "not finite"),
    "an endless bias": (_weights(lambda w: w["final_logits_bias"].fill_(-torch.inf)), "not finite"),
    "other positions": (
        _weights(lambda w: w.update({"model.encoder.embed_positions.weight": torch.ones(4, 16)})),
        "not sinusoids",
    ),
    "damaged weights": (lambda f: (f / "model.safetensors").write_bytes(b"x" * 99), "not readable as safetensors"),
    "no subwords": (lambda f: (f / "source.spm").unlink(), "source.spm: missing"),
    "damaged subwords": (lambda f: (f / "source.spm").write_bytes(b"\x0a\xff"), "not a sentencepiece model"),
    "a BPE model": (
        lambda f: (f / "source.spm").write_bytes(trained(ENGLISH, 90, model_type="bpe")),
        "not a unigram model",
    ),
    "defined symbols": (
        lambda f: (f / "source.spm").write_bytes(trained(ENGLISH, 90, user_defined_symbols=["☃"])),
        "symbols that somebody defined",
    ),
    "a list": (lambda f: (f / "vocab.json").write_text("[]"), "not a list of pieces"),
    "twice": (lambda f: (f / "vocab.json").write_text('{"<unk>": 1, "a": 1}'), "same number"),
    "no <unk>": (lambda f: (f / "vocab.json").write_text('{"a": 1}'), "no <unk>"),
    "no text": (lambda f: (f / "vocab.json").write_text('{"<unk>": 1, "\\ud800": 2}'), "no text"),
    "languages of another kind": (_config({"regard": {"languages": 3, "decode": {"beam": 0}}}), "config.json: beam"),
    "no beam": (
        lambda f: (f / "generation_config.json").write_text('{"num_beams": 0}'),
        "generation_config.json: beam",
    ),
    "numbers beyond": (
        lambda f: (f / "vocab.json").write_text('{"<unk>": 1, "a": 9999}'),
        "too few for the vocabulary",
    ),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "marian"
    publish(folder)
    return folder


@pytest.mark.parametrize("name", HOSTILE)
def test_what_can_not_be_kept_is_refused(published: Path, tmp_path: Path, name: str) -> None:
    change, reason = HOSTILE[name]
    shutil.copytree(published, tmp_path / "marian")
    change(tmp_path / "marian")
    with pytest.raises(UserError, match=reason):
        import_huggingface(tmp_path / "marian", tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
