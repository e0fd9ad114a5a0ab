"""A model exported to ONNX: onnxruntime's logits are torch's, step by step, and the loop in its card translates."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnxruntime import InferenceSession
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.config.special_tokens import BOS, PAD
from regard.errors import UserError
from regard.exchange.to_onnx import export_onnx
from regard.model.build import build
from regard.saved.folder import load_model
from regard.text.normalise import normalise
from regard.text.subwords import Subwords
from regard.translate import confidence
from regard.translate.translator import Options, Translator

TEXTS = ["The old woman sees 12 apples!", "할머니가 사과를 봅니다", "שלום, عالم 👩\u200d👧 e\u0301"]
VARIANTS: list[Any] = [
    pytest.param({}, id="the paper's"),
    pytest.param({"norm": "pre", "tags": ("<2en>", "<2de>")}, id="two directions", marks=pytest.mark.slow),
    pytest.param(
        {"positions": "rotary", "norm": "pre", "share_embeddings": False}, id="rotary", marks=pytest.mark.slow
    ),
    pytest.param({"positions": "relative", "neighbours": 4, "d_v": 5}, id="relative", marks=pytest.mark.slow),
    pytest.param({"positions": "learned", "score": "additive"}, id="learned", marks=pytest.mark.slow),
    pytest.param({"mixing": "longformer", "window": 3, "global_tokens": 2}, id="longformer", marks=pytest.mark.slow),
    pytest.param({"mixing": "linformer", "rank": 4}, id="linformer", marks=pytest.mark.slow),
    pytest.param({"mixing": "performer", "features": 9}, id="performer", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=VARIANTS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Our folder and the graphs'."""
    place = tmp_path_factory.mktemp("onnx")
    given = dict(request.param)
    subwords = Subwords.train(sentences(), 400, tags=given.pop("tags", ()))
    small = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 16, "d_ff": 20, "heads": 2}
    config = model_config(vocabulary=subwords.size, tie_projection=False, **{**small, **given})
    torch.manual_seed(2)
    model = build(config).requires_grad_(False)
    model.projection_VD.mul_(3.0)
    whole = Config(model=config, decode=DecodeConfig(extra_length=5))
    save_built(
        place / "ours", model, whole, {"subwords.model": subwords.content}, languages=("en", "de"), card="# 카드\n"
    )
    export_onnx(place / "ours", place / "onnx")
    return place / "ours", place / "onnx"


@pytest.mark.parametrize(("sentences", "length"), [(1, 1), (2, 9), (5, 4)])
@torch.no_grad()
def test_logits_are_the_same_step_by_step(pair: tuple[Path, Path], sentences: int, length: int) -> None:
    encoder, decoder = (InferenceSession(pair[1] / f"{name}.onnx") for name in ("encoder", "decoder"))
    model = load_model(pair[0]).model
    generator = torch.Generator().manual_seed(sentences)
    source = torch.randint(4, 400, (sentences, length), generator=generator)
    source[-1, 1 + length // 2 :] = PAD
    target = torch.randint(4, 400, (sentences, 8), generator=generator)
    target[:, 0] = BOS
    expected = model.logits(model.features(source, target)).numpy()

    names = [one.name for one in encoder.get_outputs()]
    memory = dict(zip(names, encoder.run(names, {"source_BS": source.numpy()}), strict=True))
    key, value = (memory[name][:, :, :, :0] for name in names[:2])
    found = []
    for begin, end in pairwise((0, 1, 2, 5, 6, 8)):
        past = {"past_key_LBHPK": key, "past_value_LBHPV": value}
        logits, key, value = decoder.run(None, {"tokens_BT": target[:, begin:end].numpy(), **past, **memory})
        found.append(logits)
    assert np.allclose(np.concatenate(found, axis=1), expected, atol=1e-4)


def test_the_loop_in_the_card_translates(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card = (pair[1] / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# 카드\n")
    snippets = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    assert len(snippets) == 1
    monkeypatch.chdir(pair[1])
    monkeypatch.setattr(confidence, "repeats", lambda tokens: False)  # untrained models do, and are searched again
    program: dict[str, Any] = {}
    exec(snippets[0], program)
    translator, greedy = Translator(load_model(pair[0])), Options(beam=1, split=False, protect=False, force=True)
    assert normalise(capsys.readouterr().out) == translator.translate("A text.", greedy)
    expected = [one.outputs[0] for text in TEXTS for one in translator.window([text], greedy)[0].sentences]
    for text, output in zip(TEXTS, expected, strict=True):
        assert program["translate"](normalise(text)) == translator.target_subwords.decode(output.hypothesis.tokens)


def test_the_graphs_say_what_their_dimensions_are(pair: tuple[Path, Path]) -> None:
    description = json.loads((pair[1] / "config.json").read_text(encoding="utf-8"))
    for name in ("encoder", "decoder"):
        graph = InferenceSession(pair[1] / f"{name}.onnx")
        assert [one.name for one in graph.get_inputs()] == description[name]["inputs"]
        assert [one.name for one in graph.get_outputs()] == description[name]["outputs"]
        for one in graph.get_inputs():
            letters = one.name.rpartition("_")[2]
            assert one.shape == [description["shapes"][x] if x in "LHKVN" else x for x in letters]


def test_an_existing_folder_is_kept(pair: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match="exists already"):
        export_onnx(pair[0], pair[1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mixing": "state-space"}, "its encoder has state-space layers"),
        ({"next_word": True}, "its decoder is shown the next word"),
    ],
)
def test_what_has_no_graph_is_refused(change: dict[str, object], reason: str, tmp_path: Path) -> None:
    config = model_config(vocabulary=9, d_model=8, d_ff=8, heads=2, **change)
    save_built(tmp_path / "ours", build(config), Config(model=config), {})
    with pytest.raises(UserError, match=f"{reason}, which can't be exported to ONNX"):
        export_onnx(tmp_path / "ours", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]
