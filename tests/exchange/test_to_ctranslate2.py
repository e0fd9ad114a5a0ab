import json
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.model import model_config
from regard.config.presets import preset
from regard.config.run import Config
from regard.errors import UserError
from regard.exchange import to_ctranslate2
from regard.exchange.to_ctranslate2 import Quantization, export_ctranslate2, inconvertible, positions
from regard.files import check_manifest, write_manifest
from regard.saved.folder import LoadedModel, as_arrays, load_model
from regard.text.subwords import Subwords
from regard.translate.translator import Translator


@pytest.fixture
def folder(saved: LoadedModel, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    config = Config(model=saved.config, decode=saved.decode)
    save_built(path, saved.model, config, saved.subwords, languages=saved.languages, card="# 한국어 card\n")
    return path


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"norm": "pre", "activation": "silu", "positions": "learned"}, None),
        ({"source_vocabulary": 30, "tie_projection": False}, None),
        ({"positions": "rotary"}, "its positions are rotary"),
        ({"positions": "relative"}, "its positions are relative"),
        ({"positions": "none"}, "its positions are none"),
        ({"score": "additive"}, "the scores of its attention are additive"),
        ({"score": "unscaled"}, "the scores of its attention are unscaled"),
        ({"neighbours": 8}, "its attention is restricted to neighbours"),
        ({"mixing": "performer"}, "its encoder has performer layers"),
        ({"d_k": 16}, "its d_k and d_v are not d_model / heads"),
        ({"d_v": 16}, "its d_k and d_v are not d_model / heads"),
    ],
)
def test_what_can_be_converted(changes: dict[str, Any], reason: str | None) -> None:
    assert inconvertible(model_config(**changes)) == reason


def test_the_paper_can_be_converted() -> None:
    for name in ("base", "big", "tiny", "small"):
        assert inconvertible(preset(name).model) is None
    assert positions(preset("base").model) == 1024
    assert positions(model_config(positions="learned", max_length=77)) == 77


@pytest.mark.parametrize("quantization", ["float32", "int8", "int8_float32"])
def test_an_export_stands_for_itself(
    folder: Path, translator: Translator, subwords: Subwords, tmp_path: Path, quantization: Quantization
) -> None:
    """CTranslate2 and sentencepiece's pieces are all that another program needs."""
    out = tmp_path / "a" / "M"
    export_ctranslate2(folder, out, quantization, note="A note: 메모.")
    check_manifest(out)
    assert (out / "subwords.model").read_bytes() == subwords.content
    assert json.loads((out / "regard.json").read_text())["languages"] == {"source": "en", "target": "de"}
    assert json.loads((out / "origin.json").read_text())["quantization"] == quantization
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# 한국어 card\n")
    assert f"Weights: {quantization}. A note: 메모.\n" in card
    found = ctranslate2.Translator(str(out))
    assert found.compute_type == ("float32" if quantization == "float32" else "int8_float32")
    (text,) = subwords.encode([sentences()[0]])
    scored = found.score_batch([subwords.pieces(text)], [subwords.pieces(text)])[0]
    logits = translator.model.logits(translator.model.features(torch.tensor([[*text, 3]]), torch.tensor([[2, *text]])))
    wanted = logits[0].log_softmax(-1).gather(1, torch.tensor([[*text, 3]]).T)[:, 0].tolist()
    assert scored.tokens == [*subwords.pieces(text), "</s>"]
    if quantization == "float32":
        assert scored.log_probs == pytest.approx(wanted, abs=1e-4)
    else:  # how far rounding goes depends on the processor: without VNNI, sums of products may saturate
        assert np.corrcoef(scored.log_probs, wanted)[0, 1] > 0.7


def test_rounding_leaves_the_model_as_it_was(folder: Path, tmp_path: Path) -> None:
    model = load_model(folder)
    before = {name: tensor.clone() for name, tensor in model.model.state_dict().items()}
    (tmp_path / "x").mkdir()
    to_ctranslate2.write_ctranslate2(tmp_path / "x", model, as_arrays(model.model.state_dict()), "int8")
    assert all(torch.equal(before[name], tensor) for name, tensor in model.model.state_dict().items())
    sizes = {}
    for quantization in ("int8", "float32"):
        export_ctranslate2(folder, tmp_path / quantization, quantization)  # type: ignore[arg-type]
        sizes[quantization] = (tmp_path / quantization / "model.bin").stat().st_size
    assert sizes["int8"] < sizes["float32"]


def test_whole_or_not_at_all(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "M"
    export_ctranslate2(folder, out, "float32")
    with pytest.raises(UserError, match="M: exists already"):
        export_ctranslate2(folder, out, "int8")
    before = (out / "model.bin").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(to_ctranslate2, "write_json", full)
    with pytest.raises(UserError, match="No space"):
        export_ctranslate2(folder, out, "int8", replace=True)
    with pytest.raises(UserError, match="No space"):
        export_ctranslate2(folder, tmp_path / "N", "int8")
    assert (out / "model.bin").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["M", "model"]
    monkeypatch.undo()
    export_ctranslate2(folder, out, "int8", replace=True)
    assert (out / "model.bin").read_bytes() != before


def test_what_can_not_be_exported(folder: Path, saved: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        export_ctranslate2(tmp_path / "nowhere", tmp_path / "M", "int8")
    config = model_config(**{**saved.config.model_dump(), "positions": "rotary"})
    from regard.model.build import build

    save_built(folder, build(config), Config(model=config), saved.subwords, replace=True)
    with pytest.raises(
        UserError, match="model: CTranslate2 can't compute this model, since its positions are rotary; "
    ):
        export_ctranslate2(folder, tmp_path / "M", "int8")
    assert not (tmp_path / "M").exists()


def test_a_card_that_is_no_text(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").write_bytes(b"\xff")
    write_manifest(folder)
    with pytest.raises(UserError, match="README.md: not UTF-8 text"):
        export_ctranslate2(folder, tmp_path / "out", "float32")
    assert not (tmp_path / "out").exists()
