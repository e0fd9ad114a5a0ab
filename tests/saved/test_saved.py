"""A saved model comes back as it was; anything else is one sentence, never a crash or a wrong model."""

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tests.support.saving import save_built

from regard.config.model import model_config
from regard.config.run import Config
from regard.errors import UserError
from regard.files import write_manifest
from regard.model.build import build
from regard.saved.folder import load_model

CONFIG = Config(model=model_config(vocabulary=30, encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    save_built(
        tmp_path / "모델",
        build(CONFIG),
        CONFIG,
        {"subwords.model": b"bytes"},
        languages=("en", "ko"),
        form="NFKC",
        card="# 카드\n",
    )
    return tmp_path / "모델"


def test_comes_back_as_it_was(saved: Path) -> None:
    torch.manual_seed(0)
    model = build(CONFIG).eval()
    back = load_model(saved)
    assert back.config == CONFIG.model and back.decode == CONFIG.decode
    assert back.languages == ("en", "ko") and back.form == "NFKC" and back.subwords == {"subwords.model": b"bytes"}
    assert (saved / "README.md").read_text(encoding="utf-8") == "# 카드\n"
    source, target = torch.randint(4, 30, (2, 5)), torch.randint(4, 30, (2, 4))
    assert torch.equal(back.model.features(source, target), model.features(source, target))
    assert not back.model.training
    assert sorted(path.name for path in saved.iterdir()) == [
        "README.md", "config.json", "manifest.json", "model.safetensors", "subwords.model",
    ]  # fmt: skip


def test_a_description_of_before_a_setting_existed_means_its_default(saved: Path) -> None:
    described = json.loads((saved / "config.json").read_bytes())
    del described["model"]["attention_dropout"]
    (saved / "config.json").write_text(json.dumps(described), encoding="utf-8")
    write_manifest(saved)
    assert load_model(saved).config == CONFIG.model


def test_half_precision_comes_back_as_float32(tmp_path: Path) -> None:
    model = build(CONFIG)
    save_built(tmp_path / "m", model, CONFIG, {}, storage="float16")
    back = load_model(tmp_path / "m")
    for name, tensor in back.model.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name].half().float())


def test_bytes_come_back_as_nearly_the_same_numbers(tmp_path: Path) -> None:
    model = build(CONFIG)
    with torch.no_grad():
        next(parameter for parameter in model.parameters() if parameter.dim() == 2)[0] = 0.0
    save_built(tmp_path / "m", model, CONFIG, {}, storage="int8")
    back = load_model(tmp_path / "m")
    assert back.storage == "int8"
    for name, tensor in back.model.state_dict().items():
        weight = model.state_dict()[name]
        if weight.dim() < 2:
            assert torch.equal(tensor, weight)
        else:
            step = weight.abs().amax(1, keepdim=True) / 127
            assert (tensor - weight).abs().le(step * 0.501).all(), name
    save_built(tmp_path / "again", back.model, CONFIG, {}, storage="int8")
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("m", "again"))
    matrices = [name for name in first if first[name].dim() > 1]
    assert {first[name].dtype for name in matrices} == {torch.int8}
    assert all(torch.equal(first[name], second[name]) for name in matrices), "rounded once, rounded for ever"


def test_bytes_without_their_scales_are_refused(tmp_path: Path) -> None:
    save_built(tmp_path / "m", build(CONFIG), CONFIG, {}, storage="int8")
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    scale = next(name for name in tensors if name.endswith(":scale"))
    save_file({**tensors, scale: tensors[scale][:-1].clone()}, path)
    write_manifest(tmp_path / "m")
    with pytest.raises(UserError, match=f"{scale} is .* where config.json asks for"):
        load_model(tmp_path / "m")
    description = json.loads((tmp_path / "m/config.json").read_text())
    (tmp_path / "m/config.json").write_text(json.dumps({**description, "weights": "int3"}))
    write_manifest(tmp_path / "m")
    with pytest.raises(UserError, match="weights must be float32 or float16 or int8"):
        load_model(tmp_path / "m")


def test_an_existing_folder_is_kept(saved: Path) -> None:
    before = (saved / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        save_built(saved, build(CONFIG), CONFIG, {})
    assert (saved / "manifest.json").read_bytes() == before
    save_built(saved, build(CONFIG), CONFIG, {}, replace=True)
    assert not (saved / "subwords.model").exists()
    assert [path.name for path in saved.parent.iterdir()] == [saved.name], "nothing is left beside it"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "subwords.model", "README.md"])
def test_a_flipped_byte_is_noticed(saved: Path, name: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(bytes(content))
    with pytest.raises(UserError, match=re.escape(name) + ".*checksum"):
        load_model(saved)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "manifest.json", "subwords.model"])
def test_a_missing_or_cut_file_is_noticed(saved: Path, name: str) -> None:
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[:-3])
    with pytest.raises(UserError, match=re.escape(name)):
        load_model(saved)
    (saved / name).unlink()
    with pytest.raises(UserError, match=re.escape(name)):
        load_model(saved)


def rewrite(saved: Path, **changes: object) -> None:
    """Change config.json and make the manifest agree, as someone hostile would."""
    description = json.loads((saved / "config.json").read_text())
    description.update(changes)
    (saved / "config.json").write_text(json.dumps(description))
    write_manifest(saved)


MODEL = CONFIG.model.model_dump()
HOSTILE = {
    "a newer format": ({"format": 99}, "format 99.*install the version"),
    "no format": ({"format": None}, "does not describe"),
    "an unknown key": ({"model": {**MODEL, "d_modle": 8}}, "d_modle.*did you mean 'model.d_model'"),
    "another size": ({"model": {**MODEL, "d_ff": 9}}, "belong to different models"),
    "absurdly large": ({"model": {**MODEL, "d_model": 16384, "d_k": 1, "d_v": 1}}, "belong to different models"),
    "more layers": ({"model": {**MODEL, "decoder_layers": 3}}, "missing where config.json asks for"),
    "a wrong type": ({"model": []}, "valid dictionary"),
    "no form": ({"form": "NFD"}, "form must be NFC or NFKC"),
    "no languages": ({"languages": 3}, "languages"),
    "bad languages": ({"languages": {"source": 3}}, "languages"),
    "a bad beam": ({"decode": {"beam": 0}}, "decode|beam"),
    "infinite": ({"decode": {"alpha": float("inf")}}, "alpha"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_description_is_refused(saved: Path, case: str) -> None:
    changes, message = HOSTILE[case]
    rewrite(saved, **changes)
    with pytest.raises(UserError, match=message):
        load_model(saved)


def test_hostile_weights_are_refused(saved: Path) -> None:
    whole = (saved / "model.safetensors").read_bytes()
    for content in (b"", b"\xff" * 64, whole[:100], b"\x10\x00\x00\x00\x00\x00\x00\x00{}" + b" " * 14, whole + b"x"):
        (saved / "model.safetensors").write_bytes(content)
        write_manifest(saved)
        with pytest.raises(UserError, match="safetensors|belong to different models"):
            load_model(saved)


def test_weights_that_are_not_numbers_are_refused(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    weights["embedding_VD"][3, 3] = float("nan")
    save_file(weights, saved / "model.safetensors")
    write_manifest(saved)
    with pytest.raises(UserError, match="embedding_VD.*not finite"):
        load_model(saved)


def test_not_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        load_model(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="no such folder"):
        load_model(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"manifest.json: no such file"):
        load_model(tmp_path / "empty")
    (tmp_path / "empty" / "model").mkdir()
    (tmp_path / "empty" / "model" / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match=r"is the folder of a run; give its model, .*empty/model$"):
        load_model(tmp_path / "empty")


def test_a_manifest_cannot_reach_outside(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["files"]["../../etc/passwd"] = {"size": 1, "sha256": "x"}
    (saved / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="outside its folder"):
        load_model(saved)


def test_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library hides what the system said; nothing is left behind."""

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("regard.saved.weights.save_file", full)
    config = Config(model=model_config(vocabulary=20, encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=1))
    with pytest.raises(UserError, match="model: No space left on device; make room there"):
        save_built(tmp_path / "model", build(config.model), config, {})
    assert not any(tmp_path.iterdir())
